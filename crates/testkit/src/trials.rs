//! A test binary whose `main` can become the spawner, as a program that embeds us does.

use libtest_mimic::{Arguments, Trial};

/// A test that is found out at run time.
pub struct Case {
    /// What it is called.
    pub name: String,
    /// Why it is not run, if it is not: it is reported as ignored, with this.
    pub skip: Option<SkipReason>,
    /// Panics if it fails.
    pub test: Box<dyn FnOnce() + Send>,
}

/// Why a test is not run.
pub enum SkipReason {
    /// It makes no sense in this form, on whatever machine.
    Senseless(String),
    /// This machine lacks something.
    Machine(String),
}

/// Runs `cases` as the usual test harness would, after [`exec::process::init`].
pub fn run_cases(cases: Vec<Case>) -> ! {
    run_cases_then(cases, || ())
}

/// The same, and does `last` when all of them have ended.
pub fn run_cases_then(cases: Vec<Case>, last: impl FnOnce()) -> ! {
    exec::process::init();
    crate::restore_signals();
    let trial = |case: Case| {
        let skipped = case.skip.is_some();
        let why = match case.skip {
            None => String::new(),
            Some(SkipReason::Senseless(why)) => why,
            Some(SkipReason::Machine(why)) => {
                crate::not_run(&case.name, &why);
                why
            }
        };
        let trial = Trial::test(case.name, move || {
            (case.test)();
            Ok(())
        });
        trial.with_kind(why).with_ignored_flag(skipped)
    };
    let conclusion = libtest_mimic::run(&Arguments::from_args(), cases.into_iter().map(trial).collect());
    last();
    conclusion.exit()
}

/// The same for tests that are functions. [`trials!`](crate::trials) calls it.
pub fn run(tests: &[(&'static str, fn())]) -> ! {
    let case = |&(name, test): &(&'static str, fn())| Case {
        name: name.to_owned(),
        skip: None,
        test: Box::new(test),
    };
    run_cases(tests.iter().map(case).collect())
}

/// The `main` of a test binary with these tests.
#[macro_export]
macro_rules! trials {
    ($($test:ident),* $(,)?) => {
        fn main() {
            $crate::run_trials(&[$((stringify!($test), $test as fn())),*])
        }
    };
}
