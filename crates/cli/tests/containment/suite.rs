//! Runs every attack case and layer check in every tier, as every user, or acts as the probe program.

mod case;
mod case_host;
mod cases;
mod layers;
mod matrix;
mod probe;
mod run;
mod sockets;
mod tier;
mod watch;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use case::{AttackCase, ExpectedOutcome};
use case_host::CaseUser;
use matrix::MatrixCell;
use run::CaseOutcome;
use tier::CaseTier;

/// The reason for skipping a case whose attack does nothing here even unconfined, e.g. because a device is missing.
const INERT: &str = "the attack finds nothing to attack on this machine";

/// Acts as a probe if the first argument says so, else runs the tests.
pub(crate) fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("probe") {
        probe::main(&args.collect::<Vec<_>>());
    }
    testkit::restore_signals();
    let mut trials = vec![Trial::test("the table is sound", || Ok(cases::check()?))];
    for tier in CaseTier::ALL {
        for &user in CaseUser::all() {
            trials.extend(layers::layer_checks(tier).map(|(name, check)| {
                let name = format!("{}::{}::layer {name}", tier.name(), user.name());
                Trial::test(name, move || Ok(check(tier, user)?))
            }));
            trials.extend(cases::all().map(|case| {
                let name = format!("{}::{}::{} {}", tier.name(), user.name(), case.id, case.title);
                Trial::ignorable_test(name, move || trial(case, tier, user))
            }));
        }
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    matrix::print();
    case_host::remove_fixture();
    conclusion.exit();
}

/// Runs one case, and compares its outcome with the table.
fn trial(case: &'static AttackCase, tier: CaseTier, user: CaseUser) -> Result<Completion, Failed> {
    let expected = tier.expected_outcome(case, user);
    if let ExpectedOutcome::Not(why) = expected {
        matrix::note(case, tier, user, MatrixCell::NotRun);
        return Ok(Completion::ignored_with(why));
    }
    let outcome = run::run_confined(case, tier, user);
    let cell = MatrixCell::from_outcome(expected, &outcome);
    matrix::note(case, tier, user, cell);
    match (cell, outcome) {
        (MatrixCell::Inert, CaseOutcome::Inert(why)) => {
            let name = format!("containment {}::{}::{}", tier.name(), user.name(), case.id);
            testkit::not_run(&name, INERT);
            Ok(Completion::ignored_with(format!("inert: {why}")))
        }
        (MatrixCell::Holds | MatrixCell::Refused | MatrixCell::Gap(_), _) => Ok(Completion::Completed),
        (MatrixCell::Closed, _) => Err("the table lists this as a gap, and it holds".into()),
        (_, outcome) => Err(format!("{outcome:?}\n  {}", case.run).into()),
    }
}
