//! Counts calls, outcomes and latencies per tool.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::RwLock;

/// Latency buckets per power of two of microseconds. The middle of a bucket is within 3.2 % of any latency in it.
/// Latencies below this number have one bucket each.
const BUCKETS_PER_POWER: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 4;
/// Powers of two that have buckets, from 2^4 µs on. The last bucket counts every longer latency (2.4 hours).
const POWERS: usize = 29;
const BUCKETS: usize = BUCKETS_PER_POWER + POWERS * BUCKETS_PER_POWER;

/// The most tools with counters of their own. With 2 kB of buckets each, they take 20 MB at most.
const MAX_COUNTED_TOOLS: usize = 10_000;

/// Counters per tool. Calls of unknown tools share one counter, so that a model cannot grow the map.
#[derive(Debug, Default)]
pub struct ToolMetrics {
    tools: RwLock<BTreeMap<String, ToolCounters>>,
    unknown_tools: ToolCounters,
}

/// The live counters of one tool.
#[derive(Debug)]
struct ToolCounters {
    successes: AtomicU64,
    errors: AtomicU64,
    latency: Box<[AtomicU32]>,
}

impl Default for ToolCounters {
    fn default() -> Self {
        let latency = (0..BUCKETS).map(|_| AtomicU32::new(0)).collect();
        Self { successes: AtomicU64::new(0), errors: AtomicU64::new(0), latency }
    }
}

/// A snapshot of one tool's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStats {
    /// The tool's name; `(unknown)` for calls of unknown tools.
    pub tool: String,
    /// Calls that succeeded.
    pub successes: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Calls by latency: sixteen buckets per power of two of microseconds, the fastest first.
    pub latency: Vec<u32>,
}

impl ToolMetrics {
    /// Counts one call; `None` stands for an unknown tool.
    pub(crate) fn record_call(&self, tool: Option<&str>, success: bool, elapsed: Duration) {
        let Some(tool) = tool else { return self.unknown_tools.record(success, elapsed) };
        if let Some(counters) = self.tools.read().get(tool) {
            return counters.record(success, elapsed);
        }
        let mut tools = self.tools.write();
        if tools.len() < MAX_COUNTED_TOOLS {
            tools.entry(tool.to_owned()).or_default().record(success, elapsed);
        } else {
            self.unknown_tools.record(success, elapsed);
        }
    }

    /// Returns the counters of every tool that was called, sorted by name.
    pub fn snapshot(&self) -> Vec<ToolStats> {
        let tools = self.tools.read();
        let known = tools.iter().map(|(name, counters)| counters.stats(name));
        known.chain([self.unknown_tools.stats("(unknown)")]).filter(|stats| stats.call_count() > 0).collect()
    }
}

impl ToolCounters {
    fn record(&self, success: bool, elapsed: Duration) {
        let outcome = if success { &self.successes } else { &self.errors };
        outcome.fetch_add(1, Relaxed);
        self.latency[bucket_index(elapsed)].fetch_add(1, Relaxed);
    }

    fn stats(&self, tool: &str) -> ToolStats {
        ToolStats {
            tool: tool.to_owned(),
            successes: self.successes.load(Relaxed),
            errors: self.errors.load(Relaxed),
            latency: self.latency.iter().map(|count| count.load(Relaxed)).collect(),
        }
    }
}

impl ToolStats {
    /// Returns the number of calls.
    pub fn call_count(&self) -> u64 {
        self.successes + self.errors
    }

    /// Returns the latency that `percent` of the calls did not exceed, exact to 3.2 %.
    pub fn percentile(&self, percent: u64) -> Duration {
        let wanted = (self.call_count() * percent).div_ceil(100);
        let mut seen = 0;
        let bucket = self.latency.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        bucket_middle(bucket.unwrap_or(BUCKETS - 1))
    }
}

fn bucket_index(elapsed: Duration) -> usize {
    let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let power = micros.checked_ilog2().unwrap_or(0).saturating_sub(BUCKET_BITS);
    let step = usize::try_from(micros >> power).unwrap_or(usize::MAX);
    (power as usize * BUCKETS_PER_POWER + step).min(BUCKETS - 1)
}

/// Returns the latency in the middle of a bucket.
fn bucket_middle(bucket: usize) -> Duration {
    let power = (bucket / BUCKETS_PER_POWER).saturating_sub(1);
    let first = (bucket - power * BUCKETS_PER_POWER) << power;
    let width = 1_usize << power;
    Duration::from_micros((first + width / 2) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_tool_and_unknown_names_together() {
        let metrics = ToolMetrics::default();
        metrics.record_call(Some("a"), true, Duration::from_micros(3));
        metrics.record_call(Some("a"), false, Duration::from_millis(3));
        metrics.record_call(None, false, Duration::ZERO);
        let stats = metrics.snapshot();
        let counted: Vec<_> = stats.iter().map(|s| (s.tool.as_str(), s.successes, s.errors)).collect();
        assert_eq!(counted, [("a", 1, 1), ("(unknown)", 0, 1)]);
        assert_eq!(stats[0].percentile(50), Duration::from_micros(3));
        assert_eq!(stats[0].percentile(99), Duration::from_micros(3008));
    }

    #[test]
    fn a_percentile_is_exact_to_a_thirtieth() {
        for millis in [1, 7, 250, 999, 2_100, 60_000, 3_600_000] {
            let metrics = ToolMetrics::default();
            metrics.record_call(Some("a"), true, Duration::from_millis(millis));
            let told = metrics.snapshot()[0].percentile(50).as_secs_f64() * 1000.0;
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let error = (told - millis as f64).abs() / millis as f64;
            assert!(error <= 1.0 / 30.0, "{millis} ms is told as {told} ms");
        }
    }

    #[test]
    fn any_latency_has_a_bucket() {
        for (micros, expected) in
            [(0, 0), (1, 1), (16, 16), (31, 31), (32, 32), (33, 32), (34, 33), (u64::MAX, BUCKETS - 1)]
        {
            assert_eq!(bucket_index(Duration::from_micros(micros)), expected, "{micros}");
        }
    }
}
