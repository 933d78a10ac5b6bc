//! Histograms of tokens and durations, as the OpenTelemetry GenAI conventions define them.

use super::span::{SpanAttribute, SpanWork, TraceSpan, operation_attribute};

/// The bucket bounds of the conventions.
const TOKEN_BOUNDS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0,
    16_777_216.0, 67_108_864.0,
];
const SECOND_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const MILLIS_PER_SECOND: f64 = 1000.0;
/// Attribute sets per histogram at most: a model may invent any number of tool names.
const MAX_ATTRIBUTE_SETS: usize = 500;

/// A histogram of one measured quantity.
#[derive(Debug)]
pub(crate) struct OtlpHistogram {
    pub name: &'static str,
    pub unit: &'static str,
    pub bounds: &'static [f64],
    /// One point for each set of attributes.
    pub points: Vec<HistogramPoint>,
}

/// The counts for one set of attributes.
#[derive(Debug)]
pub(crate) struct HistogramPoint {
    pub attributes: Vec<SpanAttribute>,
    pub sum: f64,
    pub count: u64,
    /// Counts per bucket: values up to each bound and above the previous one; the last counts values above all
    /// bounds.
    pub buckets: Vec<u64>,
}

/// Builds the histograms of some spans; a histogram without values is omitted.
pub(crate) fn build_histograms(spans: &[TraceSpan]) -> Vec<OtlpHistogram> {
    let new = |name, unit, bounds| OtlpHistogram { name, unit, bounds, points: Vec::new() };
    let mut tokens = new("gen_ai.client.token.usage", "{token}", &TOKEN_BOUNDS);
    let mut requests = new("gen_ai.client.operation.duration", "s", &SECOND_BOUNDS);
    let mut calls = new("gen_ai.execute_tool.duration", "s", &SECOND_BOUNDS);
    for span in spans {
        match &span.work {
            SpanWork::Request { model, usage } => {
                let mut kind = vec![operation_attribute("chat")];
                kind.extend(model.attributes());
                requests.add(kind.clone(), to_seconds(usage.model_ms));
                for (side, count) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                    // Zero means that the provider reports no count.
                    if count > 0 {
                        let side = [("gen_ai.token.type", side.into())];
                        tokens.add(kind.iter().cloned().chain(side).collect(), count as f64);
                    }
                }
            }
            SpanWork::Call(call) => {
                let kind = call.tool_attributes().into_iter().chain(span.error_attribute()).collect();
                calls.add(kind, to_seconds(call.run_ms));
            }
            SpanWork::Session(_) | SpanWork::Question { .. } => {}
        }
    }
    [tokens, requests, calls].into_iter().filter(|histogram| !histogram.points.is_empty()).collect()
}

impl OtlpHistogram {
    /// Counts a value. Beyond the limit of attribute sets, only the operation is kept.
    fn add(&mut self, mut attributes: Vec<SpanAttribute>, value: f64) {
        if self.points.len() >= MAX_ATTRIBUTE_SETS && self.point_index(&attributes).is_none() {
            attributes.truncate(1);
        }
        let at = self.point_index(&attributes).unwrap_or(self.points.len());
        if at == self.points.len() {
            self.points.push(HistogramPoint {
                attributes,
                sum: 0.0,
                count: 0,
                buckets: vec![0; self.bounds.len() + 1],
            });
        }
        let point = &mut self.points[at];
        point.sum += value;
        point.count += 1;
        point.buckets[self.bounds.partition_point(|bound| *bound < value)] += 1;
    }

    fn point_index(&self, kind: &[SpanAttribute]) -> Option<usize> {
        self.points.iter().position(|point| point.attributes == kind)
    }
}

fn to_seconds(millis: u64) -> f64 {
    millis as f64 / MILLIS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use super::super::span::AttributeValue;
    use super::*;

    #[test]
    fn value_is_counted_in_its_bucket() {
        let mut histogram = OtlpHistogram { name: "", unit: "", bounds: &[1.0, 4.0], points: Vec::new() };
        for value in [0.0, 1.0, 1.5, 4.0, 4.5] {
            histogram.add(vec![operation_attribute("chat")], value);
        }
        histogram.add(vec![operation_attribute("other")], 2.0);
        let told: Vec<_> =
            histogram.points.iter().map(|point| (point.count, point.sum, &point.buckets[..])).collect();
        assert_eq!(told, [(5, 11.0, &[2, 2, 1][..]), (1, 2.0, &[0, 1, 0])]);
    }

    #[test]
    fn attribute_sets_are_bounded() {
        let mut histogram = OtlpHistogram { name: "", unit: "", bounds: &[], points: Vec::new() };
        for number in 0..MAX_ATTRIBUTE_SETS + 9 {
            let tool = ("gen_ai.tool.name", AttributeValue::Text(format!("tool{number}")));
            histogram.add(vec![operation_attribute("execute_tool"), tool], 1.0);
        }
        assert_eq!(
            (histogram.points.len(), histogram.points[MAX_ATTRIBUTE_SETS].count),
            (MAX_ATTRIBUTE_SETS + 1, 9)
        );
        assert_eq!(histogram.points[MAX_ATTRIBUTE_SETS].attributes, [operation_attribute("execute_tool")]);
    }
}
