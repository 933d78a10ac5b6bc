//! A test binary whose `main` can become the spawner, as a program that embeds us does.

use libtest_mimic::{Arguments, Trial};

/// Runs `tests` as the usual test harness would, after [`exec::process::init`]. [`trials!`](crate::trials) calls it.
pub fn run(tests: &[(&str, fn())]) -> ! {
    exec::process::init();
    let trial = |(name, test): &(&str, fn())| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit()
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
