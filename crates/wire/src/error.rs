//! Errors of model APIs: classifies them, reads the retry delay, and words a message with advice.

mod code;
mod sanitize;

use std::time::Duration;

use serde_json::Value;

use crate::Dialect;

pub use code::ModelErrorCode;

/// Upper bound on a retry delay that a server requests; a longer one is taken for a wrong server clock.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The error of a model request that failed or whose response is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of error.
    pub code: ModelErrorCode,
    /// The error and the advice for the user: one line of bounded length, with API keys removed.
    pub message: String,
    /// States when the request may be retried.
    pub retry: RetryAdvice,
}

/// Advice on retrying an unchanged request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Retry after a delay that the caller chooses.
    Soon,
    /// Retry not earlier than this delay, which the server requested.
    After(Duration),
    /// Do not retry: the same request would fail again.
    Never,
}

/// The facts that a server's error report contains.
#[derive(Debug, Default)]
struct ServerErrorReport {
    status: Option<u16>,
    /// The server's error identifiers, the more specific one first.
    identifiers: Vec<String>,
    text: String,
    retry_delay: Option<Duration>,
}

impl Dialect {
    /// Parses an HTTP response with an error status. `retry_after` is the value of the `retry-after` header.
    pub fn http_error(self, status: u16, retry_after: Option<&str>, body: &str) -> ModelError {
        let mut report = match serde_json::from_str::<Value>(body) {
            Ok(json) => ServerErrorReport::from_json(&json),
            Err(_) => {
                ServerErrorReport { text: sanitize::describe_body(body), ..ServerErrorReport::default() }
            }
        };
        report.status = Some(status);
        report.retry_delay = retry_after.and_then(parse_retry_after).or(report.retry_delay);
        report.into_model_error(self)
    }

    /// Parses an error that a stream reports.
    pub(crate) fn stream_error(self, json: &Value) -> ModelError {
        ServerErrorReport::from_json(json).into_model_error(self)
    }
}

impl ModelError {
    /// The error for a stream that ended before its response was complete.
    pub(crate) fn stream_ended_early() -> Self {
        let message =
            "the stream of the model ended before its response did; send the request again".to_owned();
        Self { code: ModelErrorCode::Broken, message, retry: RetryAdvice::Soon }
    }

    /// The error for a response with more pieces than the limit.
    pub(crate) fn too_many_pieces(limit: usize) -> Self {
        let message = format!(
            "the model's response has more than {limit} pieces of text and calls; ask for less, or limit its output"
        );
        Self { code: ModelErrorCode::Endless, message, retry: RetryAdvice::Never }
    }

    /// The error for a response with more bytes than the limit.
    pub(crate) fn response_too_long(limit: usize) -> Self {
        let message =
            format!("the model's response is longer than {limit} bytes; ask for less, or limit its output");
        Self { code: ModelErrorCode::Endless, message, retry: RetryAdvice::Never }
    }
}

impl ServerErrorReport {
    /// Extracts the error from the shapes that servers send: `{"error": {..}}`, `{"error": ".."}`, `[{"error": ..}]`,
    /// `{"detail": ..}` or the bare error object.
    fn from_json(json: &Value) -> Self {
        let json = json.get(0).unwrap_or(json);
        let error = match &json["error"] {
            Value::Object(_) | Value::String(_) => &json["error"],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => json,
        };
        let text = [error, &error["message"], &json["message"], &json["detail"], &json["detail"][0]["msg"]];
        let text = text.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned();
        let words = [&error["code"], &error["type"], &error["status"]];
        let status = words.into_iter().find_map(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let identifiers = words.into_iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Self { status, identifiers, retry_delay: parse_delay_in_text(&text), text }
    }

    fn into_model_error(self, dialect: Dialect) -> ModelError {
        let code = ModelErrorCode::classify(self.status, &self.identifiers, &self.text);
        let retry = match (code.is_transient(), self.retry_delay) {
            (false, _) => RetryAdvice::Never,
            (true, Some(wait)) => RetryAdvice::After(wait.min(MAX_RETRY_DELAY)),
            (true, None) => RetryAdvice::Soon,
        };
        ModelError { code, message: self.compose_message(code, dialect), retry }
    }

    fn compose_message(&self, code: ModelErrorCode, dialect: Dialect) -> String {
        let status = self.status.map(|status| status.to_string());
        let marks: Vec<&str> =
            status.as_deref().into_iter().chain(self.identifiers.first().map(String::as_str)).collect();
        let marks = match marks.join(", ").as_str() {
            "" => String::new(),
            marks => format!(" ({})", sanitize::sanitize_line(marks, sanitize::MAX_IDENTIFIER_CHARS)),
        };
        let text = sanitize::sanitize_line(&self.text, sanitize::MAX_TEXT_CHARS);
        let text = match text.trim_end_matches(['.', ' ']) {
            "" => String::new(),
            text => format!(": {text}"),
        };
        format!("{}{marks}{text}{}", code.description(), code.advice(dialect))
    }
}

/// Parses a numeric `retry-after` value. A date is ignored, because it needs the current time.
fn parse_retry_after(value: &str) -> Option<Duration> {
    let seconds: f64 = value.trim().parse().ok().filter(|seconds| *seconds >= 0.0)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(MAX_RETRY_DELAY))
}

/// Parses the delay in OpenAI's error text, the only place where a stream states one: `Please try again in 1.5s.`
fn parse_delay_in_text(text: &str) -> Option<Duration> {
    const DELAY_PREFIX: &str = "try again in ";
    let rest = &text[text.find(DELAY_PREFIX)? + DELAY_PREFIX.len()..];
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = rest.split_at(end);
    let wait = parse_retry_after(number)?;
    let unit = unit.trim_start();
    let of = |name: &str| unit.starts_with(name);
    if of("ms") { Some(wait / 1000) } else { of("s").then_some(wait) }
}

#[cfg(test)]
mod tests;
