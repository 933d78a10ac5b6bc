//! Reads OpenTelemetry's standard variables: the collector's endpoint, its headers and the service name.

use agent::{CollectorFault, OtlpCollector};
use runtime::PlainHttp;

/// The default service name.
const DEFAULT_SERVICE: &str = "toolgate";

/// The collector and the service name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExporterSettings {
    /// The collector's URL; empty if there is none.
    pub endpoint: String,
    headers: Vec<(String, String)>,
    pub service: String,
}

impl ExporterSettings {
    /// Reads the settings from environment variables.
    pub(crate) fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).map(|value| value.trim().to_owned()).unwrap_or_default();
        let service = value("OTEL_SERVICE_NAME");
        let is_disabled = value("OTEL_SDK_DISABLED").eq_ignore_ascii_case("true");
        Self {
            endpoint: if is_disabled { String::new() } else { value("OTEL_EXPORTER_OTLP_ENDPOINT") },
            headers: parse_headers(&value("OTEL_EXPORTER_OTLP_HEADERS")),
            service: if service.is_empty() { DEFAULT_SERVICE.to_owned() } else { service },
        }
    }

    /// Replaces the endpoint.
    pub(crate) fn with_endpoint(self, url: &str) -> Self {
        Self { endpoint: url.to_owned(), ..self }
    }

    /// Creates the client for the collector, with plain HTTP to the hosts that `plain` accepts.
    pub(crate) fn to_collector(&self, plain: PlainHttp) -> Result<OtlpCollector, CollectorFault> {
        OtlpCollector::new(&self.endpoint, &self.headers, plain)
    }
}

/// Parses `name=value,name=value`; values may be percent-encoded.
fn parse_headers(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), percent_decode(value.trim()))).collect()
}

/// Decodes percent-encoded bytes; invalid sequences stay unchanged.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    // ends: each step takes a byte at least
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|hex| first == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let byte = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_variables_are_read() {
        let of = |rows: &[(&str, &str)]| {
            ExporterSettings::from_variables(&|name| {
                Some(rows.iter().find(|(known, _)| *known == name)?.1.to_owned())
            })
        };
        let nothing =
            ExporterSettings { endpoint: String::new(), headers: Vec::new(), service: "toolgate".to_owned() };
        assert_eq!(of(&[]), nothing);
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " "), ("OTEL_SERVICE_NAME", "")]), nothing);
        let disabled = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1]:4318"), ("OTEL_SDK_DISABLED", "true")];
        assert_eq!(of(&disabled), nothing);
        let all = of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1]:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a=b, Authorization=Bearer%20x%2,odd,,é=%C3%A9"),
            ("OTEL_SERVICE_NAME", "ci"),
        ]);
        let told: Vec<_> = all.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(told, [("api-key", "a=b"), ("Authorization", "Bearer x%2"), ("é", "é")]);
        assert_eq!((all.endpoint.as_str(), all.service.as_str()), ("http://[::1]:4318", "ci"));
        assert_eq!(all.with_endpoint("http://[::1]:1").endpoint, "http://[::1]:1");
    }
}
