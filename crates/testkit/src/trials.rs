//! A test binary whose `main` can become the spawner, as a program that embeds us does.

use libtest_mimic::{Arguments, Trial};

/// A test that is found out at run time.
pub struct Case {
    /// What it is called.
    pub name: String,
    /// Why it cannot be run here, if it cannot: it is reported as ignored, with this.
    pub skip: Option<String>,
    /// Panics if it fails.
    pub test: Box<dyn FnOnce() + Send>,
}

/// Runs `cases` as the usual test harness would, after [`exec::process::init`].
pub fn run_cases(cases: Vec<Case>) -> ! {
    exec::process::init();
    let trial = |case: Case| {
        let skipped = case.skip.is_some();
        let trial = Trial::test(case.name, move || {
            (case.test)();
            Ok(())
        });
        trial.with_kind(case.skip.unwrap_or_default()).with_ignored_flag(skipped)
    };
    libtest_mimic::run(&Arguments::from_args(), cases.into_iter().map(trial).collect()).exit()
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
