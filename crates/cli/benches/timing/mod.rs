//! Times pieces of work in alternating rounds, and prints table rows.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark runs peers and prints")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a program without a sandbox or a supervisor.
pub(crate) fn run_bare(program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().is_ok_and(|status| status.success()));
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// The median and the 99th percentile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimingSpread {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

fn spread(mut times: Vec<Duration>) -> TimingSpread {
    times.sort();
    TimingSpread { p50: times[times.len() / 2], p99: times[times.len() * 99 / 100] }
}

/// Returns the median of each piece of work. They alternate, so that other load on the machine affects all alike.
pub(crate) fn median_times<const N: usize>(rounds: usize, works: [&mut dyn FnMut(); N]) -> [Duration; N] {
    time_spreads(rounds, works).map(|spread| spread.p50)
}

/// Returns median and 99th percentile of each piece of work.
pub(crate) fn time_spreads<const N: usize>(
    rounds: usize,
    mut works: [&mut dyn FnMut(); N],
) -> [TimingSpread; N] {
    works.iter_mut().for_each(|work| work());
    let mut times = [const { Vec::new() }; N];
    for round in 0..rounds {
        for at in 0..N {
            let at = (at + round) % N;
            times[at].push(timed(&mut *works[at]));
        }
    }
    times.map(spread)
}

/// Prints a row: Toolgate's time, the peer's, and the ratio.
pub(crate) fn print_row(work: &str, us: Duration, peer: Duration) {
    let ratio = us.as_secs_f64() / peer.as_secs_f64();
    println!("| {work} | {us:.2?} | {peer:.2?} | {ratio:.2} |");
}
