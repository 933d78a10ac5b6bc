//! Containment tests: attacks on `toolgate sandbox` in every tier and as every user, judged by the host's state.
//!
//! `cargo test --test containment` prints the results as a matrix; it takes the usual test arguments.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests may unwrap, and start real programs"
)]

#[cfg(target_os = "linux")]
#[path = "suite.rs"]
mod suite;

#[cfg(target_os = "linux")]
fn main() {
    suite::main();
}

/// Other systems have other sandboxes.
#[cfg(not(target_os = "linux"))]
fn main() {}
