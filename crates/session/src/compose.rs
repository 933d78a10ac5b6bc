//! Composition root: turns the configuration into a set of tools with their policy and sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use exec::spill::Spill;
use journal::SessionId;
use runtime::mcp::{self, McpClientDeps, McpServers};
use runtime::wire::{ApiCompat, FreeformDeclaration, IntegerSpelling};
use runtime::{
    ApplyPatchToolType, Approver, BuildFault, CallLimits, CallObserver, Confinement, ErrorHints, Hook,
    ImageSettings, ModelFamily, RegistryFault, SandboxPolicy, ShellType, ToolHandler, ToolSource, Toolgate,
    ToolgateBuilder, ToolsConfig, WebSearchMode,
};

use crate::absent_tools::AbsentTools;
use crate::configure_builder::{with_approval, with_commands, with_file_access};
use crate::configured_confinement::command_confinement;
use crate::confinement_warnings::{self, WarningPrinter};
use crate::hints;
use crate::mcp_servers;
use crate::required_servers::RequiredServers;
use crate::spill_store::SpillStore;
use crate::staged_changes;
use crate::web_search;
use config::OperationFault;
use config::flags::WorkspaceArgs;
use config::{Config, ToolForms, UserDirs};

/// The API in front of a model, as far as it decides the forms in which tools can be offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFormApi {
    /// OpenAI's own Responses API: custom tools and `local_shell`, if the model takes them.
    OpenAi,
    /// The Responses API of another server, which may know functions only.
    Responses,
    /// An API that has functions only.
    Functions,
}

/// The configured tools and their builder: all that a command needs to answer calls.
pub struct ComposedTools {
    config: Config,
    builder: ToolgateBuilder,
    /// The tools that the model gets, and their forms.
    tools: ToolsConfig,
    /// The hints that answers add to errors.
    hints: ErrorHints,
    /// The forms that the configuration chooses.
    forms: ToolForms,
    cwd: PathBuf,
    dirs: UserDirs,
}

/// Loads the configuration for `place` and composes the tools.
pub fn compose(place: &WorkspaceArgs) -> Result<ComposedTools, OperationFault> {
    compose_with(place, |_| {})
}

/// Composes the tools after `change` has edited the configuration.
pub fn compose_with(
    place: &WorkspaceArgs,
    change: impl FnOnce(&mut Config),
) -> Result<ComposedTools, OperationFault> {
    compose_in_dirs(place, UserDirs::from_env()?, change)
}

/// Composes the tools with the user's own files in `dirs`.
pub fn compose_in_dirs(
    place: &WorkspaceArgs,
    dirs: UserDirs,
    change: impl FnOnce(&mut Config),
) -> Result<ComposedTools, OperationFault> {
    let cwd = working_directory(place)?;
    let mut config = config::load(&cwd, &dirs, place)?;
    change(&mut config);
    let model = config.model.value.clone().unwrap_or_default();
    let (forms, mut family) = (config.tool_forms(&model), ModelFamily::for_model(&model));
    family.sees_images = forms.sees_images.unwrap_or(family.sees_images);
    family.apply_patch = forms.apply_patch.unwrap_or(family.apply_patch);
    let tools = ToolsConfig {
        family,
        shell: forms.shell.unwrap_or(family.shell),
        only: config
            .tools
            .allowed_names()
            .map(|names| names.iter().map(|name| registered_name(name)).collect()),
        without: config.tools.without.iter().map(|name| registered_name(&name.value)).collect(),
        callable: web_search::search_tool_alias(&config).into_iter().collect(),
        web_search: match config.tools.web_search.value {
            config::HostedSearchMode::Off => WebSearchMode::Off,
            config::HostedSearchMode::Cached => WebSearchMode::Cached,
            config::HostedSearchMode::Live => WebSearchMode::Live,
        },
    };
    let mut builder = Toolgate::at(&cwd)
        .with_tools_for(ImageSettings {
            max_side: family.image_side,
            model_accepts_images: family.sees_images,
        })
        .sandbox(match config.sandbox.value {
            config::SandboxMode::ReadOnly => SandboxPolicy::ReadOnly,
            config::SandboxMode::WorkspaceWrite => SandboxPolicy::WorkspaceWrite,
            config::SandboxMode::External => SandboxPolicy::External,
            config::SandboxMode::DangerFullAccess => SandboxPolicy::FullAccess,
        })
        .confinement(command_confinement(&config, &cwd, &dirs))
        .limits(CallLimits {
            output_tokens: config.limits.output_tokens.value,
            call_timeout: Duration::from_millis(config.limits.call_timeout_ms.value),
            parallel: config.limits.parallel.value,
        });
    builder = with_file_access(builder, &config, &dirs)?;
    builder = with_approval(builder, &config, &cwd, &dirs)?;
    if let Some(state) = &dirs.state {
        let spill = Arc::new(Spill::new(state.join("outputs"), &cwd));
        builder = builder
            .edit_records_in(state.join("edits"))
            .overflow_store(Arc::new(SpillStore(Arc::clone(&spill))))
            .spill(spill);
    }
    builder = with_commands(builder, &config.commands)?.observer(Arc::new(WarningPrinter));
    builder = web_search::with_search(builder, &config, &cwd, &command_confinement(&config, &cwd, &dirs))?;
    builder = builder.tool_source(Arc::new(AbsentTools));
    Ok(ComposedTools { config, builder, tools, hints: hints::program_hints(), forms, cwd, dirs })
}

/// Returns a tool's registered name. A person may write it as `server/tool`.
fn registered_name(name: &str) -> String {
    match mcp::by_path(name) {
        // A pattern is not a name: it stays as written, and no part of it is hashed.
        Some((server, tool)) if tool.contains('*') => format!("{}{tool}", mcp::prefix(server)),
        Some((server, tool)) => mcp::alias(server, tool),
        // The Responses API calls this tool with an item type of its own, and offers it under this name.
        None if name == "local_shell_call" => "local_shell".to_owned(),
        None => name.to_owned(),
    }
}

impl ComposedTools {
    /// Replaces the hints that answers add to errors.
    pub fn with_hints(mut self, hints: ErrorHints) -> Self {
        self.hints = hints;
        self
    }

    /// Changes the builder.
    pub(crate) fn map_builder(self, change: impl FnOnce(ToolgateBuilder) -> ToolgateBuilder) -> Self {
        Self { builder: change(self.builder), ..self }
    }

    pub(crate) fn builder(&self) -> &ToolgateBuilder {
        &self.builder
    }

    /// Adds an observer.
    pub fn with_observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        self.builder = self.builder.observer(observer);
        self
    }

    /// Adds a tool.
    pub(crate) fn with_tool<H: ToolHandler>(mut self, handler: H) -> Self {
        self.builder = self.builder.tool(handler);
        self
    }

    /// Adds a source of tools that may appear and disappear.
    pub fn with_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.builder = self.builder.tool_source(source);
        self
    }

    /// Works in `directory` with the configuration of the original directory, so that its restrictions hold there
    /// too. The original directory stays a read root, so that its denied paths stay hidden.
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.builder = self.builder.read_root(&self.cwd).directory(directory);
        self.cwd = directory.to_owned();
        self
    }

    /// Applies the restrictions below `from` to `to` as well, which is a copy of it.
    pub(crate) fn mirror_denials(mut self, from: &Path, to: &Path) -> Self {
        let patterns = self.config.files.deny_read.iter().map(|pattern| Path::new(&pattern.value));
        let there: Vec<String> = patterns
            .filter_map(|pattern| pattern.strip_prefix(from).ok())
            .map(|below| to.join(below).to_string_lossy().into_owned())
            .collect();
        self.builder = there
            .iter()
            .fold(self.builder.mirror_rules(from, to), |builder, pattern| builder.deny_read(pattern));
        self
    }

    /// Lets no rule take a command out of the sandbox.
    pub(crate) fn always_confined(mut self) -> Self {
        self.builder = self.builder.always_confined();
        self
    }

    /// Removes everything that rules allow beyond the sandbox and the approval policy.
    pub(crate) fn without_permissions(mut self) -> Self {
        self.builder = self.builder.without_permissions();
        self
    }

    /// Uses decisions at least as strict as those of `gate`.
    pub(crate) fn inheriting_gate(mut self, gate: runtime::Gate) -> Self {
        self.builder = self.builder.inherit_gate(gate);
        self
    }

    /// Starts processes through a spawner that other sessions share.
    pub fn with_processes(mut self, processes: Arc<runtime::SharedProcesses>) -> Self {
        self.builder = self.builder.processes(processes);
        self
    }

    /// Adds a hook that sees every call.
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.builder = self.builder.hook(hook);
        self
    }

    /// Returns the configured model name, if there is one.
    pub fn model_name(&self) -> Option<&str> {
        self.config.model.value.as_deref()
    }

    /// Returns the configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the directories of the user.
    pub fn dirs(&self) -> &UserDirs {
        &self.dirs
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the sandbox mode as configurations spell it.
    pub fn sandbox_name(&self) -> &'static str {
        match self.config.sandbox.value {
            config::SandboxMode::ReadOnly => "read-only",
            config::SandboxMode::WorkspaceWrite => "workspace-write",
            config::SandboxMode::External => "external",
            config::SandboxMode::DangerFullAccess => "danger-full-access",
        }
    }

    /// Returns the approval policy as configurations spell it.
    pub fn approval_name(&self) -> &'static str {
        match self.config.approval.value {
            config::ApprovalMode::Untrusted => "untrusted",
            config::ApprovalMode::OnFailure => "on-failure",
            config::ApprovalMode::OnRequest => "on-request",
            config::ApprovalMode::Never => "never",
            config::ApprovalMode::Auto => "auto",
            config::ApprovalMode::Disabled => "disabled",
        }
    }

    /// Reports whether a server of this name is configured.
    pub fn has_server(&self, name: &str) -> bool {
        self.config.servers.iter().any(|server| server.value.name == name)
    }

    /// Reports whether the configuration requires a server: then no call may be made without it.
    pub fn requires_server(&self) -> bool {
        self.config.servers.iter().any(|server| server.value.table.is_required())
    }

    /// Starts the configured servers that `wanted` accepts and the required ones, and adds their tools as they appear.
    /// Calls wait for the required servers. Must be called in a runtime.
    pub fn start_servers(
        mut self,
        deps: McpClientDeps,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(Self, Option<Arc<McpServers>>), OperationFault> {
        let enabled = self.config.servers.iter().filter(|server| server.value.table.enabled != Some(false));
        let configured = enabled.map(|server| server.value.name.clone()).collect();
        self.config.servers.retain(|server| wanted(&server.value.name) || server.value.table.is_required());
        // Without any server, the source still answers that there is none.
        let deps = McpClientDeps { configured, hints: self.hints.clone(), ..deps };
        let servers = mcp_servers::start(&self.config, &self.cwd, &self.dirs, deps)?;
        self.builder = self.builder.tool_source(Arc::clone(&servers) as Arc<dyn ToolSource>);
        if self.requires_server() {
            self.builder = self.builder.hook(RequiredServers::started(&servers) as Arc<dyn Hook>);
        }
        Ok((self, Some(servers)))
    }

    /// Returns a function that starts the configured servers, for a command that may not need them.
    pub fn lazy_servers(&self) -> impl Fn() -> Option<Arc<McpServers>> + Send + Sync + 'static {
        let (config, cwd, dirs) = (self.config.clone(), self.cwd.clone(), self.dirs.clone());
        let hints = self.hints.clone();
        move || {
            let observer = mcp_servers::ServerNotices::problems();
            let deps = McpClientDeps { observer, hints: hints.clone(), ..McpClientDeps::default() };
            mcp_servers::start(&config, &cwd, &dirs, deps).ok()
        }
    }

    /// Returns the server whose tool answers web searches, if there is one.
    pub fn search_server(&self) -> Option<&str> {
        self.config.tools.search.as_ref()?.value.server_tool().map(|(server, _)| server)
    }

    /// Sets the approver.
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.builder = self.builder.approver(approver);
        self
    }

    /// Sets whether every refused change of a file is recorded.
    pub fn record_refusals(mut self, recorded: bool) -> Self {
        let mut confinement = Confinement {
            record_denied_writes: recorded,
            ..command_confinement(&self.config, &self.cwd, &self.dirs)
        };
        // A single command has no session, so no path is reserved for files that Toolgate might write later.
        let own = [self.dirs.config.as_ref(), self.dirs.state.as_ref()];
        confinement
            .read_only
            .retain(|path| !own.contains(&Some(path)) || exec::fs::canonicalize(path).is_ok());
        self.builder = self.builder.confinement(confinement);
        self
    }

    /// Builds the sandbox alone, without tools.
    pub fn build_sandbox(self) -> Result<runtime::CommandSandbox, OperationFault> {
        self.warn_of_home();
        self.check_direct()?;
        self.builder.build_sandbox().map_err(|fault| match fault {
            BuildFault::Scratch(_) => {
                OperationFault::unconfined(fault.to_string()).with_hint(hints::SCRATCH_HINT)
            }
            BuildFault::Staged(fault) => staged_changes::staged_fault(&fault),
            other => OperationFault::usage(other.to_string()),
        })
    }

    /// Builds the tool system. Changes that are to be staged get a stage of their own, unless the session has one.
    pub fn build(self) -> Result<Toolgate, OperationFault> {
        self.warn_of_home();
        if self.lacks_stage() {
            return self.with_stage(SessionId::new().as_str(), "calls")?.build();
        }
        let config = self.config;
        self.builder.tools_config(self.tools).hints(self.hints).build().map_err(|fault| match &fault {
            BuildFault::Tools(RegistryFault::NoSuchTool { name, .. }) => {
                let source =
                    config.tools.source_naming(name).map(|source| format!("{source}: ")).unwrap_or_default();
                OperationFault::usage(format!("{source}{fault}"))
            }
            BuildFault::Scratch(_) => OperationFault::usage(fault.to_string()).with_hint(hints::SCRATCH_HINT),
            BuildFault::Staged(fault) => staged_changes::staged_fault(fault),
            other => OperationFault::usage(other.to_string()),
        })
    }

    /// Warns once if the workspace is the user's home directory and commands may write to it.
    fn warn_of_home(&self) {
        let home = std::env::var_os("HOME").and_then(|home| exec::fs::canonicalize(Path::new(&home)).ok());
        let writes = self.config.sandbox.value == config::SandboxMode::WorkspaceWrite;
        if let Some(home) = home.filter(|home| writes && home.starts_with(&self.cwd)) {
            let relation = if home == self.cwd { "is" } else { "contains" };
            confinement_warnings::warn_once(&format!(
                "the workspace {relation} your home directory: commands can change everything in it but start-up files, keys \
                 and the configuration of git and agents; better start in a project's directory",
            ));
        }
    }

    /// Returns the style in which tools are written for the model's API.
    pub fn wire_style(&self) -> ApiCompat {
        let integers = match self.config.integers.value {
            config::IntegerStyle::Keep => IntegerSpelling::Keep,
            config::IntegerStyle::Number => IntegerSpelling::AsNumber,
        };
        let freeform = match self.tools.family.apply_patch {
            ApplyPatchToolType::Freeform => FreeformDeclaration::Custom,
            ApplyPatchToolType::Function => FreeformDeclaration::Function,
        };
        ApiCompat { integers, freeform }
    }

    /// Offers tools in forms that the API in front of the model accepts. A form chosen by the configuration stays.
    pub fn for_api(mut self, api: ToolFormApi) -> Self {
        let family = &mut self.tools.family;
        if api != ToolFormApi::OpenAi && self.forms.apply_patch.is_none() {
            family.apply_patch = ApplyPatchToolType::Function;
        }
        if self.tools.shell == ShellType::Local {
            self.tools.shell = match (api, self.forms.shell) {
                (ToolFormApi::OpenAi, _) | (ToolFormApi::Responses, Some(_)) => ShellType::Local,
                (ToolFormApi::Responses | ToolFormApi::Functions, None) => ShellType::UnifiedExec,
                (ToolFormApi::Functions, Some(_)) => ShellType::Default,
            };
        }
        self
    }
}

/// Returns the working directory as the user spelled it, but absolute.
pub fn working_directory(place: &WorkspaceArgs) -> Result<PathBuf, OperationFault> {
    absolute(place.cwd.as_deref().unwrap_or(Path::new("")))
}

/// Returns a path that the user typed, as spelled but absolute.
pub fn absolute(path: &Path) -> Result<PathBuf, OperationFault> {
    #[expect(clippy::disallowed_methods, reason = "this is the composition root")]
    let here = std::env::current_dir()
        .map_err(|error| OperationFault::usage(format!("the current directory is gone: {error}")))?;
    // Removes `.` and a trailing `/`, so that one directory has one spelling.
    let asked = here.join(path);
    Ok(std::path::absolute(&asked).unwrap_or(asked).components().collect())
}
