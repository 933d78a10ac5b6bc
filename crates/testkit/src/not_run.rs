//! Cases that cannot run on this machine, noted so that nobody takes them for cases that passed.

use std::io::Write;

/// Names the file that each of these cases is added to, a line a case; `scripts/check` counts them at its end.
const NOTED_IN: &str = "TOOLGATE_NOT_RUN";

/// Notes that `case` cannot run on this machine, and `why`, in a few words that do not name the case.
///
/// # Panics
/// If the file cannot be written that is to hold it.
#[expect(clippy::print_stderr, reason = "a person who runs the test reads it")]
pub fn not_run(case: &str, why: &str) {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("not run: {case}: {why}");
    if let Some(path) = std::env::var_os(NOTED_IN) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let line = format!("{why}\t{case}\n");
        // One write: others add lines at the same time.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of cases not run can be written");
    }
}
