//! Crash tests: kills a commit before each system call, and fails each call; the tree must be all old or all new.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests may unwrap, start themselves again, look at their own trees and say what they did"
)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod crash_tree;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kill_points;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    match std::env::var_os("CRASH_CHILD") {
        Some(what) => crash_tree::run_child(&what.into_string().unwrap()),
        None => kill_points::run_all(),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("not tried here: registers are known only for Linux on x86-64");
}
