//! Totals over sessions: calls, failures, durations, tokens and waiting times.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::wait_spans::{WaitKind, total_wait, wait_spans};
use journal::{EventTime, RequestUsage, SessionTimeline, TimelineCall};

/// Maximum number of tools, and of failure kinds of each, that are counted by name.
const MAX_NAMES: usize = 500;
/// The name for all others.
const OTHERS: &str = "(others)";
/// The failure kind of a call without an answer.
const UNANSWERED: &str = "unanswered";

/// The totals over sessions.
#[derive(Debug, Default)]
pub struct SessionTotals {
    /// Number of sessions.
    pub(crate) sessions: u64,
    /// Number of user prompts.
    pub(crate) prompts: u64,
    /// Totals of each tool, by name.
    pub(crate) tools: BTreeMap<String, ToolTotals>,
    /// Number of requests to the model.
    pub(crate) requests: u64,
    /// Total usage of these requests.
    pub(crate) usage: RequestUsage,
    /// Milliseconds spent waiting for each of [`WaitKind::ALL`].
    pub(crate) waited_ms: [u64; 3],
}

/// The totals of one tool.
#[derive(Debug, Default)]
pub(crate) struct ToolTotals {
    /// Number of successful calls.
    pub(crate) ok: u64,
    /// Failures by kind.
    pub(crate) failed: BTreeMap<String, u64>,
    /// Bytes of its answers.
    pub(crate) bytes: u64,
    /// Milliseconds of each answered call.
    pub(crate) durations_ms: Vec<u64>,
}

impl SessionTotals {
    /// Adds a session.
    pub fn add(&mut self, timeline: &SessionTimeline) {
        self.sessions += 1;
        self.prompts += timeline.prompt_count() as u64;
        for (event, call) in timeline.calls() {
            entry_or_others(&mut self.tools, &call.call.tool).add(call, event.time);
        }
        let (requests, usage) = timeline.total_usage();
        self.requests += requests;
        self.usage.add(&usage);
        let spans = wait_spans(timeline);
        for (sum, waiting) in self.waited_ms.iter_mut().zip(WaitKind::ALL) {
            *sum = sum.saturating_add(total_wait(&spans, waiting));
        }
    }

    /// Returns the number of calls of all tools.
    pub fn calls(&self) -> u64 {
        self.tools.values().map(ToolTotals::calls).sum()
    }

    /// Returns the tools, the most called first.
    pub(crate) fn ranked_tools(&self) -> Vec<(&str, &ToolTotals)> {
        let mut tools: Vec<(&str, &ToolTotals)> =
            self.tools.iter().map(|(name, tool)| (name.as_str(), tool)).collect();
        tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.calls()));
        tools
    }

    /// Returns the totals as JSON.
    pub fn to_json(&self) -> Value {
        let tool = |(name, tool): (&str, &ToolTotals)| {
            let [p50, p95, p99] = tool.percentiles();
            json!({
                "tool": name, "calls": tool.calls(), "ok": tool.ok, "failed": tool.failed, "answer_bytes": tool.bytes,
                "p50_ms": p50, "p95_ms": p95, "p99_ms": p99,
            })
        };
        let tools: Vec<Value> = self.ranked_tools().into_iter().map(tool).collect();
        let RequestUsage { input_tokens, cached_tokens, output_tokens, request_bytes, model_ms: _ } =
            self.usage;
        let [model, people, tools_ms] = self.waited_ms;
        json!({
            "sessions": self.sessions, "prompts": self.prompts, "calls": self.calls(), "tools": tools,
            "requests": self.requests, "input_tokens": input_tokens, "cached_tokens": cached_tokens,
            "output_tokens": output_tokens, "request_bytes": request_bytes, "waited_ms": { "model": model, "people": people, "tools": tools_ms },
        })
    }
}

impl ToolTotals {
    fn add(&mut self, call: &TimelineCall, began: EventTime) {
        let Some(answer) = &call.answer else {
            *entry_or_others(&mut self.failed, UNANSWERED) += 1;
            return;
        };
        match answer.answer.error_kind() {
            None => self.ok += 1,
            Some(fault) => *entry_or_others(&mut self.failed, fault) += 1,
        }
        self.bytes = self.bytes.saturating_add((answer.answer.text.len() + answer.omitted_bytes) as u64);
        self.durations_ms.extend(call.run_time(began));
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Returns the number of calls, successful or not.
    pub(crate) fn calls(&self) -> u64 {
        self.ok + self.failures()
    }

    /// Returns the 50th, 95th and 99th percentile in milliseconds, or `None` without an answered call.
    pub(crate) fn percentiles(&self) -> [Option<u64>; 3] {
        let mut took = self.durations_ms.clone();
        took.sort_unstable();
        [50, 95, 99].map(|percent| took.get((took.len() * percent).div_ceil(100).checked_sub(1)?).copied())
    }

    /// Returns a histogram of durations: below 1 ms, 4 ms, 16 ms and so on. The last entry counts all longer
    /// calls.
    pub(crate) fn duration_histogram(&self) -> [u64; 10] {
        let mut spread = [0; 10];
        for took in &self.durations_ms {
            let bits = (u64::BITS - took.leading_zeros()).div_ceil(2) as usize;
            spread[bits.min(spread.len() - 1)] += 1;
        }
        spread
    }
}

/// Returns the entry of a name, or the entry of all others if there are too many names.
fn entry_or_others<'a, T: Default>(places: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let is_full = places.len() >= MAX_NAMES && !places.contains_key(name);
    places.entry(if is_full { OTHERS } else { name }.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_session::{self, answered_entry, call_entry};

    #[test]
    fn sessions_are_summed() {
        let mut tally = SessionTotals::default();
        tally.add(&sample_session::sample_timeline());
        tally.add(&sample_session::build_timeline(vec![(0, call_entry("a", "shell", "{}"))]));
        insta::assert_snapshot!(serde_json::to_string_pretty(&tally.to_json()).unwrap(), @r#"
        {
          "cached_tokens": 1552,
          "calls": 3,
          "input_tokens": 3104,
          "output_tokens": 192,
          "prompts": 1,
          "request_bytes": 18200,
          "requests": 2,
          "sessions": 2,
          "tools": [
            {
              "answer_bytes": 23,
              "calls": 1,
              "failed": {
                "timed_out": 1
              },
              "ok": 0,
              "p50_ms": 900,
              "p95_ms": 900,
              "p99_ms": 900,
              "tool": "git__log"
            },
            {
              "answer_bytes": 29,
              "calls": 1,
              "failed": {},
              "ok": 1,
              "p50_ms": 3,
              "p95_ms": 3,
              "p99_ms": 3,
              "tool": "read_file"
            },
            {
              "answer_bytes": 0,
              "calls": 1,
              "failed": {
                "unanswered": 1
              },
              "ok": 0,
              "p50_ms": null,
              "p95_ms": null,
              "p99_ms": null,
              "tool": "shell"
            }
          ],
          "waited_ms": {
            "model": 3500,
            "people": 3000,
            "tools": 603
          }
        }
        "#);
    }

    #[test]
    fn percentiles_are_of_real_calls() {
        let tool = |took: Vec<u64>| ToolTotals { durations_ms: took, ..ToolTotals::default() }.percentiles();
        assert_eq!(tool(vec![]), [None; 3]);
        assert_eq!(tool(vec![7]), [Some(7); 3]);
        assert_eq!(tool((1..=100).rev().collect()), [Some(50), Some(95), Some(99)]);
        assert_eq!(tool(vec![3, 1, 2]), [Some(2), Some(3), Some(3)]);
        let tool = ToolTotals { durations_ms: vec![0, 1, 3, 4, 15, 16, u64::MAX], ..ToolTotals::default() };
        assert_eq!(tool.duration_histogram(), [1, 2, 2, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn names_are_not_counted_for_ever() {
        let many = (0..2000u64).map(|n| (n, call_entry(&format!("c{n}"), &format!("t{n}"), "{}"))).collect();
        let mut tally = SessionTotals::default();
        tally.add(&sample_session::build_timeline(many));
        assert_eq!((tally.tools.len(), tally.calls()), (MAX_NAMES + 1, 2000));
    }

    #[test]
    fn approval_time_is_not_counted_as_tool_time() {
        let asked = journal::JournalEntry::Asked { call: "a".to_owned(), why: Vec::new() };
        let (decision, by) = ("approved".to_owned(), "terminal".to_owned());
        let decided = journal::JournalEntry::Decided { call: "a".to_owned(), decision, by };
        // The result does not depend on the journal including the waiting time.
        for took in [9020, 20] {
            let mut tally = SessionTotals::default();
            tally.add(&sample_session::build_timeline(vec![
                (0, call_entry("a", "shell", "{}")),
                (10, asked.clone()),
                (9010, decided.clone()),
                (9030, answered_entry("a", None, took, "")),
            ]));
            assert!(tally.tools["shell"].durations_ms[0] <= 30);
        }
    }
}
