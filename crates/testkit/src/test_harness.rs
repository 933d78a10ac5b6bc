//! A test harness for cases that are determined at run time, and for cases that a machine cannot run.

use libtest_mimic::{Arguments, Trial};

/// A test that is determined at run time.
pub struct HarnessCase {
    /// The name of the test.
    pub name: String,
    /// The reason for skipping the test, if any. A skipped test is reported as ignored, with the reason.
    pub skip: Option<SkipReason>,
    /// The test body; it panics on failure.
    pub test: Box<dyn FnOnce() + Send>,
}

/// The reason for skipping a test.
pub enum SkipReason {
    /// The test is meaningless in this form, on every machine.
    NotApplicable(String),
    /// This machine lacks a requirement.
    MissingRequirement(String),
}

/// Runs `cases` like the standard test harness.
pub fn run_cases(cases: Vec<HarnessCase>) -> ! {
    run_cases_then(cases, || ())
}

/// Runs `cases` like [`run_cases`], and then calls `last`.
pub fn run_cases_then(cases: Vec<HarnessCase>, last: impl FnOnce()) -> ! {
    crate::restore_signals();
    let trial = |case: HarnessCase| {
        let skipped = case.skip.is_some();
        let why = match case.skip {
            None => String::new(),
            Some(SkipReason::NotApplicable(why)) => why,
            Some(SkipReason::MissingRequirement(why)) => {
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

/// Runs tests that are functions. [`trials!`](crate::trials) calls it.
pub fn run(tests: &[(&'static str, fn())]) -> ! {
    let case = |&(name, test): &(&'static str, fn())| HarnessCase {
        name: name.to_owned(),
        skip: None,
        test: Box::new(test),
    };
    run_cases(tests.iter().map(case).collect())
}

/// Defines the `main` of a test binary with these tests.
#[macro_export]
macro_rules! trials {
    ($($test:ident),* $(,)?) => {
        fn main() {
            $crate::run_trials(&[$((stringify!($test), $test as fn())),*])
        }
    };
}
