//! Builder of a tool system: directories, patterns, policies and tools, with safe defaults.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{
    CallLimits, CallObserver, OverflowStore, RegistryFault, ToolRegistry, ToolRegistryBuilder, ToolRouter,
    ToolsConfig,
};
use exec::sandbox::Scratch;
use exec::this_machine::ThisMachine;
use policy::{
    ClosedPath, Confinement, DEFAULT_DENY_READ, DenyRead, DenyReadFault, Gate, ReadRoot, ReadScope,
    SandboxPolicy,
};
use tool::{AnyTool, ErrorHints, StrictFault, ToolHandler, ToolSource, WorkingDir};

use crate::Toolgate;

/// Builds a [`Toolgate`].
pub struct ToolgateBuilder {
    directory: PathBuf,
    read_roots: Vec<PathBuf>,
    overflow_dirs: Vec<PathBuf>,
    #[cfg(feature = "tools")]
    edit_records: Option<PathBuf>,
    deny_read: Vec<String>,
    home: Option<PathBuf>,
    sandbox: SandboxPolicy,
    confinement: Confinement,
    tools: ToolRegistryBuilder,
    #[cfg(feature = "tools")]
    builtin_tools: Option<tools::ImageSettings>,
    #[cfg(feature = "tools")]
    pub(crate) command_setup: crate::command_setup::CommandToolSetup,
    limits: CallLimits,
    hints: ErrorHints,
    observers: BuilderObservers,
    parent_gate: Option<Gate>,
    #[cfg(feature = "tools")]
    staged: Option<crate::StagedSetup>,
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
        let mut programs = None;
        #[cfg(feature = "tools")]
        let commands = match self.builtin_tools {
            Some(image_settings) => {
                let commands = Arc::new(std::mem::take(&mut self.command_setup).build());
                let home = self.home.as_ref().map(|home| home.join(".local/state/toolgate/edits"));
                let edit_tracker = self
                    .edit_records
                    .take()
                    .or(home)
                    .map(tools::EditTracker::with_records_dir)
                    .unwrap_or_default();
                let edit_tracker = Arc::new(edit_tracker);
                let all = tools::builtin_tools(image_settings, &commands, &edit_tracker)?;
                let own = tools::program_tools(&commands, &edit_tracker)?;
                programs =
                    Some(own.into_iter().fold(ToolRegistry::builder(), ToolRegistryBuilder::erased).build()?);
                known.extend(all.iter().map(|tool| tool.spec().name().to_owned()));
                self.tools = all.into_iter().fold(self.tools, ToolRegistryBuilder::erased);
                Some(commands)
            }
            None => None,
        };
        let resolved = self.resolve_policy(
            #[cfg(feature = "tools")]
            &spawner,
        )?;
        let ResolvedPolicy { gate, working_dir, scratch, .. } = resolved;
        #[cfg(feature = "tools")]
        if let (Some(commands), Some(scratch)) = (&commands, &scratch) {
            commands.sessions.spawner().lend_scratch(scratch);
        }
        #[cfg(feature = "tools")]
        let staged = resolved.staged;
        #[cfg(feature = "tools")]
        if let Some(staged) = &staged {
            commands.iter().for_each(|commands| staged.watch_processes(commands));
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
        Ok(Toolgate {
            #[cfg(feature = "tools")]
            programs: programs.map(|programs| router.with_registry(programs)),
            router,
            scratch,
            #[cfg(feature = "tools")]
            commands,
            #[cfg(feature = "tools")]
            staged,
        })
    }
}

/// The resolved policy: gate, working directory and scratch directory.
pub(crate) struct ResolvedPolicy {
    pub(crate) gate: Gate,
    pub(crate) working_dir: WorkingDir,
    /// The private directory of confined commands.
    pub(crate) scratch: Option<Arc<Scratch>>,
    /// The staged changes, if changes are staged.
    #[cfg(feature = "tools")]
    pub(crate) staged: Option<Arc<crate::StagedWorkspace>>,
}

/// Returns the private `/tmp` and `/var/tmp` in `scratch`, so that tools find the files that commands write there.
fn private_roots(scratch: &Scratch, home: Option<&Path>) -> [ReadRoot; 2] {
    [(scratch.tmp(), "/tmp"), (scratch.var_tmp(), "/var/tmp")].map(|(own, place)| {
        // A home below them is visible to commands too.
        let home = home.filter(|home| *home != Path::new(place)).map(Path::to_owned);
        ReadRoot::new(own).with_spelling(place).unlisted().replacing_host_directory(home)
    })
}

impl ToolgateBuilder {
    /// Resolves the paths that the policy names, and builds the gate.
    pub(crate) fn resolve_policy(
        &self,
        #[cfg(feature = "tools")] spawner: &exec::process::Spawner,
    ) -> Result<ResolvedPolicy, BuildFault> {
        let own = resolve_read_root(&self.directory)?;
        let working_dir = WorkingDir { cwd: own.path().to_owned() };
        if let Some(parent) = &self.parent_gate {
            let gate = parent.for_subagent(self.sandbox, self.asking.approval());
            return Ok(ResolvedPolicy {
                gate,
                working_dir,
                scratch: None,
                #[cfg(feature = "tools")]
                staged: None,
            });
        }
        let mut roots = vec![own];
        for directory in &self.read_roots {
            roots.push(resolve_read_root(directory)?);
        }
        roots.extend(self.overflow_dirs.iter().map(|directory| {
            ReadRoot::new(exec::fs::canonicalize_existing(directory)).with_spelling(directory).unlisted()
        }));
        let home = self.home.as_deref().map(plain_home).transpose()?;
        let home = home.as_deref();
        let account = differing_account_home(home);
        let patterns: Vec<String> =
            self.deny_read.iter().cloned().chain(self.asking.denied_read_patterns()).collect();
        let patterns = with_account_home(patterns, account.as_deref());
        let deny = DenyRead::new(with_real_paths(&patterns, home), home)?;
        let mut confinement = self.confinement.clone();
        confinement.home = home.map(exec::fs::canonicalize_existing);
        confinement.account_home = account.as_deref().map(exec::fs::canonicalize_existing);
        let ruled = self.asking.rule_confinement(home);
        confinement.hosts.allow.extend(ruled.hosts);
        confinement.hosts.forbid.extend(ruled.closed_hosts);
        let mut scratch = None;
        if self.sandbox.confines() {
            confinement.writable = self.writable(&working_dir.cwd)?;
            // These paths need not exist yet.
            let of_rules = ruled.read_only.iter().map(|rule| &rule.path);
            let read_only = self.confinement.read_only.iter().chain(of_rules);
            confinement.read_only = read_only.map(|path| exec::fs::canonicalize_existing(path)).collect();
            let real =
                |rule: ClosedPath| ClosedPath { path: exec::fs::canonicalize_existing(&rule.path), ..rule };
            confinement.path_rules = ruled.read_only.into_iter().map(real).collect();
            #[cfg(feature = "tools")]
            confinement.read_only.extend(
                self.asking.hook_files(&working_dir.cwd).map(|path| exec::fs::canonicalize_existing(&path)),
            );
            let there = ruled.writable.iter().filter_map(|path| exec::fs::canonicalize(path).ok());
            confinement.writable.extend(there.filter(|path| !is_system_directory(path)));
            roots.extend(confinement.writable.iter().map(ReadRoot::new));
            let made = Arc::new(Scratch::new().map_err(BuildFault::Scratch)?);
            roots.extend(private_roots(&made, confinement.home.as_deref()));
            confinement.private_directory = Some(made.path().to_owned());
            scratch = Some(made);
        }
        #[cfg(feature = "tools")]
        let staged = self.open_stage(&working_dir.cwd, &confinement.writable, spawner)?;
        let mut changeable = vec![working_dir.cwd.clone()];
        changeable.extend(confinement.writable.iter().cloned());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let read_scope = ReadScope::new(roots, deny);
        #[cfg(feature = "tools")]
        let read_scope = read_scope.with_view(staged.as_ref().map(|staged| staged.view()));
        let gate = Gate::new(read_scope, self.sandbox)
            .with_confinement(confinement)
            .with_machine(Arc::new(ThisMachine::new(path, changeable).with_home(home.map(Path::to_owned))));
        let gate = self.asking.configure_gate(gate);
        Ok(ResolvedPolicy {
            gate,
            working_dir,
            scratch,
            #[cfg(feature = "tools")]
            staged,
        })
    }

    /// Opens the stage over the writable directories, if changes are staged.
    #[cfg(feature = "tools")]
    fn open_stage(
        &self,
        directory: &Path,
        writable: &[PathBuf],
        spawner: &exec::process::Spawner,
    ) -> Result<Option<Arc<crate::StagedWorkspace>>, BuildFault> {
        let Some(setup) = &self.staged else { return Ok(None) };
        if !self.sandbox.confines() {
            return Err(crate::StagedFault::NotConfined.into());
        }
        Ok(Some(Arc::new(crate::StagedWorkspace::open(setup, directory, writable, spawner)?)))
    }

    fn writable(&self, cwd: &Path) -> Result<Vec<PathBuf>, BuildFault> {
        let mut writable = Vec::new();
        if self.sandbox == SandboxPolicy::WorkspaceWrite {
            writable.push(cwd.to_owned());
        }
        writable.extend(real_paths(&self.confinement.writable)?);
        match writable.iter().find(|path| is_system_directory(path)) {
            Some(path) => Err(BuildFault::TooMuch { path: path.clone() }),
            None => Ok(writable),
        }
    }
}

/// Directories that the confinement itself depends on.
const SYSTEM_DIRECTORIES: &[&str] = &["/", "/dev", "/proc", "/sys", "/run"];

fn is_system_directory(path: &Path) -> bool {
    SYSTEM_DIRECTORIES.contains(&path.to_string_lossy().as_ref())
}

fn real_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, BuildFault> {
    let real = |path: &PathBuf| {
        exec::fs::canonicalize(path).map_err(|source| BuildFault::NotThere { path: path.clone(), source })
    };
    paths.iter().map(real).collect()
}

fn resolve_read_root(directory: &Path) -> Result<ReadRoot, BuildFault> {
    let fault = |source| BuildFault::NoDirectory { path: directory.to_owned(), source };
    // With `/.` appended, only a directory resolves.
    let real = exec::fs::canonicalize(&directory.join(".")).map_err(fault)?;
    let spelled = std::path::absolute(directory).map_err(fault)?;
    Ok(ReadRoot::new(real).with_spelling(spelled))
}

/// Normalises the home: removes `//` and `.`. Fails for a home that is relative, has `..` or is not UTF-8, because no
/// rules can be built from it.
fn plain_home(home: &Path) -> Result<PathBuf, BuildFault> {
    let plain: PathBuf = home.components().collect();
    if plain.to_str().is_none()
        || !plain.is_absolute()
        || plain.components().any(|part| part.as_os_str() == "..")
    {
        return Err(BuildFault::Home { path: home.to_owned() });
    }
    Ok(plain)
}

/// Returns the home of the account, if `home` differs from it. Programs that ask the system find that one, whatever
/// HOME says.
fn differing_account_home(home: Option<&Path>) -> Option<PathBuf> {
    exec::process::account_home().filter(|account| home.is_some_and(|home| home != account))
}

/// Repeats the patterns below `~/` for the home of the account.
fn with_account_home(mut patterns: Vec<String>, account: Option<&Path>) -> Vec<String> {
    let Some(account) = account.and_then(Path::to_str) else { return patterns };
    let own =
        patterns.iter().filter_map(|pattern| Some(format!("{account}/{}", pattern.strip_prefix("~/")?)));
    let own: Vec<String> = own.collect();
    patterns.extend(own);
    patterns
}

/// Adds the real paths of denied paths behind symlinks, because access is checked on real paths.
fn with_real_paths(patterns: &[String], home: Option<&Path>) -> Vec<String> {
    let real = patterns
        .iter()
        .filter_map(|pattern| DenyRead::resolve_pattern(pattern, home, exec::fs::canonicalize_existing));
    patterns.iter().cloned().chain(real).collect()
}
