//! Tests verdicts about effects other than commands, and the access that permits give.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::{DenyRead, ExecEffect, ProgramInput, ReadRoot};

fn gate(sandbox: SandboxPolicy) -> Gate {
    let roots = vec![
        ReadRoot::new("/real/w").with_spelling("/w"),
        ReadRoot::new("/real/w/inner"),
        ReadRoot::new("/lib"),
    ];
    let confinement = Confinement { writable: vec!["/w".into()], ..Confinement::default() };
    Gate::new(ReadScope::new(roots, DenyRead::new(["**/.env"], None).unwrap()), sandbox)
        .with_confinement(confinement)
}

const DENIED: &str = "`/w/.env` may not be read: the deny-read rule `**/.env` covers it";
const BELOW_DENIED: &str = "`/w/.env/x` may not be read: the deny-read rule `**/.env` covers it";
const OUTSIDE: &str = "`/wx/a` is outside the readable roots (`/real/w`, `/real/w/inner`, `/lib`)";
const SYSTEM: &str = "`/proc/a` may not be changed: it lies outside the writable roots (`/w`)";

fn effect_of(argv: &[&str]) -> Effect {
    let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
    Effect::Exec(ExecEffect::new(argv, "/w"))
}

fn input_effect(confined: bool) -> Effect {
    Effect::SendInput(ProgramInput { command_line: "python3".into(), text: "1\n".into(), confined })
}

fn format_verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow(_) => "allow".to_owned(),
        Verdict::Ask(question) => {
            let grants: Vec<String> = question.grants.iter().map(ToString::to_string).collect();
            format!("ask to {}", grants.join(", "))
        }
        Verdict::Forbid(denial) => denial.to_string(),
    }
}

#[test]
fn each_effect_gets_its_verdict() {
    let read = |path: &str| Effect::Read(path.into());
    let write = |path: &str| Effect::Write(path.into());
    let exec = || effect_of(&["make"]);
    let network = || Effect::Network("example.org:443".into());
    // The effects; the verdict for confined commands and for unconfined ones.
    for (effects, expected) in [
        (vec![], ["allow"; 2]),
        (vec![read("/w/a")], ["allow"; 2]),
        (vec![read("/real/w/a")], ["allow"; 2]),
        (vec![read("/w")], ["allow"; 2]),
        (vec![read("/lib/x"), read("/w/y")], ["allow"; 2]),
        (vec![read("/wx/a")], [OUTSIDE; 2]),
        (vec![read("/w/a"), read("/w/.env")], [DENIED; 2]),
        (vec![read("/w/.env"), read("/w/a")], [DENIED; 2]),
        (vec![read("/w/.env/x")], [BELOW_DENIED; 2]),
        (vec![write("/w/a")], ["allow"; 2]),
        (vec![write("/etc/a")], ["ask to change `/etc/a`", "allow"]),
        (vec![write("/etc/a"), write("/etc/b")], ["ask to change `/etc/a`, change `/etc/b`", "allow"]),
        (vec![write("/proc/a")], [SYSTEM, "allow"]),
        (vec![write("/etc/a"), write("/proc/a")], [SYSTEM, "allow"]),
        (vec![exec()], ["allow"; 2]),
        (vec![network()], ["ask to connect to `example.org:443`", "allow"]),
        (vec![read("/w"), exec()], ["allow"; 2]),
        (vec![read("/wx/a"), exec()], [OUTSIDE; 2]),
        (vec![exec(), read("/w/.env")], [DENIED; 2]),
        (vec![input_effect(true)], ["allow"; 2]),
        (vec![input_effect(false)], ["ask to ", "allow"]),
    ] {
        use SandboxPolicy::{External, FullAccess, ReadOnly, WorkspaceWrite};
        for sandbox in [ReadOnly, WorkspaceWrite, FullAccess, External] {
            let [confined, free] = expected;
            let expected = if sandbox.confines() { confined } else { free };
            let intent = Intent::from_effects(effects.clone());
            assert_eq!(
                format_verdict(&gate(sandbox).decide("tool", &intent)),
                expected,
                "{sandbox:?} {effects:?}"
            );
        }
    }
}

#[test]
fn sandbox_policy_decides_confinement() {
    let confined = |sandbox| match gate(sandbox).decide("tool", &Intent::nothing()) {
        Verdict::Allow(permit) => permit.confinement().is_some(),
        other => panic!("{other:?}"),
    };
    assert!(confined(SandboxPolicy::ReadOnly) && confined(SandboxPolicy::WorkspaceWrite));
    assert!(!confined(SandboxPolicy::FullAccess) && !confined(SandboxPolicy::External));
}

fn permit(intent: &Intent) -> Permit {
    match gate(SandboxPolicy::FullAccess).decide("tool", intent) {
        Verdict::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_permit_opens_only_what_was_stated() {
    let permit = permit(&Intent::read("/w/src"));
    assert!(permit.may_read(Path::new("/w/src/a.rs")).is_ok());
    assert!(matches!(permit.may_read(Path::new("/w/other")), Err(Denial::NotStated { .. })));
    assert!(matches!(permit.may_read(Path::new("/w/src/.env")), Err(Denial::DenyRead { .. })));
}

#[test]
fn a_permit_runs_only_what_was_stated() {
    let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let run = permit(&Intent::run(argv("git status -s"), Path::new("/w")));
    assert_eq!(run.sandbox(), SandboxPolicy::FullAccess);
    assert!(run.may_read(Path::new("/w/a")).is_ok());
    let said = |permit: &Permit, line: &str| match permit.may_run(&argv(line).into()) {
        Ok(()) => "ok".to_owned(),
        Err(denial) => denial.to_string(),
    };
    let long = format!("git {}", "x".repeat(200));
    let cut = format!("`git {}…` may not be run: the call did not state it beforehand", "x".repeat(96));
    for (line, expected) in [
        ("git status -s", "ok"),
        ("git status", "`git status` may not be run: the call did not state it beforehand"),
        ("git status -s -s", "`git status -s -s` may not be run: the call did not state it beforehand"),
        ("", "`` may not be run: the call did not state it beforehand"),
        (&long, &cut),
    ] {
        assert_eq!(said(&run, line), expected, "{line}");
    }
    assert!(run.may_run(&argv("git status").into()).is_err());
    assert!(permit(&Intent::read("/w")).may_run(&Vec::new().into()).is_err());
}

#[test]
fn the_innermost_root_is_found() {
    let reach = &gate(SandboxPolicy::ReadOnly).read_scope;
    let (root, below) = reach.locate(Path::new("/real/w/inner/a")).unwrap();
    assert_eq!((root.path(), below), (Path::new("/real/w/inner"), Path::new("a")));
}

#[test]
fn a_sub_agent_is_confined_no_less_and_asks_no_less() {
    use SandboxPolicy::{External, FullAccess, ReadOnly, WorkspaceWrite};
    for parent in [ReadOnly, WorkspaceWrite, External, FullAccess] {
        for asked in [ReadOnly, WorkspaceWrite, External, FullAccess] {
            for ours in ApprovalPolicy::ALL {
                for theirs in ApprovalPolicy::ALL {
                    let child = gate(parent).with_approval(ours).for_subagent(asked, theirs);
                    assert_eq!(child.sandbox(), child.sandbox().narrower(parent));
                    for matter in ApprovalCase::ALL {
                        let (theirs, ours) = (
                            approval_requirement(child.approval(), matter),
                            approval_requirement(ours, matter),
                        );
                        assert!(theirs >= ours, "{matter:?}: {theirs:?} < {ours:?}");
                    }
                }
            }
        }
    }
}

fn effect() -> impl Strategy<Value = Effect> {
    prop_oneof![
        "/(w|lib|etc)/(a|\\.env|b/c)".prop_map(|path| Effect::Read(path.into())),
        "/(w|etc|proc)/a".prop_map(|path| Effect::Write(path.into())),
        "(ls|rm -rf x|make|eval x)".prop_map(|line| effect_of(&line.split(' ').collect::<Vec<_>>())),
        "a\\.org:(80|443)".prop_map(Effect::Network),
        any::<bool>().prop_map(input_effect),
    ]
}

fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow(_) => 0,
        Verdict::Ask(_) => 1,
        Verdict::Forbid(_) => 2,
    }
}

proptest! {
    /// Law: an additional effect never loosens a verdict.
    #[test]
    fn adding_an_effect_never_loosens(effects in prop::collection::vec(effect(), 0..5), more in effect()) {
        use SandboxPolicy::{External, FullAccess, ReadOnly, WorkspaceWrite};
        let larger: Vec<Effect> = effects.iter().cloned().chain([more]).collect();
        for sandbox in [ReadOnly, WorkspaceWrite, FullAccess, External] {
            for approval in ApprovalPolicy::ALL {
                let gate = gate(sandbox).with_approval(approval);
                let strict = |effects: &[Effect]| strictness(&gate.decide("tool", &Intent::from_effects(effects.to_vec())));
                prop_assert!(strict(&effects) <= strict(&larger));
            }
        }
    }
}
