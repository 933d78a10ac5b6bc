//! Tests of error classification: error responses of real servers, and the resulting message and retry advice.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

fn tell(error: &ModelError) -> String {
    format!("{:?} {:?} {}", error.code, error.retry, error.message)
}

fn refused(dialect: Dialect, status: u16, retry_after: Option<&str>, body: &str) -> String {
    tell(&dialect.http_error(status, retry_after, body))
}

#[test]
fn errors_a_person_must_fix_are_not_retried() {
    let openai = |kind: &str, code: &str, text: &str| {
        json!({"error": {"message": text, "type": kind, "param": null, "code": code}}).to_string()
    };
    let wrong = "Incorrect API key provided: sk-abc**********wxyz. You can find your API key at https://platform.openai.com/account/api-keys.";
    let told = [
        refused(Dialect::Responses, 401, None, &openai("invalid_request_error", "invalid_api_key", wrong)),
        refused(
            Dialect::Anthropic,
            401,
            None,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        ),
        refused(
            Dialect::Chat,
            404,
            None,
            r#"{"error":{"message":"model 'x' not found","type":"invalid_request_error"}}"#,
        ),
        refused(
            Dialect::Chat,
            429,
            Some("7"),
            &openai("insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
        ),
        refused(Dialect::Chat, 400, None, r#"{"detail":[{"loc":["body"],"msg":"Field required"}]}"#),
        refused(Dialect::Chat, 403, None, r#"{"error":"country not supported"}"#),
        refused(Dialect::Chat, 302, None, ""),
    ];
    assert_snapshot!(told.join("\n"), @r#"
    Key Never the model API does not know the key (401, invalid_api_key): Incorrect API key provided: [key]. You can find your API key at https://platform.openai.com/account/api-keys; set `OPENAI_API_KEY` to a valid key
    Key Never the model API does not know the key (401, authentication_error): invalid x-api-key; set `ANTHROPIC_API_KEY` to a valid key
    NotFound Never the model API does not know the model or the address (404, invalid_request_error): model 'x' not found; check the model's name and the base URL, to which `/chat/completions` is added
    Quota Never the account of the model API has nothing left to spend (429, insufficient_quota): You exceeded your current quota; check the plan and the billing of the account
    BadRequest Never the model API does not take the request (400): Field required
    Forbidden Never the model API does not let this key do that (403): country not supported; use a key with more rights in `OPENAI_API_KEY`, or another model
    NotFound Never the model API does not know the model or the address (302); check the model's name and the base URL, to which `/chat/completions` is added
    "#);
}

#[test]
fn transient_errors_are_retried_when_the_server_says() {
    let told = [
        refused(
            Dialect::Responses,
            429,
            Some("1.5"),
            r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        refused(
            Dialect::Responses,
            429,
            Some("Wed, 21 Oct 2026 07:28:00 GMT"),
            r#"{"error":{"message":"Please try again in 20ms."}}"#,
        ),
        refused(
            Dialect::Anthropic,
            529,
            None,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        refused(Dialect::Chat, 502, None, "<html><body>Bad gateway</body></html>"),
        refused(
            Dialect::Chat,
            503,
            Some("1e300"),
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        ),
        refused(Dialect::Chat, 500, Some("99999999"), "panic\u{1b}[0m"),
    ];
    assert_snapshot!(told.join("\n"), @r#"
    RateLimit After(1.5s) the model API wants fewer requests for now (429, rate_limit_exceeded): Rate limit reached; try again in a while
    RateLimit After(20ms) the model API wants fewer requests for now (429): Please try again in 20ms; try again in a while
    Overloaded Soon the model API has too much to do (529, overloaded_error): Overloaded; try again in a while
    Server Soon something went wrong inside the model API (502): it answered with a web page; try again in a while
    Overloaded After(86400s) the model API has too much to do (503, unavailable_error): Loading model; try again in a while
    Server After(86400s) something went wrong inside the model API (500): panic\u{1b}[0m; try again in a while
    "#);
}

#[test]
fn a_prompt_that_is_too_long_is_known_in_every_server_s_words() {
    for (dialect, status, body) in [
        (
            Dialect::Responses,
            400,
            json!({"error": {"code": "context_length_exceeded", "type": "invalid_request_error", "message": "Your input exceeds the context window of this model."}}),
        ),
        (
            Dialect::Anthropic,
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}}),
        ),
        (
            Dialect::Anthropic,
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (
            Dialect::Chat,
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size", "n_ctx": 4096}}),
        ),
        (
            Dialect::Chat,
            400,
            json!({"object": "error", "type": "BadRequestError", "code": 400, "message": "This model's maximum context length is 8192 tokens."}),
        ),
        (
            Dialect::Chat,
            400,
            json!([{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (9) exceeds the maximum"}}]),
        ),
    ] {
        let error = dialect.http_error(status, None, &body.to_string());
        assert_eq!(
            (error.code, error.retry),
            (ModelErrorCode::ContextLength, RetryAdvice::Never),
            "{}",
            error.message
        );
    }
}

#[test]
fn streams_report_faults_too() {
    let told = [
        tell(&Dialect::Anthropic.stream_error(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))),
        tell(&Dialect::Responses.stream_error(&json!({"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 11.054s. Visit ..."}))),
        tell(&Dialect::Responses.stream_error(&json!({"code": "context_length_exceeded", "message": "too long"}))),
        tell(&Dialect::Chat.stream_error(&json!({"error": {"message": "Provider returned error", "code": 429}}))),
        tell(&Dialect::Chat.stream_error(&json!({"error": {}}))),
    ];
    assert_snapshot!(told.join("\n"), @r#"
    Overloaded Soon the model API has too much to do (overloaded_error): Overloaded; try again in a while
    RateLimit After(11.054s) the model API wants fewer requests for now (rate_limit_exceeded): Rate limit reached. Please try again in 11.054s. Visit; try again in a while
    ContextLength Never the conversation is longer than the model can read (context_length_exceeded): too long; shorten the conversation, or begin a new one
    RateLimit Soon the model API wants fewer requests for now (429): Provider returned error; try again in a while
    Server Soon something went wrong inside the model API; try again in a while
    "#);
}
