//! Error codes of model APIs: classification by identifier, HTTP status and text; retryability, description, advice.

use crate::Dialect;

/// The kind of error that a model API reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorCode {
    /// The request exceeds the model's context length; a shorter conversation would fit.
    ContextLength,
    /// The rate limit was exceeded.
    RateLimit,
    /// The account has no credit or quota left.
    Quota,
    /// The provider is overloaded.
    Overloaded,
    /// The API key is missing or invalid.
    Key,
    /// The API key lacks a permission.
    Forbidden,
    /// The model or the URL does not exist.
    NotFound,
    /// The API rejects the request as malformed.
    BadRequest,
    /// The server failed internally.
    Server,
    /// The stream ended before the response was complete.
    Broken,
    /// The response exceeds the size limit of the decoder.
    Endless,
}

/// Phrases by which APIs report a prompt that is too long when they have no code for it: Anthropic, vLLM and
/// OpenRouter, llama.cpp, Gemini. Everywhere else the code must not decide by text.
const TOO_LONG_PHRASES: &[&str] = &[
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the available context size",
    "context window",
    "input token count",
];

impl ModelErrorCode {
    /// Picks the most specific classification: a specific identifier, then the HTTP status, then a general identifier.
    pub(super) fn classify(status: Option<u16>, identifiers: &[String], text: &str) -> Self {
        let named = identifiers.iter().find_map(|word| Self::from_identifier(word));
        let code = match (named, status.and_then(Self::from_status)) {
            (Some(Self::BadRequest) | None, Some(code)) => code,
            (Some(code), _) => code,
            (None, None) => Self::Server,
        };
        let text = text.to_ascii_lowercase();
        let long = TOO_LONG_PHRASES.iter().any(|phrase| text.contains(phrase));
        if long && matches!(code, Self::BadRequest | Self::Server) { Self::ContextLength } else { code }
    }

    fn from_identifier(word: &str) -> Option<Self> {
        Some(match word {
            "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
                Self::ContextLength
            }
            "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" | "RESOURCE_EXHAUSTED" => {
                Self::RateLimit
            }
            "insufficient_quota"
            | "billing_hard_limit_reached"
            | "billing_error"
            | "billing_not_active"
            | "usage_limit_reached"
            | "usage_not_included" => Self::Quota,
            "overloaded_error"
            | "server_is_overloaded"
            | "slow_down"
            | "unavailable_error"
            | "UNAVAILABLE" => Self::Overloaded,
            "authentication_error" | "invalid_api_key" | "invalid_authentication" | "UNAUTHENTICATED" => {
                Self::Key
            }
            "permission_error" | "PERMISSION_DENIED" => Self::Forbidden,
            "not_found_error" | "model_not_found" | "NOT_FOUND" => Self::NotFound,
            "api_error" | "server_error" | "internal_error" | "timeout_error" | "INTERNAL" => Self::Server,
            "invalid_request_error" | "invalid_prompt" | "BadRequestError" | "INVALID_ARGUMENT" => {
                Self::BadRequest
            }
            _ => return None,
        })
    }

    fn from_status(status: u16) -> Option<Self> {
        Some(match status {
            401 | 407 => Self::Key,
            402 => Self::Quota,
            403 => Self::Forbidden,
            404 | 405 | 410 | 300..=399 => Self::NotFound,
            408 | 409 | 425 => Self::Server,
            413 => Self::ContextLength,
            429 => Self::RateLimit,
            503 | 529 => Self::Overloaded,
            501 | 505 => Self::BadRequest,
            500..=599 => Self::Server,
            400..=499 => Self::BadRequest,
            _ => return None,
        })
    }

    /// Returns whether a retry of the same request may succeed.
    pub(super) fn is_transient(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Server | Self::Broken => true,
            Self::ContextLength
            | Self::Quota
            | Self::Key
            | Self::Forbidden
            | Self::NotFound
            | Self::BadRequest
            | Self::Endless => false,
        }
    }

    /// Returns the sentence that describes the error.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::ContextLength => "the conversation is longer than the model can read",
            Self::RateLimit => "the model API wants fewer requests for now",
            Self::Quota => "the account of the model API has nothing left to spend",
            Self::Overloaded => "the model API has too much to do",
            Self::Key => "the model API does not know the key",
            Self::Forbidden => "the model API does not let this key do that",
            Self::NotFound => "the model API does not know the model or the address",
            Self::BadRequest => "the model API does not take the request",
            Self::Server => "something went wrong inside the model API",
            Self::Broken => "the stream of the model ended early",
            Self::Endless => "the response of the model does not end",
        }
    }

    /// Returns the advice for the user, with its leading separator.
    pub(super) fn advice(self, dialect: Dialect) -> String {
        let variable = dialect.api_key_variable();
        match self {
            Self::Key => {
                format!("; set `{variable}` to a valid key")
            }
            Self::Forbidden => format!("; use a key with more rights in `{variable}`, or another model"),
            Self::NotFound => {
                format!(
                    "; check the model's name and the base URL, to which `/{}` is added",
                    dialect.endpoint_path()
                )
            }
            Self::Quota => "; check the plan and the billing of the account".to_owned(),
            Self::ContextLength => "; shorten the conversation, or begin a new one".to_owned(),
            Self::RateLimit | Self::Overloaded | Self::Server | Self::Broken => {
                "; try again in a while".to_owned()
            }
            Self::BadRequest | Self::Endless => String::new(),
        }
    }
}
