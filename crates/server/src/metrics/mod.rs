//! Metrics of the session server for Prometheus: counters that sessions feed, and the endpoint that serves them.

mod endpoint;
mod exposition;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent::{SessionEvent, SessionObserver};
use parking_lot::Mutex;
use runtime::{CallEvent, CallId, CallObserver, Toolgate};

pub(crate) use self::endpoint::{MetricsEndpoint, PageSource};
use self::exposition::{Exposition, MetricKind};

/// Upper bounds of the duration buckets in seconds. A last bucket counts all calls.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0];
/// The label of tools that are not built in: their names come from servers, clients and models.
const OTHER_TOOL: &str = "other";
/// The outcome of a call that succeeded.
const OK_OUTCOME: &str = "ok";

/// The counters of all sessions since the server started.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    sessions_started: u64,
    /// By tool and outcome. Both have a fixed set of values.
    calls: BTreeMap<(String, &'static str), u64>,
    durations: BTreeMap<String, DurationHistogram>,
    approvals_asked: u64,
    approvals: BTreeMap<&'static str, u64>,
    sandbox_refusals: u64,
    model_requests: u64,
    tokens: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
struct DurationHistogram {
    /// Calls for each bucket, without those of the lower buckets.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: Duration,
}

/// The values at the moment of a scrape that no event reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveCounts {
    pub sessions: usize,
    pub clients: usize,
    pub processes: usize,
    pub cells_created: u64,
}

impl ServerMetrics {
    /// Returns the observer of a session.
    pub(crate) fn observe_session(self: &Arc<Self>) -> Arc<SessionMetrics> {
        Arc::new(SessionMetrics { metrics: Arc::clone(self), built_in: OnceLock::new() })
    }

    fn count_call(&self, tool: &str, outcome: &'static str, elapsed: Duration, denials: usize) {
        let mut counts = self.0.lock();
        *counts.calls.entry((tool.to_owned(), outcome)).or_default() += 1;
        counts.durations.entry(tool.to_owned()).or_default().record(elapsed);
        counts.sandbox_refusals += denials as u64;
    }

    /// Writes all metrics.
    pub(crate) fn render(&self, live: LiveCounts) -> String {
        let mut page = Exposition::default();
        let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
        page.begin("toolgate_build_info", gauge, "The version of the program.");
        page.sample("toolgate_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        page.single("toolgate_sessions", gauge, "Open sessions.", to_float(live.sessions as u64));
        page.single("toolgate_clients", gauge, "Connected clients.", to_float(live.clients as u64));
        page.single(
            "toolgate_processes",
            gauge,
            "Processes that run between calls.",
            to_float(live.processes as u64),
        );
        page.single(
            "toolgate_sandboxes_created_total",
            counter,
            "Sandboxes that were created.",
            to_float(live.cells_created),
        );
        let counts = self.0.lock();
        let singles = [
            (
                "toolgate_sessions_started_total",
                "Sessions that were started or continued.",
                counts.sessions_started,
            ),
            ("toolgate_approvals_asked_total", "Approval questions.", counts.approvals_asked),
            (
                "toolgate_sandbox_refusals_total",
                "Refusals: by the policy, rules, hooks and the sandbox, and questions that nobody could be asked.",
                counts.sandbox_refusals,
            ),
            ("toolgate_model_requests_total", "Requests that a model answered.", counts.model_requests),
        ];
        for (name, help, value) in singles {
            page.single(name, counter, help, to_float(value));
        }
        page.begin("toolgate_approvals_answered_total", counter, "Answers to approval questions.");
        for (decision, count) in &counts.approvals {
            page.sample("toolgate_approvals_answered_total", &[("decision", decision)], to_float(*count));
        }
        page.begin("toolgate_tokens_total", counter, "Tokens of models; `cached` is part of `input`.");
        for (kind, count) in &counts.tokens {
            page.sample("toolgate_tokens_total", &[("kind", kind)], to_float(*count));
        }
        page.begin("toolgate_calls_total", counter, "Answered calls by tool and outcome.");
        for ((tool, outcome), count) in &counts.calls {
            page.sample("toolgate_calls_total", &[("tool", tool), ("outcome", outcome)], to_float(*count));
        }
        let help = "Duration of calls, without waiting for other calls and for people.";
        page.begin("toolgate_call_duration_seconds", MetricKind::Histogram, help);
        for (tool, histogram) in &counts.durations {
            histogram.write(&mut page, tool);
        }
        page.finish()
    }
}

impl DurationHistogram {
    fn record(&mut self, elapsed: Duration) {
        if let Some(bucket) = BUCKETS.iter().position(|bound| elapsed.as_secs_f64() <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.count += 1;
        self.sum += elapsed;
    }

    fn write(&self, page: &mut Exposition, tool: &str) {
        const NAME: &str = "toolgate_call_duration_seconds";
        let mut below = 0;
        for (bound, count) in BUCKETS.iter().zip(self.buckets) {
            below += count;
            page.sample(
                &format!("{NAME}_bucket"),
                &[("tool", tool), ("le", &bound.to_string())],
                to_float(below),
            );
        }
        page.sample(&format!("{NAME}_bucket"), &[("tool", tool), ("le", "+Inf")], to_float(self.count));
        page.sample(&format!("{NAME}_sum"), &[("tool", tool)], self.sum.as_secs_f64());
        page.sample(&format!("{NAME}_count"), &[("tool", tool)], to_float(self.count));
    }
}

#[expect(clippy::cast_precision_loss, reason = "the format has floats only; counts stay below 2^53")]
fn to_float(count: u64) -> f64 {
    count as f64
}

/// Counts the events of one session.
pub(crate) struct SessionMetrics {
    metrics: Arc<ServerMetrics>,
    /// The names of the built-in tools, which are known when the session is assembled.
    built_in: OnceLock<BTreeSet<String>>,
}

impl SessionMetrics {
    /// Counts the session, whose tools are those of `toolgate`.
    pub(crate) fn begin(&self, toolgate: &Toolgate) {
        self.metrics.0.lock().sessions_started += 1;
        let routers = [Some(toolgate.router()), toolgate.program_router()];
        let specs = routers.into_iter().flatten().flat_map(|router| router.registry().callable_specs());
        let _first = self.built_in.set(specs.map(|spec| spec.name().to_owned()).collect());
    }

    /// Returns an observer that counts the tokens of the session's model, and passes its events on to `next`.
    pub(crate) fn meter_tokens(self: &Arc<Self>, next: Arc<dyn SessionObserver>) -> Arc<dyn SessionObserver> {
        Arc::new(TokenMeter { metrics: Arc::clone(self), next })
    }

    fn label<'a>(&self, tool: Option<&'a str>) -> &'a str {
        let is_known = |name: &&str| self.built_in.get().is_some_and(|known| known.contains(*name));
        tool.filter(is_known).unwrap_or(OTHER_TOOL)
    }
}

impl CallObserver for SessionMetrics {
    fn wants_output(&self) -> bool {
        false
    }

    fn on_event(&self, _: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Asked { .. } => self.metrics.0.lock().approvals_asked += 1,
            CallEvent::Decided { decision } => {
                *self.metrics.0.lock().approvals.entry(decision).or_default() += 1;
            }
            CallEvent::Finished { tool, success, error, elapsed, denials, .. } => {
                let outcome = match error {
                    Some(error) => error.as_str(),
                    None if *success => OK_OUTCOME,
                    None => "failed",
                };
                self.metrics.count_call(self.label(tool.as_deref()), outcome, *elapsed, *denials);
            }
            CallEvent::Queued { .. }
            | CallEvent::Started
            | CallEvent::Judged { .. }
            | CallEvent::Attempted { .. }
            | CallEvent::Notice(_) => {}
        }
    }
}

/// Counts the tokens of a session's model, and passes the events on.
struct TokenMeter {
    metrics: Arc<SessionMetrics>,
    next: Arc<dyn SessionObserver>,
}

impl SessionObserver for TokenMeter {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        if let SessionEvent::Responded { usage, .. } = seen {
            let mut counts = self.metrics.metrics.0.lock();
            counts.model_requests += 1;
            for (kind, count) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)]
            {
                *counts.tokens.entry(kind).or_default() += count;
            }
        }
        self.next.on_session_event(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_tools_without_a_label_are_other() {
        let metrics = Arc::<ServerMetrics>::default();
        let session = metrics.observe_session();
        session.built_in.set(["read_file".to_owned()].into()).unwrap();
        assert_eq!(session.label(Some("read_file")), "read_file");
        assert_eq!((session.label(Some("evil\nname")), session.label(None)), ("other", "other"));
        metrics.count_call("read_file", "ok", Duration::from_millis(3), 0);
        metrics.count_call("read_file", "ok", Duration::from_secs(700), 2);
        let page = metrics.render(LiveCounts { sessions: 1, clients: 0, processes: 2, cells_created: 3 });
        for line in [
            r#"toolgate_calls_total{tool="read_file",outcome="ok"} 2"#,
            r#"toolgate_call_duration_seconds_bucket{tool="read_file",le="0.001"} 0"#,
            r#"toolgate_call_duration_seconds_bucket{tool="read_file",le="0.005"} 1"#,
            r#"toolgate_call_duration_seconds_bucket{tool="read_file",le="600"} 1"#,
            r#"toolgate_call_duration_seconds_bucket{tool="read_file",le="+Inf"} 2"#,
            r#"toolgate_call_duration_seconds_sum{tool="read_file"} 700.003"#,
            "toolgate_sandbox_refusals_total 2",
            "toolgate_sandboxes_created_total 3",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in {page}");
        }
    }
}
