//! HTTP path, headers and API key variable of each dialect.

use crate::Dialect;

/// The version of the Messages API in the `anthropic-version` header.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Dialect {
    /// Returns the path that is appended to a base URL ending in `/v1`, e.g. `chat/completions`.
    pub fn endpoint_path(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat/completions",
            Self::Anthropic => "messages",
        }
    }

    /// Returns the HTTP headers that the API requires. Without a key, only the headers that do not depend on it.
    pub fn request_headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| match self {
            Self::Responses | Self::Chat => ("authorization", format!("Bearer {key}")),
            Self::Anthropic => ("x-api-key", key.to_owned()),
        });
        let version = match self {
            Self::Responses | Self::Chat => None,
            Self::Anthropic => Some(("anthropic-version", ANTHROPIC_VERSION.to_owned())),
        };
        key.into_iter().chain(version).collect()
    }

    /// Returns the environment variable that conventionally holds the API key.
    pub fn api_key_variable(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_has_its_path_and_headers() {
        let told = Dialect::ALL.map(|dialect| {
            format!(
                "{} {:?} {:?}",
                dialect.endpoint_path(),
                dialect.request_headers(Some("k")),
                dialect.request_headers(None)
            )
        });
        insta::assert_snapshot!(told.join("\n"), @r#"
        responses [("authorization", "Bearer k")] []
        chat/completions [("authorization", "Bearer k")] []
        messages [("x-api-key", "k"), ("anthropic-version", "2023-06-01")] [("anthropic-version", "2023-06-01")]
        "#);
    }
}
