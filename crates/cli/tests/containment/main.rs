//! Attacks on the sandbox of `toolgate sandbox`, in every tier and as every user, judged by what the host looks like
//! afterwards. `cargo test --test containment` prints what holds as a matrix; the arguments are those of any test.
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
