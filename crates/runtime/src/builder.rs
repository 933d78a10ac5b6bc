//! Builder of a tool system: directories, patterns, policies and tools, with safe defaults.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{
    CallLimits, CallObserver, OverflowStore, RegistryFault, ToolRegistry, ToolRegistryBuilder, ToolRouter,
    ToolsConfig,
};
use policy::{Confinement, DEFAULT_DENY_READ, DenyReadFault, Gate, SandboxPolicy};
use tool::{AnyTool, ErrorHints, StrictFault, ToolHandler, ToolSource};

use crate::Toolgate;
use crate::resolve_policy::ResolvedPolicy;

/// Builds a [`Toolgate`].
pub struct ToolgateBuilder {
    pub(crate) directory: PathBuf,
    pub(crate) read_roots: Vec<PathBuf>,
    pub(crate) overflow_dirs: Vec<PathBuf>,
    #[cfg(feature = "tools")]
    edit_records: Option<PathBuf>,
    pub(crate) deny_read: Vec<String>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) confinement: Confinement,
    tools: ToolRegistryBuilder,
    #[cfg(feature = "tools")]
    builtin_tools: Option<tools::ImageSettings>,
    #[cfg(feature = "tools")]
    pub(crate) command_setup: crate::command_setup::CommandToolSetup,
    limits: CallLimits,
    hints: ErrorHints,
    observers: BuilderObservers,
    pub(crate) parent_gate: Option<Gate>,
    #[cfg(feature = "tools")]
    pub(crate) staged: Option<crate::StagedSetup>,
    pub(crate) asking: crate::approvals::ApprovalSetup,
}

#[derive(Default)]
struct BuilderObservers {
    observers: Vec<Arc<dyn CallObserver>>,
    overflow_store: Option<Arc<dyn OverflowStore>>,
}

/// The reason why a tool system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildFault {
    /// A working directory or read root does not exist.
    #[error("`{}` cannot be read as a directory: {source}", path.display())]
    NoDirectory {
        /// As it was given.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A path of the confinement does not exist.
    #[error("`{}`, a path of the confinement, cannot be resolved: {source}", path.display())]
    NotThere {
        /// As it was given.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A directory that confined commands cannot write to.
    #[error("`{}` cannot be writable for confined commands: the sandbox itself needs it; name a directory below it", path.display())]
    TooMuch {
        /// Its real path.
        path: PathBuf,
    },
    /// The private scratch directory cannot be created.
    #[error("no private directory could be made for commands: {0}")]
    Scratch(#[source] io::Error),
    /// Deny-read rules below the home cannot be built.
    #[error("the home directory `{}` is not an absolute path in UTF-8, so it cannot be protected; set HOME", path.display())]
    Home {
        /// As the environment gives it.
        path: PathBuf,
    },
    /// A deny-read pattern is invalid.
    #[error(transparent)]
    DenyRead(#[from] DenyReadFault),
    /// The tools conflict.
    #[error(transparent)]
    Tools(#[from] RegistryFault),
    /// A hook cannot be run.
    #[error("{}the hook `{name}` cannot be run: {why}", if from.is_empty() { String::new() } else { format!("{from}: ") })]
    Hook {
        /// Name of the hook.
        name: String,
        /// Its place in the configuration.
        from: String,
        /// The reason.
        why: String,
    },
    /// Changes cannot be staged.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    Staged(#[from] crate::StagedFault),
    /// A built-in tool is marked strict but its schema is not.
    #[error("a tool is marked strict, but its schema is not: {0}")]
    Strict(#[from] StrictFault),
}

impl ToolgateBuilder {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            read_roots: Vec::new(),
            overflow_dirs: Vec::new(),
            #[cfg(feature = "tools")]
            edit_records: None,
            deny_read: DEFAULT_DENY_READ.iter().map(|&pattern| pattern.to_owned()).collect(),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            sandbox: SandboxPolicy::default(),
            confinement: Confinement::default(),
            tools: ToolRegistry::builder(),
            #[cfg(feature = "tools")]
            builtin_tools: None,
            #[cfg(feature = "tools")]
            command_setup: crate::command_setup::CommandToolSetup::default(),
            limits: CallLimits::default(),
            hints: ErrorHints::default(),
            observers: BuilderObservers::default(),
            parent_gate: None,
            #[cfg(feature = "tools")]
            staged: None,
            asking: crate::approvals::ApprovalSetup::default(),
        }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<H: ToolHandler>(mut self, handler: H) -> Self {
        self.tools = self.tools.tool(handler);
        self
    }

    /// Adds a foreign tool. Every other tool of the same name takes precedence over it.
    #[must_use]
    pub fn foreign_tool(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.tools = self.tools.foreign(tool);
        self
    }

    /// Adds a source of tools that come and go, such as MCP servers.
    #[must_use]
    pub fn tool_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.tools = self.tools.source(source);
        self
    }

    /// Adds the built-in tools.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn with_tools(self) -> Self {
        self.with_tools_for(tools::ImageSettings::default())
    }

    /// Adds the built-in tools, with image settings for the model in use.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn with_tools_for(mut self, image_settings: tools::ImageSettings) -> Self {
        self.builtin_tools = Some(image_settings);
        self
    }

    /// Lets tools read below `directory` too.
    #[must_use]
    pub fn read_root(mut self, directory: impl Into<PathBuf>) -> Self {
        self.read_roots.push(directory.into());
        self
    }

    /// Lets tools read below `directory` too, as soon as it exists: for the files that
    /// [`overflow_store`](Self::overflow_store) writes.
    #[must_use]
    pub fn read_kept_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.overflow_dirs.push(directory.into());
        self
    }

    /// Sets the directory for edit records, instead of one below the home. The next edit repairs an edit that was
    /// interrupted half-way.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn edit_records_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.edit_records = Some(directory.into());
        self
    }

    /// Adds a deny-read pattern.
    #[must_use]
    pub fn deny_read(mut self, pattern: impl Into<String>) -> Self {
        self.deny_read.push(pattern.into());
        self
    }

    /// Replaces [`DEFAULT_DENY_READ`] with `patterns`.
    #[must_use]
    pub fn replace_deny_read(mut self, patterns: impl IntoIterator<Item = String>) -> Self {
        self.deny_read = patterns.into_iter().collect();
        self
    }

    /// Sets the sandbox policy, which allows more than reading; read-only if this is not called.
    #[must_use]
    pub fn sandbox(mut self, sandbox: SandboxPolicy) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Confines commands to `confinement`, if the policy confines them. Its paths are resolved to real paths here.
    /// Under workspace-write the working directory is writable too.
    #[must_use]
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Leaves out tools that `config` does not give to its model.
    #[must_use]
    pub fn tools_config(mut self, config: ToolsConfig) -> Self {
        self.tools = self.tools.with_config(config);
        self
    }

    /// Sets the limits of a call.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds hints to the errors in answers. Without it, an answer states only what happened.
    #[must_use]
    pub fn hints(mut self, hints: ErrorHints) -> Self {
        self.hints = hints;
        self
    }

    /// Adds an observer.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        self.observers.observers.push(observer);
        self
    }

    /// Sets the store for output that is too long for the model.
    #[must_use]
    pub fn overflow_store(mut self, store: Arc<dyn OverflowStore>) -> Self {
        self.observers.overflow_store = Some(store);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Inherits the decisions of `gate`, which has the same working directory, and is never more permissive.
    /// Approvals of `gate` are valid here; approvals given here stay here. The tool system of `gate` must live
    /// longer, and this one must use its spawner.
    #[must_use]
    pub fn inherit_gate(mut self, gate: Gate) -> Self {
        self.parent_gate = Some(gate);
        self
    }

    /// Stages all changes in the writable directories: the user's files stay as they are until the changes are
    /// applied. Needs a sandbox policy that confines commands.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn staged(mut self, setup: crate::StagedSetup) -> Self {
        self.staged = Some(setup);
        self
    }

    /// Returns true if changes are staged.
    #[cfg(feature = "tools")]
    pub fn is_staged(&self) -> bool {
        self.staged.is_some()
    }

    /// Builds the tool system.
    #[cfg_attr(not(feature = "tools"), expect(unused_mut, reason = "without tools there are none to add"))]
    pub fn build(mut self) -> Result<Toolgate, BuildFault> {
        #[cfg(feature = "tools")]
        let (spawner, mut known) = (self.command_setup.spawner(), Vec::new());
        #[cfg(feature = "tools")]
        let builtin = self.add_builtin_tools(&mut known)?;
        let resolved = self.resolve_policy(
            #[cfg(feature = "tools")]
            &spawner,
        )?;
        let ResolvedPolicy { gate, working_dir, scratch, .. } = resolved;
        #[cfg(feature = "tools")]
        if let (Some(builtin), Some(scratch)) = (&builtin, &scratch) {
            builtin.commands.sessions.spawner().lend_scratch(scratch);
        }
        #[cfg(feature = "tools")]
        if let Some(staged) = &resolved.staged {
            builtin.iter().for_each(|builtin| staged.watch_processes(&builtin.commands));
            self.observers.observers.push(Arc::clone(staged) as Arc<dyn CallObserver>);
        }
        let registry = self.tools.build()?;
        #[cfg(feature = "tools")]
        let hooks = {
            known.extend(registry.offered_names());
            known.extend(registry.possible_names());
            known.extend(registry.callable_specs().iter().map(|spec| spec.name().to_owned()));
            self.asking.hooks(|hook| hook.prepare(&working_dir.cwd, &known, &spawner))?
        };
        #[cfg(not(feature = "tools"))]
        let hooks = self.asking.hooks();
        let mut router =
            ToolRouter::new(registry, gate, working_dir).with_limits(self.limits).with_hints(self.hints);
        for observer in self.observers.observers {
            router = router.with_observer(observer);
        }
        if let Some(store) = self.observers.overflow_store {
            router = router.with_overflow_store(store);
        }
        let router = hooks.into_iter().fold(self.asking.configure_router(router), ToolRouter::with_hook);
        #[cfg(feature = "tools")]
        let (commands, programs) = builtin.map(|builtin| (builtin.commands, builtin.programs)).unzip();
        Ok(Toolgate {
            #[cfg(feature = "tools")]
            programs: programs.map(|programs| router.with_registry(programs)),
            router,
            scratch,
            #[cfg(feature = "tools")]
            commands,
            #[cfg(feature = "tools")]
            staged: resolved.staged,
        })
    }

    /// Adds the built-in tools, if they are wanted, and their names to `known`.
    #[cfg(feature = "tools")]
    fn add_builtin_tools(&mut self, known: &mut Vec<String>) -> Result<Option<BuiltinTools>, BuildFault> {
        let Some(image_settings) = self.builtin_tools else { return Ok(None) };
        let commands = Arc::new(std::mem::take(&mut self.command_setup).build());
        let home = self.home.as_ref().map(|home| home.join(".local/state/toolgate/edits"));
        let records = self.edit_records.take().or(home);
        let edit_tracker = Arc::new(records.map(tools::EditTracker::with_records_dir).unwrap_or_default());
        let all = tools::builtin_tools(image_settings, &commands, &edit_tracker)?;
        let own = tools::program_tools(&commands, &edit_tracker)?;
        let programs = own.into_iter().fold(ToolRegistry::builder(), ToolRegistryBuilder::erased).build()?;
        known.extend(all.iter().map(|tool| tool.spec().name().to_owned()));
        let registered = std::mem::replace(&mut self.tools, ToolRegistry::builder());
        self.tools = all.into_iter().fold(registered, ToolRegistryBuilder::erased);
        Ok(Some(BuiltinTools { commands, programs }))
    }
}

/// What the built-in tools share.
#[cfg(feature = "tools")]
struct BuiltinTools {
    commands: Arc<tools::CommandRunner>,
    /// The tools for client programs.
    programs: ToolRegistry,
}
