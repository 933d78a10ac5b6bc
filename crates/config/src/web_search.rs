//! `[tools] web_search`: one word selects the model provider's own search, a table configures the user's own.

use std::fmt;
use std::time::Duration;

use runtime::{EnvironmentPolicy, HostPattern};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::HostedSearchMode;
use super::config_file::ConfigFile;
use crate::operation_fault::OperationFault;

/// Default time limit of a search in seconds, and the permitted range.
const DEFAULT_TIMEOUT_SECONDS: f64 = 20.0;
const TIMEOUT_SECONDS_RANGE: std::ops::RangeInclusive<f64> = 0.1..=600.0;

/// The value of `web_search` in a file: one word, or a table.
#[derive(Debug, Clone)]
pub(crate) enum WebSearchKey {
    Mode(HostedSearchMode),
    Table(Box<WebSearchTable>),
}

/// `[tools.web_search]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebSearchTable {
    /// The model provider's own search, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosted: Option<HostedSearchMode>,
    /// The program and arguments that search; the request is JSON on its standard input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The MCP tool that searches, as `server/tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The URL that answers searches with JSON, such as that of SearXNG.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// For `command`: hosts that it may reach, and variables of the user that it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// For `command`: names of the user's variables that it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_vars: Vec<String>,
    /// For `tool`: the names of its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_argument: Option<String>,
    /// For `tool`: the name of its argument for the number of results; not sent if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_argument: Option<String>,
    /// For `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env_var: Option<String>,
    /// For `command` and `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// For `command` and `url`: the approval policy; ask by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<SearchApproval>,
}

impl Eq for WebSearchTable {}

/// The approval policy of searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchApproval {
    /// Asks as for any other connection to its hosts.
    Ask,
    /// Never asks.
    Allow,
}

impl<'de> Deserialize<'de> for WebSearchKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WebSearchKeyVisitor)
    }
}

struct WebSearchKeyVisitor;

impl<'de> Visitor<'de> for WebSearchKeyVisitor {
    type Value = WebSearchKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"off\", \"cached\" or \"live\", or a table `[tools.web_search]`")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<WebSearchKey, E> {
        HostedSearchMode::deserialize(StrDeserializer::new(word)).map(WebSearchKey::Mode)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WebSearchKey, A::Error> {
        let table = WebSearchTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(WebSearchKey::Table(Box::new(table)))
    }
}

impl WebSearchKey {
    /// Returns the mode of the model provider's search.
    pub(crate) fn hosted_mode(&self) -> HostedSearchMode {
        match self {
            Self::Mode(mode) => *mode,
            Self::Table(table) => table.hosted.unwrap_or(HostedSearchMode::Off),
        }
    }

    /// Returns the user's own search, if one is configured.
    pub(crate) fn own_search(&self) -> Option<WebSearchTable> {
        match self {
            Self::Table(table) if table.is_own() => Some((**table).clone()),
            Self::Mode(_) | Self::Table(_) => None,
        }
    }
}

impl WebSearchTable {
    fn is_own(&self) -> bool {
        !self.command.is_empty() || self.tool.is_some() || self.url.is_some()
    }

    /// Returns the time limit of a search.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS))
    }

    /// Returns the server and the tool that answer searches.
    pub fn server_tool(&self) -> Option<(&str, &str)> {
        self.tool.as_deref().and_then(runtime::mcp::by_path)
    }

    /// Returns the first error in the table, if any.
    fn find_fault(&self) -> Option<String> {
        let ways = [
            ("command", !self.command.is_empty()),
            ("tool", self.tool.is_some()),
            ("url", self.url.is_some()),
        ];
        let mut given = ways.iter().filter(|(_, given)| *given).map(|(key, _)| *key);
        let way = match (given.next(), given.next()) {
            (Some(_), Some(_)) => {
                return Some("it has more than one of `command`, `tool` and `url`; keep one".to_owned());
            }
            (None, _) if self.hosted.is_none() => {
                return Some("it needs a `command`, a `tool` or a `url`, or `hosted`".to_owned());
            }
            (way, _) => way.unwrap_or("hosted"),
        };
        let keys = [
            ("hosts", &["command"][..], !self.hosts.is_empty()),
            ("env_vars", &["command"], !self.env_vars.is_empty()),
            ("query_argument", &["tool"], self.query_argument.is_some()),
            ("count_argument", &["tool"], self.count_argument.is_some()),
            ("bearer_token_env_var", &["url"], self.bearer_token_env_var.is_some()),
            ("timeout_seconds", &["command", "url"], self.timeout_seconds.is_some()),
            ("approval", &["command", "url"], self.approval.is_some()),
        ];
        if let Some((key, ..)) = keys.iter().find(|(_, ways, given)| *given && !ways.contains(&way)) {
            let hint = if *key == "approval" || *key == "timeout_seconds" {
                "; the server's own table says that"
            } else {
                ""
            };
            return Some(format!("`{key}` is not for a search by `{way}`{hint}"));
        }
        if self.timeout_seconds.is_some_and(|seconds| !TIMEOUT_SECONDS_RANGE.contains(&seconds)) {
            let (least, most) = (TIMEOUT_SECONDS_RANGE.start(), TIMEOUT_SECONDS_RANGE.end());
            return Some(format!("`timeout_seconds` must be from {least} to {most}"));
        }
        if self.tool.is_some() && self.server_tool().is_none() {
            return Some("its `tool` must be `server/tool`, e.g. `searx/search`".to_owned());
        }
        let host = self.hosts.iter().find_map(|host| host.parse::<HostPattern>().err());
        let environment = EnvironmentPolicy { pass: self.env_vars.clone(), ..EnvironmentPolicy::default() };
        host.map(|fault| fault.to_string())
            .or_else(|| environment.check().err().map(|fault| fault.to_string()))
    }

    /// Validates the table of `file`.
    pub(super) fn check(file: &ConfigFile) -> Result<(), OperationFault> {
        let Some(key) = &file.content.tools.web_search else { return Ok(()) };
        let WebSearchKey::Table(table) = key.get_ref() else { return Ok(()) };
        match table.find_fault() {
            Some(why) => Err(file.fault_at(&key.span(), &format!("`[tools.web_search]`: {why}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct WebSearchFixture {
        web_search: WebSearchKey,
    }

    #[test]
    fn web_search_accepts_a_word_or_a_valid_table() {
        let rows = [
            ("web_search = 'live'", "Live"),
            ("web_search = 'of'", "unknown variant `of`, expected one of `off`, `cached`, `live`"),
            (
                "web_search = 1",
                "invalid type: integer `1`, expected \"off\", \"cached\" or \"live\", or a table `[tools.web_search]`",
            ),
            ("[web_search]\nurl = 'http://127.0.0.1:8080/search'", "Off own"),
            ("[web_search]\nhosted = 'live'\ncommand = ['x']\nhosts = ['a.org']", "Live own"),
            ("[web_search]\nhosted = 'cached'", "Cached"),
            ("[web_search]\ntool = 'searx/search'\ncount_argument = 'n'", "Off own"),
            ("[web_search]\n", "it needs a `command`, a `tool` or a `url`, or `hosted`"),
            (
                "[web_search]\nurl = 'x'\ntool = 'a/b'",
                "it has more than one of `command`, `tool` and `url`; keep one",
            ),
            ("[web_search]\ntool = 'search'", "its `tool` must be `server/tool`, e.g. `searx/search`"),
            ("[web_search]\nurl = 'x'\nhosts = ['a.org']", "`hosts` is not for a search by `url`"),
            (
                "[web_search]\ntool = 'a/b'\napproval = 'allow'",
                "`approval` is not for a search by `tool`; the server's own table says that",
            ),
            ("[web_search]\nurl = 'x'\ntimeout_seconds = 0", "`timeout_seconds` must be from 0.1 to 600"),
        ];
        for (text, expected) in rows {
            let told = match toml::from_str::<WebSearchFixture>(text) {
                Err(error) => error.message().to_owned(),
                Ok(WebSearchFixture { web_search: key }) => match &key {
                    WebSearchKey::Table(table) if table.find_fault().is_some() => table.find_fault().unwrap(),
                    _ => format!(
                        "{:?}{}",
                        key.hosted_mode(),
                        if key.own_search().is_some() { " own" } else { "" }
                    ),
                },
            };
            assert_eq!(told, expected, "{text}");
        }
    }
}
