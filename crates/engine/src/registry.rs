//! The registry of tools by name and alias: what a model is offered and what it can call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use policy::Intent;
use policy::rules::fits_tool;
use tool::{
    AnyTool, BoxFuture, ShellForm, StrictFault, TakenOverCall, ToolCall, ToolError, ToolHandler, ToolJob,
    ToolSource, ToolSpec,
};

use crate::tool_selection::{ToolSelection, select_tools};
use crate::{ShellType, ToolsConfig};

/// The minimum similarity (Jaro-Winkler) of a suggested name, and the number of suggestions.
const MIN_SIMILARITY: f64 = 0.8;
const MAX_SUGGESTIONS: usize = 3;
/// A name that scores this much lower than the best match is not suggested beside it.
const MAX_SIMILARITY_GAP: f64 = 0.06;
/// Names that a model API uses for tools of its own.
const RESERVED_NAMES: &[&str] = &["web_search"];
/// The tool that the Responses API calls by itself; no foreign tool may take this name.
const LOCAL_SHELL: &str = "local_shell";
/// The name prefix of MCP server tools.
const SERVER_TOOL_PREFIX: &str = "mcp__";
/// The longest name that every model API accepts.
const MAX_NAME_BYTES: usize = 128;

/// Collects the tools of a registry.
#[derive(Default)]
pub struct ToolRegistryBuilder {
    built_in: Vec<Result<Arc<dyn AnyTool>, RegistryFault>>,
    foreign: Vec<Arc<dyn AnyTool>>,
    sources: Vec<Arc<dyn ToolSource>>,
    config: ToolsConfig,
}

/// The reason why a set of tools is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFault {
    /// Two built-in tools have the same name.
    #[error("two tools are called `{0}`; rename one, or leave one out")]
    Duplicate(String),
    /// A model API would reject the name.
    #[error("`{0}` is not a tool name: use 1 to 128 of A-Z a-z 0-9 _ -")]
    BadName(String),
    /// The configuration names a tool that does not exist.
    #[error("there is no tool `{name}`{}", nearest.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NoSuchTool {
        /// The name as configured.
        name: String,
        /// Similar names of existing tools.
        nearest: Vec<String>,
    },
    /// The arguments of a tool are no JSON object, which all model APIs demand.
    #[error("the arguments of the tool `{0}` must be a struct with named fields, or `()`")]
    NotAnObject(String),
    /// A tool marked strict has a schema that cannot be made strict.
    #[error("the tool `{name}` is marked strict, but its schema is not: {fault}")]
    NotStrict {
        /// The tool's name.
        name: String,
        /// The place in the schema and the reason.
        #[source]
        fault: StrictFault,
    },
}

/// Fails if the arguments of the tool are no JSON object.
fn check_takes_object(tool: Arc<dyn AnyTool>) -> Result<Arc<dyn AnyTool>, RegistryFault> {
    match tool.spec() {
        ToolSpec::Function(spec) if !matches!(spec.parameters.types[..], [] | [tool::JsonType::Object]) => {
            Err(RegistryFault::NotAnObject(spec.name.clone()))
        }
        _ => Ok(tool),
    }
}

impl ToolRegistryBuilder {
    /// Adds a built-in tool.
    #[must_use]
    pub fn tool<H: ToolHandler>(mut self, handler: H) -> Self {
        let erased = tool::erase(handler)
            .map_err(|fault| RegistryFault::NotStrict { name: H::NAME.to_owned(), fault })
            .and_then(check_takes_object);
        self.built_in.push(erased);
        self
    }

    /// Adds a built-in tool whose types are already erased.
    #[must_use]
    pub fn erased(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.built_in.push(Ok(tool));
        self
    }

    /// Adds a foreign tool. If its name is taken, the tool is left out with a warning: a server can neither replace a
    /// built-in tool nor break the others.
    #[must_use]
    pub fn foreign(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.foreign.push(tool);
        self
    }

    /// Adds a source of tools that may come and go. Its tools yield to existing names.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets the configuration that decides which tools the model gets.
    #[must_use]
    pub fn with_config(mut self, config: ToolsConfig) -> Self {
        self.config = config;
        self
    }

    /// Builds the registry: built-in tools first, then foreign tools in the order in which they were added.
    pub fn build(self) -> Result<ToolRegistry, RegistryFault> {
        let mut registry = ToolRegistry::default();
        let built_in = self.built_in.into_iter().collect::<Result<Vec<_>, _>>()?;
        let offered: Vec<Arc<dyn AnyTool>> =
            self.sources.iter().flat_map(|source| source.offered_tools()).collect();
        let known = self.sources.iter().flat_map(|source| source.possible_names()).collect();
        check_config_names(&self.config, built_in.iter().chain(&self.foreign).chain(&offered), known)?;
        let ToolSelection { callable, hidden, removed } = select_tools(&self.config, built_in);
        let aliases: Vec<_> = callable.iter().map(Arc::clone).collect();
        for tool in callable {
            registry.add(tool)?;
        }
        (registry.hidden, registry.removed) = (hidden, removed);
        for tool in self.foreign {
            let name = tool.spec().name().to_owned();
            if self.config.allows_tool(tool.as_ref())
                && let Err(fault) = registry.add_foreign(tool)
            {
                tracing::warn!(tool = ?name, fault = ?fault, "a foreign tool was left out");
                registry.rejected.push(fault);
            }
        }
        for tool in aliases {
            registry.add_aliases(tool.as_ref(), &self.config)?;
        }
        registry.provider_tool =
            self.config.web_search.tool_spec().filter(|spec| self.config.allows_name(spec.name()));
        (registry.sources, registry.config) = (self.sources, self.config);
        Ok(registry)
    }
}

/// The tools of a session: spec, handler and lane in one value each.
#[derive(Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn AnyTool>>,
    aliases: BTreeMap<String, String>,
    /// Names of callable tools that the model is not offered.
    hidden: BTreeSet<String>,
    /// Names that the configuration removed, each with the tools that do the same job.
    removed: BTreeMap<String, Vec<String>>,
    /// The tool that the provider runs itself: advertised, never called here.
    provider_tool: Option<ToolSpec>,
    rejected: Vec<RegistryFault>,
    /// Sources of further tools; `config` decides which of them the model gets.
    sources: Vec<Arc<dyn ToolSource>>,
    config: ToolsConfig,
}

impl ToolRegistry {
    /// Creates a builder.
    pub fn builder() -> ToolRegistryBuilder {
        ToolRegistryBuilder::default()
    }

    /// Finds a tool by its name or one of its aliases.
    pub fn find(&self, name: &str) -> Result<Arc<dyn AnyTool>, ToolError> {
        if let Some(tool) = self.tools.get(name) {
            return Ok(Arc::clone(tool));
        }
        let found = self.sources.iter().filter_map(|source| Some((source, source.find(name)?)));
        let mut admitted = found.filter(|(source, tool)| self.admits_tool(source.as_ref(), tool.as_ref()));
        let alias = || Some(Arc::clone(self.tools.get(self.aliases.get(name)?)?));
        admitted.next().map(|(_, tool)| tool).or_else(alias).ok_or_else(|| {
            if let Some(why) = self.sources.iter().find_map(|source| source.absence_reason(name)) {
                return ToolError::io(why);
            }
            let siblings = self.siblings(name);
            let known = if siblings.is_empty() { self.offered_names() } else { siblings };
            // A name that the configuration removed is not a typo.
            let nearest = match self.removed.get(name) {
                Some(same) => same.clone(),
                None if self.config.excludes(name) => self.tools_with_alias(name),
                None => nearest_names(name, known.iter().map(String::as_str)),
            };
            ToolError::UnknownTool { name: name.to_owned(), nearest, known }
        })
    }

    /// Finds the tool that takes over a call with `intent`.
    pub(crate) fn tool_taking_over(&self, intent: &Intent) -> Option<(Arc<dyn AnyTool>, TakenOverCall)> {
        self.tools.values().find_map(|tool| Some((Arc::clone(tool), tool.takes_over(intent)?)))
    }

    /// Returns the existing tools that are siblings of `name`, e.g. tools of the same server.
    fn siblings(&self, name: &str) -> Vec<String> {
        let names_of = |source: &Arc<dyn ToolSource>| {
            let mut names = source.sibling_names(name);
            names.retain(|name| {
                source.find(name).is_some_and(|tool| self.admits_tool(source.as_ref(), tool.as_ref()))
            });
            names
        };
        self.sources.iter().flat_map(names_of).collect()
    }

    /// Returns the offered tools of which `name` is a removed alias.
    fn tools_with_alias(&self, name: &str) -> Vec<String> {
        let is_one = |tool: &&Arc<dyn AnyTool>| tool.aliases().iter().any(|alias| alias == name);
        let shown = self.tools.values().filter(is_one).map(|tool| tool.spec().name().to_owned());
        shown.filter(|tool| !self.hidden.contains(tool)).collect()
    }

    /// Returns the specs of all built-in tools that are callable by their own name, offered or not, sorted.
    pub fn callable_specs(&self) -> Vec<ToolSpec> {
        self.tools.values().map(|tool| tool.spec().clone()).collect()
    }

    /// Returns the call that `call` stands for, if its name is another way to call a tool.
    pub fn rewrite_call(&self, call: &ToolCall) -> Option<Result<ToolCall, ToolError>> {
        if self.config.excludes(&call.name) || self.tools.contains_key(&call.name) {
            return None;
        }
        self.sources.iter().find_map(|source| source.rewrite_call(call))
    }

    /// Returns the tool that answers `call`, under any of its names.
    pub fn tool_for_call(&self, call: &ToolCall) -> Result<Arc<dyn AnyTool>, ToolError> {
        match self.rewrite_call(call) {
            Some(other) => self.find(&other?.name),
            None => self.find(&call.name),
        }
    }

    /// Returns a future that resolves once the existence of tool `name` is known; `None` if it is known now.
    pub(crate) fn wait_for_tool(&self, name: &str) -> Option<BoxFuture<'static, ()>> {
        self.sources.iter().find_map(|source| source.wait_for_tool(name))
    }

    /// Returns the specs that the model is offered, sorted by name: the bytes stay identical until a tool comes or
    /// goes.
    pub fn offered_specs(&self) -> Vec<ToolSpec> {
        let tools = self.offered_tools();
        let offered = tools.values().map(|tool| match tool.job() {
            ToolJob::Shell(ShellForm::Argv) if self.offers_local_shell() => ToolSpec::LocalShell,
            ToolJob::Unique | ToolJob::Shell(_) | ToolJob::Session => tool.spec().clone(),
        });
        let mut specs: Vec<ToolSpec> = offered.chain(self.provider_tool.clone()).collect();
        specs.sort_by(|a, b| a.name().cmp(b.name()));
        specs
    }

    fn offers_local_shell(&self) -> bool {
        self.config.shell == ShellType::Local && !self.config.excludes(LOCAL_SHELL)
    }

    /// Returns names of tools that may appear later, besides the existing ones.
    pub fn possible_names(&self) -> Vec<String> {
        self.sources.iter().flat_map(|source| source.possible_names()).collect()
    }

    /// Returns the sorted names of all tools that are offered and callable.
    pub fn offered_names(&self) -> Vec<String> {
        self.offered_tools().into_keys().collect()
    }

    fn offered_tools(&self) -> BTreeMap<String, Arc<dyn AnyTool>> {
        let mut tools = self.tools.clone();
        tools.retain(|name, _| !self.hidden.contains(name));
        for source in &self.sources {
            for tool in source.offered_tools() {
                let name = tool.spec().name().to_owned();
                let named = !source.obeys_config() || self.config.includes(&name, &tool.aliases());
                if named && self.admits_tool(source.as_ref(), tool.as_ref()) {
                    tools.entry(name).or_insert(tool);
                }
            }
        }
        tools
    }

    /// Returns true if the model gets `tool`, which arrived later from `source`.
    fn admits_tool(&self, source: &dyn ToolSource, tool: &dyn AnyTool) -> bool {
        let name = tool.spec().name();
        let may = self.is_name_available(name) || (source.is_built_in() && !self.is_name_taken(name));
        may && (!source.obeys_config() || self.config.allows_tool(tool))
    }

    /// Returns true if a later tool may use this name: it is free, and no provider gives it another meaning.
    pub fn is_name_available(&self, name: &str) -> bool {
        let stands_for_another = || {
            let call = ToolCall::function("", name, "{}");
            self.sources.iter().any(|source| source.rewrite_call(&call).is_some())
        };
        is_valid_name(name)
            && !RESERVED_NAMES.contains(&name)
            && name != LOCAL_SHELL
            && !self.is_name_taken(name)
            && !stands_for_another()
    }

    fn is_name_taken(&self, name: &str) -> bool {
        self.tools.contains_key(name) || self.aliases.contains_key(name)
    }

    /// Returns the reasons why foreign tools were left out.
    pub fn rejected_tools(&self) -> &[RegistryFault] {
        &self.rejected
    }

    fn add(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), RegistryFault> {
        let name = tool.spec().name().to_owned();
        if !is_valid_name(&name) {
            return Err(RegistryFault::BadName(name));
        }
        if self.tools.contains_key(&name) {
            return Err(RegistryFault::Duplicate(name));
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    fn add_foreign(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), RegistryFault> {
        match tool.spec().name() {
            name if name == LOCAL_SHELL || RESERVED_NAMES.contains(&name) => {
                Err(RegistryFault::Duplicate(name.to_owned()))
            }
            _ => self.add(tool),
        }
    }

    /// Adds the aliases of a built-in tool. A tool that has the alias as its own name keeps it.
    fn add_aliases(&mut self, tool: &dyn AnyTool, config: &ToolsConfig) -> Result<(), RegistryFault> {
        let free = |alias: &String| !self.tools.contains_key(alias) && !config.excludes(alias);
        for alias in tool.aliases().into_iter().filter(free).collect::<Vec<_>>() {
            if let Some(other) = self.aliases.insert(alias.clone(), tool.spec().name().to_owned())
                && other != tool.spec().name()
            {
                return Err(RegistryFault::Duplicate(alias));
            }
        }
        Ok(())
    }
}

/// Rejects a configuration that names an unknown tool: a typo in `without` would leave the meant tool in place.
fn check_config_names<'a>(
    config: &ToolsConfig,
    tools: impl Iterator<Item = &'a Arc<dyn AnyTool>>,
    others: BTreeSet<String>,
) -> Result<(), RegistryFault> {
    let tools: Vec<&Arc<dyn AnyTool>> = tools.collect();
    let unsuggested: BTreeSet<String> = tools.iter().flat_map(|tool| tool.aliases()).chain(others).collect();
    let reserved = RESERVED_NAMES.iter().copied();
    let known: Vec<&str> = tools.iter().map(|tool| tool.spec().name()).chain(reserved).collect();
    let named = config.only.iter().flatten().chain(&config.without);
    // Server tools come and go, so their names are not checked.
    let is_known = |pattern: &&String| {
        let names = known.iter().copied().chain(unsuggested.iter().map(String::as_str));
        pattern.starts_with(SERVER_TOOL_PREFIX) || names.into_iter().any(|name| fits_tool(pattern, name))
    };
    match named.into_iter().find(|pattern| !is_known(pattern)) {
        None => Ok(()),
        Some(name) => {
            let nearest = nearest_names(name, known.iter().copied());
            Err(RegistryFault::NoSuchTool { name: name.clone(), nearest })
        }
    }
}

fn nearest_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    // A name this long is no typo, and comparing it is not free.
    if name.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let lower = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .map(|known| (strsim::jaro_winkler(&lower, known), known))
        .filter(|(alike, _)| *alike >= MIN_SIMILARITY)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let best = scored.first().map_or(0.0, |(best, _)| *best);
    let as_good = scored.into_iter().filter(|(alike, _)| *alike > best - MAX_SIMILARITY_GAP);
    as_good.take(MAX_SUGGESTIONS).map(|(_, known)| known.to_owned()).collect()
}

fn is_valid_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(plain)
}
