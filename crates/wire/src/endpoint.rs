//! Where a request goes, and what it carries beside its body.

use crate::Dialect;

/// The version of the Messages API that is spoken here.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Dialect {
    /// What follows a base URL that ends in `/v1`, e.g. `chat/completions`.
    pub fn path(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat/completions",
            Self::Anthropic => "messages",
        }
    }

    /// The headers that the API wants; without a key those that it wants of everybody.
    pub fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
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

    /// The environment variable in which people keep their key.
    pub fn key_variable(self) -> &'static str {
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
    fn every_api_has_its_door_and_its_key() {
        let told = Dialect::ALL.map(|dialect| {
            format!("{} {:?} {:?}", dialect.path(), dialect.headers(Some("k")), dialect.headers(None))
        });
        insta::assert_snapshot!(told.join("\n"), @r#"
        responses [("authorization", "Bearer k")] []
        chat/completions [("authorization", "Bearer k")] []
        messages [("x-api-key", "k"), ("anthropic-version", "2023-06-01")] [("anthropic-version", "2023-06-01")]
        "#);
    }
}
