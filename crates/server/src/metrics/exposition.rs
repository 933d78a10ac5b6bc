//! Writes metrics in the Prometheus text format, version 0.0.4.

use std::fmt::Write;

/// The content type of the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// A page of metrics. Each metric begins with its help and its kind.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Begins the metric `name`. Its samples follow.
    pub(super) fn begin(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {}", help.replace('\\', "\\\\").replace('\n', "\\n")));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Adds a sample.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escape_label(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// Adds a metric with one sample.
    pub(super) fn single(&mut self, name: &str, kind: MetricKind, help: &str, value: f64) {
        self.begin(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Returns the page.
    pub(super) fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _infallible = writeln!(self.0, "{text}");
    }
}

fn escape_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Exposition::default();
        page.begin("a_total", MetricKind::Counter, "Two\nlines.");
        page.sample("a_total", &[("tool", "x\"\\\ny"), ("outcome", "ok")], 2.0);
        page.single("b", MetricKind::Gauge, "B.", 0.5);
        insta::assert_snapshot!(page.finish(), @r#"
        # HELP a_total Two\nlines.
        # TYPE a_total counter
        a_total{tool="x\"\\\ny",outcome="ok"} 2
        # HELP b B.
        # TYPE b gauge
        b 0.5
        "#);
    }
}
