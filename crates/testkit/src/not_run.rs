//! Records test cases that cannot run on this machine, so that they do not count as passed.

use std::io::Write;

/// The environment variable with the path of the list of such cases, one a line. `scripts/check` counts them at its
/// end.
const NOT_RUN_LIST_VARIABLE: &str = "TOOLGATE_NOT_RUN";

/// Records that `case` cannot run on this machine. `why` is a short reason that does not name the case.
///
/// # Panics
/// If the list cannot be written.
#[expect(clippy::print_stderr, reason = "a person who runs the test reads it")]
pub fn not_run(case: &str, why: &str) {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("not run: {case}: {why}");
    if let Some(path) = std::env::var_os(NOT_RUN_LIST_VARIABLE) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let line = format!("{why}\t{case}\n");
        // A single write, because other processes append lines concurrently.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of cases not run can be written");
    }
}
