//! Encodes spans and histograms as OTLP JSON: ids in hexadecimal, 64-bit numbers as text, enumerations as numbers.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::histogram::{HistogramPoint, OtlpHistogram};
use super::span::{AttributeValue, SpanAttribute, SpanWork, TraceSpan};
use super::trace_builder::SessionTrace;

/// Numbers of OTLP's enumerations.
const SPAN_KIND_INTERNAL: u8 = 1;
const SPAN_KIND_CLIENT: u8 = 3;
const STATUS_CODE_ERROR: u8 = 2;
const TEMPORALITY_CUMULATIVE: u8 = 2;
/// Bytes of trace ids and span ids.
const TRACE_ID_BYTES: usize = 16;
const SPAN_ID_BYTES: usize = 8;

/// Builds a request to `v1/traces` with some spans of `trace`.
pub(crate) fn traces_request(service: &str, trace: &SessionTrace, spans: &[TraceSpan]) -> Value {
    let spans: Vec<Value> = spans.iter().map(|one| span_json(&trace.session, one)).collect();
    json!({ "resourceSpans": [{
        "resource": resource_json(service, trace),
        "scopeSpans": [{ "scope": scope_json(), "spans": spans }],
    }] })
}

/// Builds a request to `v1/metrics`. Counts are cumulative: the metrics of a resumed session replace those sent
/// before.
pub(crate) fn metrics_request(service: &str, trace: &SessionTrace, histograms: &[OtlpHistogram]) -> Value {
    let (from, to) = trace.session_span().map_or((0, 0), |whole| (whole.from, whole.to));
    let metric = |histogram: &OtlpHistogram| {
        let points: Vec<Value> =
            histogram.points.iter().map(|one| point_json(one, histogram.bounds, (from, to))).collect();
        json!({
            "name": histogram.name,
            "unit": histogram.unit,
            "histogram": { "aggregationTemporality": TEMPORALITY_CUMULATIVE, "dataPoints": points },
        })
    };
    let metrics: Vec<Value> = histograms.iter().map(metric).collect();
    json!({ "resourceMetrics": [{
        "resource": resource_json(service, trace),
        "scopeMetrics": [{ "scope": scope_json(), "metrics": metrics }],
    }] })
}

fn span_json(session: &str, span: &TraceSpan) -> Value {
    let mut json = json!({
        "traceId": derive_id::<TRACE_ID_BYTES>(session, "trace"),
        "spanId": span_id(session, span.line),
        "name": span.name(),
        "kind": if span.is_client() { SPAN_KIND_CLIENT } else { SPAN_KIND_INTERNAL },
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": attributes_json(&span.attributes(session)),
    });
    if let Some(parent) = span.parent {
        json["parentSpanId"] = span_id(session, parent).into();
    }
    if span.error.is_some() {
        json["status"] = json!({ "code": STATUS_CODE_ERROR });
    }
    json
}

fn point_json(point: &HistogramPoint, bounds: &[f64], (from, to): (u64, u64)) -> Value {
    let buckets: Vec<String> = point.buckets.iter().map(u64::to_string).collect();
    json!({
        "attributes": attributes_json(&point.attributes),
        "startTimeUnixNano": nanos(from),
        "timeUnixNano": nanos(to),
        "count": point.count.to_string(),
        "sum": point.sum,
        "bucketCounts": buckets,
        "explicitBounds": bounds,
    })
}

/// Describes the sender. Each session is its own service instance, so that its counts are not mixed with another's.
fn resource_json(service: &str, trace: &SessionTrace) -> Value {
    let version = match trace.session_span().map(|whole| &whole.work) {
        Some(SpanWork::Session(setting)) => setting.version.as_str(),
        Some(SpanWork::Request { .. } | SpanWork::Call(_) | SpanWork::Question { .. }) | None => "",
    };
    let known = [
        ("service.name", service.into()),
        ("service.version", version.into()),
        ("service.instance.id", trace.session.as_str().into()),
    ];
    json!({ "attributes": attributes_json(&known) })
}

fn scope_json() -> Value {
    json!({ "name": "toolgate", "version": env!("CARGO_PKG_VERSION") })
}

fn attributes_json(known: &[SpanAttribute]) -> Vec<Value> {
    let value = |fact: &AttributeValue| match fact {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Count(count) => json!({ "intValue": count.to_string() }),
    };
    known.iter().map(|(key, fact)| json!({ "key": key, "value": value(fact) })).collect()
}

fn nanos(millis: u64) -> String {
    millis.saturating_mul(1_000_000).to_string()
}

fn span_id(session: &str, line: u64) -> String {
    derive_id::<SPAN_ID_BYTES>(session, &line.to_string())
}

/// Derives a stable id: one part of one session always gets one id, however often it is sent.
fn derive_id<const BYTES: usize>(session: &str, of: &str) -> String {
    let hash = Sha256::digest(format!("toolgate\n{session}\n{of}"));
    hash.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}
