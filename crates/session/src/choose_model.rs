//! Chooses the model and its endpoint from flags, configuration and environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{EndpointFault, ModelBackend, ModelEndpoint, ScriptedBackend, ScriptedTurn};
use runtime::PlainHttp;
use runtime::wire::{Dialect, ReasoningMode};

use crate::compose::{ComposedTools, ToolFormApi};
use config::{Config, OperationFault};

/// The name of a scripted model.
const SCRIPTED_NAME: &str = "script";

/// A model with its name and API.
#[derive(Clone)]
pub struct ChosenModel {
    /// Backend that answers requests.
    pub model: Arc<dyn ModelBackend>,
    /// Name of the model in requests.
    pub name: String,
    /// Handling of the model's reasoning between requests.
    pub reasoning: ReasoningMode,
    /// The API in front of it.
    pub api: ToolFormApi,
    /// Base URL of the API, if it is not the provider's own.
    pub base_url: Option<String>,
}

/// The location of a model, as far as it is given.
#[derive(Debug, Clone, Default)]
pub struct ModelLocation {
    /// API dialect; by default the one that the model's name suggests.
    pub wire: Option<Dialect>,
    /// Base URL of the API; by default from the environment, else the provider's own.
    pub base_url: Option<String>,
    /// A script that replaces the model.
    pub script: Option<PathBuf>,
    /// The hosts that may be asked over plain HTTP.
    pub plain_http: PlainHttp,
}

impl ModelLocation {
    /// Adds the settings in the configuration of `composed`.
    #[must_use]
    pub fn with_configuration(self, composed: &ComposedTools) -> Self {
        self.with_settings(composed.config())
    }

    /// Adds the settings in `config`.
    #[must_use]
    pub fn with_settings(mut self, config: &Config) -> Self {
        if config.insecure_http.value {
            self.plain_http = PlainHttp::PrivateNetwork;
        }
        self
    }
}

/// Chooses the model at `location`; `configured` is its name in the configuration.
pub fn choose_model(
    location: &ModelLocation,
    configured: Option<&str>,
) -> Result<ChosenModel, OperationFault> {
    let name = configured.map(str::to_owned);
    if let Some(file) = &location.script {
        let dialect = location.wire.unwrap_or(Dialect::Responses);
        let model = Arc::new(ScriptedBackend::new(dialect, read_script(file)?));
        let name = name.unwrap_or_else(|| SCRIPTED_NAME.to_owned());
        return Ok(ChosenModel {
            model,
            name,
            reasoning: ReasoningMode::None,
            api: ToolFormApi::at_base_url(dialect, None),
            base_url: None,
        });
    }
    let name = name.ok_or_else(|| {
        OperationFault::usage("no model is named").with_hint(
            "--model NAME, or `model = \"NAME\"` in your configuration; `toolgate demo` needs none",
        )
    })?;
    let dialect = location.wire.unwrap_or_else(|| suggested_dialect(&name));
    let key = std::env::var(dialect.api_key_variable()).ok().filter(|key| !key.is_empty());
    let own = location.base_url.clone().or_else(|| std::env::var(base_url_variable(dialect)).ok());
    if key.is_none() && own.is_none() {
        let wrong = format!("there is no key for {name}: {} is not set", dialect.api_key_variable());
        return Err(OperationFault::usage(wrong)
            .with_hint("a server of your own needs none: --base-url http://127.0.0.1:8080/v1; `toolgate demo` needs neither"));
    }
    let base = own.as_deref().unwrap_or_else(|| provider_base_url(dialect));
    let model = ModelEndpoint::with_plain_http(dialect, base, key.as_deref(), location.plain_http)
        .map_err(|fault| endpoint_fault(&fault, key.is_some()))?;
    let api = ToolFormApi::at_base_url(dialect, own.as_deref());
    Ok(ChosenModel { model: Arc::new(model), reasoning: reasoning_mode(&name), name, api, base_url: own })
}

/// Converts the error of an endpoint. The hint offers plain HTTP for addresses that may be private.
fn endpoint_fault(fault: &EndpointFault, has_key: bool) -> OperationFault {
    let told = OperationFault::usage(fault.to_string());
    match fault {
        EndpointFault::PlainText { plain: PlainHttp::PrivateNetwork, .. } => {
            told.with_hint("--insecure-http is for private addresses only")
        }
        EndpointFault::PlainText { may_be_private: true, .. } => {
            let key = if has_key { "; your key is then sent unencrypted" } else { "" };
            told.with_hint(format!("a model server in your own network needs --insecure-http, or `insecure_http = true` in your configuration{key}"))
        }
        EndpointFault::PlainText { .. } | EndpointFault::Wrong(_) => told,
    }
}

/// Domains of OpenAI's own API.
const OPENAI_DOMAINS: [&str; 2] = ["openai.com", "openai.azure.com"];

impl ToolFormApi {
    /// Returns the API for `dialect` at `base`, or at the provider's own address.
    pub(crate) fn at_base_url(dialect: Dialect, base: Option<&str>) -> Self {
        match (dialect, base) {
            (Dialect::Responses, None) => Self::OpenAi,
            (Dialect::Responses, Some(base)) if is_openai(base) => Self::OpenAi,
            (Dialect::Responses, Some(_)) => Self::Responses,
            (Dialect::Chat | Dialect::Anthropic, _) => Self::Functions,
        }
    }

    /// Returns the API for `dialect` at the address in the environment.
    pub fn from_environment(dialect: Dialect) -> Self {
        let base = std::env::var(base_url_variable(dialect)).ok().filter(|base| !base.is_empty());
        Self::at_base_url(dialect, base.as_deref())
    }
}

fn is_openai(base: &str) -> bool {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let host = host.to_ascii_lowercase();
    OPENAI_DOMAINS
        .iter()
        .any(|own| host == *own || host.strip_suffix(own).is_some_and(|sub| sub.ends_with('.')))
}

/// Returns the dialect that the model's name suggests.
fn suggested_dialect(name: &str) -> Dialect {
    if name.starts_with("claude") { Dialect::Anthropic } else { Dialect::Responses }
}

/// Returns the handling of the reasoning of the model with this name.
pub fn reasoning_mode(name: &str) -> ReasoningMode {
    let thinks = ["gpt-5", "o1", "o3", "o4", "codex"].iter().any(|family| name.starts_with(family));
    if thinks { ReasoningMode::Keep } else { ReasoningMode::None }
}

fn provider_base_url(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Responses | Dialect::Chat => "https://api.openai.com/v1",
        Dialect::Anthropic => "https://api.anthropic.com/v1",
    }
}

fn base_url_variable(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Responses | Dialect::Chat => "OPENAI_BASE_URL",
        Dialect::Anthropic => "ANTHROPIC_BASE_URL",
    }
}

/// Reads a script.
pub fn read_script(file: &Path) -> Result<Vec<ScriptedTurn>, OperationFault> {
    let text = crate::read_file_or_stdin(file)?;
    ScriptedTurn::parse_script(&text)
        .map_err(|fault| OperationFault::usage(format!("{}: {fault}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openai_hosts_count_as_openai() {
        for (base, own) in [
            ("https://api.openai.com/v1", true),
            ("https://eu.api.openai.com:443/v1", true),
            ("https://me.openai.azure.com/openai/v1", true),
            ("http://127.0.0.1:8080/v1", false),
            ("https://openai.com.example.org/v1", false),
            ("https://notopenai.com/v1", false),
            ("https://api.openai.com@example.org/v1", false),
        ] {
            assert_eq!(is_openai(base), own, "{base}");
        }
    }
}
