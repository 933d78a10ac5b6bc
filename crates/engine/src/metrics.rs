//! What was called how often, with what outcome and how fast, per tool.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Latency buckets: bucket n counts calls below 2^n microseconds, the last one all that took longer (9 minutes).
const BUCKETS: usize = 30;

/// So many tools have counters of their own.
const MOST: usize = 10_000;

/// Counters for the tools there are; calls of unknown tools share one, so that a model cannot grow them.
#[derive(Debug, Default)]
pub struct Metrics {
    tools: RwLock<BTreeMap<String, Counters>>,
    unknown: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    successes: AtomicU64,
    errors: AtomicU64,
    latency: [AtomicU64; BUCKETS],
}

/// The counters of one tool at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStats {
    /// The tool; `(unknown)` for names that are none.
    pub tool: String,
    /// Calls that did what was asked.
    pub successes: u64,
    /// Calls that did not.
    pub errors: u64,
    /// Calls by latency: bucket n holds those below 2^n microseconds.
    pub latency: Vec<u64>,
}

impl Metrics {
    /// Counts a call of a tool that there is, or of none.
    pub(crate) fn count(&self, tool: Option<&str>, success: bool, elapsed: Duration) {
        let Some(tool) = tool else { return self.unknown.count(success, elapsed) };
        if let Some(counters) = self.tools.read().unwrap_or_else(PoisonError::into_inner).get(tool) {
            return counters.count(success, elapsed);
        }
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if tools.len() < MOST {
            tools.entry(tool.to_owned()).or_default().count(success, elapsed);
        } else {
            self.unknown.count(success, elapsed);
        }
    }

    /// The counters of every tool that was called, by name.
    pub fn snapshot(&self) -> Vec<ToolStats> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let known = tools.iter().map(|(name, counters)| counters.stats(name));
        known.chain([self.unknown.stats("(unknown)")]).filter(|stats| stats.calls() > 0).collect()
    }
}

impl Counters {
    fn count(&self, success: bool, elapsed: Duration) {
        let outcome = if success { &self.successes } else { &self.errors };
        outcome.fetch_add(1, Relaxed);
        self.latency[bucket(elapsed)].fetch_add(1, Relaxed);
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
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.successes + self.errors
    }

    /// A latency that `percent` of the calls stayed below, exact to a factor of two.
    pub fn percentile(&self, percent: u64) -> Duration {
        let wanted = (self.calls() * percent).div_ceil(100);
        let mut seen = 0;
        let bucket = self.latency.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        Duration::from_micros(1 << bucket.unwrap_or(BUCKETS - 1))
    }
}

fn bucket(elapsed: Duration) -> usize {
    let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let bits = u64::BITS - micros.leading_zeros();
    (bits as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_tool_and_unknown_names_together() {
        let metrics = Metrics::default();
        metrics.count(Some("a"), true, Duration::from_micros(3));
        metrics.count(Some("a"), false, Duration::from_millis(3));
        metrics.count(None, false, Duration::ZERO);
        let stats = metrics.snapshot();
        let counted: Vec<_> = stats.iter().map(|s| (s.tool.as_str(), s.successes, s.errors)).collect();
        assert_eq!(counted, [("a", 1, 1), ("(unknown)", 0, 1)]);
        assert_eq!(stats[0].percentile(50), Duration::from_micros(4));
        assert_eq!(stats[0].percentile(99), Duration::from_micros(4096));
    }

    #[test]
    fn any_latency_has_a_bucket() {
        for (micros, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (u64::MAX, BUCKETS - 1)] {
            assert_eq!(bucket(Duration::from_micros(micros)), expected, "{micros}");
        }
    }
}
