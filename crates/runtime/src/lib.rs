//! The tool runtime: a set of tools in a working directory, ready to answer calls.
//!
//! Programs use it through the façade `toolgate`.

mod approvals;
mod builder;
#[cfg(feature = "tools")]
mod command_sandbox;
#[cfg(feature = "tools")]
mod command_setup;
#[cfg(feature = "mcp")]
mod confined_server;
#[cfg(feature = "tools")]
mod hooks;
#[cfg(feature = "tools")]
mod internal_command;
mod resolve_policy;
#[cfg(feature = "tools")]
mod staged;
#[cfg(feature = "tools")]
mod turn;

use std::sync::atomic::{AtomicU64, Ordering};

pub use builder::{BuildFault, ToolgateBuilder};
#[cfg(feature = "tools")]
pub use command_sandbox::{CommandSandbox, ConfinedCommand, SandboxCommand, SandboxFault};
#[cfg(feature = "mcp")]
pub use confined_server::ConfinedServerProgram;
pub use engine::{
    AnsweredCall, ApplyPatchToolType, Approver, CallEvent, CallLimits, CallObserver, DuplicateCall, Hook,
    HookDecision, HookResponse, ModelFamily, OverflowStore, PlannedCall, RegistryFault, Rulebook,
    SharedCancelCause, ShellType, ToolCallRuntime, ToolMetrics, ToolRegistry, ToolRouter, ToolStats,
    ToolsConfig, WebSearchMode,
};
/// File access: a tool opens files here with its permit.
pub use exec::fs;
#[cfg(feature = "tools")]
pub use exec::{
    process::{ConfinementReport, SpawnFault},
    run_to_end::{OneShotFault, OneShotOutput},
    sandbox::{MachineSupport, SetupFix},
    session::{ProcessExit, ProcessSession, Pump, SharedProcesses},
    shell::InstalledShell,
    spill::Spill,
};
#[cfg(feature = "tools")]
pub use hooks::{CommandHook, HookFailurePolicy, HookMoment};
#[cfg(feature = "tools")]
pub use internal_command::InternalCommand;
/// MCP client and server.
#[cfg(feature = "mcp")]
pub use mcp;
/// The edit engine: applies patches as models write them, all or nothing.
#[cfg(feature = "tools")]
pub use patch;
pub use policy::{
    AddressClass, ApprovalPolicy, ApprovalQuestion, ApprovalReason, ClassifiedCommand, CommandAnalysis,
    CommandLine, CommandRisk, Confinement, ConnectStep, DEFAULT_DENY_READ, Denial, DenyRead, DenyReadFault,
    Effect, EffectSummary, Enforcement, EnforcementGap, EnvironmentFault, EnvironmentPolicy, Escalation,
    ExecEffect, Gate, Grant, Grants, HostLocality, HostPattern, HostPatternFault, HostRules, InheritScope,
    Intent, LOCALHOST, LOCALHOST_SPELLINGS, MachineLookup, MinimumTier, MissingTier, NetworkPolicy,
    NotAskedReason, Permit, PlainHttp, PrivateDirectory, ReadRoot, ReadScope, ResourceExcess,
    ResourceLimits as CommandLimits, ReviewDecision, RuleProposal, SandboxPolicy, Tier, UnenforcedReason,
    UnreachableHost, Verdict, WeakerEnforcement, host_file_by_name, is_inside_configuration, is_invisible,
    is_secret_name, rules, shell,
};
pub use serde_json::{Value, json};
#[cfg(feature = "tools")]
pub use staged::{StagedFault, StagedSetup, StagedWorkspace};
pub use tokio_util::sync::CancellationToken;
pub use tool::{
    AnyTool, Args, BYTES_PER_TOKEN, BadArguments, BoxFuture, CallAttempt, CallId, CancelCause, Cx,
    ErrorHints, ForeignBackend, ForeignToolSpec, FreeformArgs, FreeformLanguage, FreeformSpec, FunctionSpec,
    HALT_GRACE, HaltReason, JsonSchema, JsonType, Lane, LocalShellCall, NoticeListener, OmittedSize,
    OutputFacts, OutputImage, OutputItem, OutputStream, PlanStep, ProcessUsage, RequiredCapability,
    SchemaFault, SchemaViolation, ShellForm, StepStatus, StopFlag, StrictFault, StrictMode, TakenOverCall,
    TextGrammar, ToolCall, ToolError, ToolErrorKind, ToolHandler, ToolJob, ToolNotice, ToolOutput,
    ToolOutputFuture, ToolPayload, ToolSource, ToolSpec, WorkingDir, erase, replace_lone_surrogates,
    truncate_middle,
};
#[cfg(feature = "tools")]
pub use tools::{COMMANDS_REFUSED, DEFAULT_SESSIONS, ImageSettings};
#[cfg(feature = "tools")]
pub use turn::{TurnDiff, TurnDiffTracker};
#[cfg(feature = "wire")]
pub use wire;

/// The beginning of the id of a call that no model made: [`Toolgate::call`].
pub const DIRECT_CALL_PREFIX: &str = "direct-";

impl std::fmt::Debug for Toolgate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let directory = &self.router.working_dir().cwd;
        f.debug_struct("Toolgate").field("directory", directory).finish_non_exhaustive()
    }
}

/// A set of tools in a working directory, ready to answer calls.
#[derive(Clone)]
pub struct Toolgate {
    router: ToolRouter,
    /// Removed with the last clone.
    #[cfg_attr(not(feature = "tools"), expect(dead_code, reason = "held until the last clone is dropped"))]
    scratch: Option<std::sync::Arc<exec::sandbox::Scratch>>,
    #[cfg(feature = "tools")]
    commands: Option<std::sync::Arc<tools::CommandRunner>>,
    /// Router of the tools for client programs.
    #[cfg(feature = "tools")]
    programs: Option<ToolRouter>,
    /// The staged changes, if changes are staged.
    #[cfg(feature = "tools")]
    staged: Option<std::sync::Arc<StagedWorkspace>>,
}

impl Toolgate {
    /// Starts a builder for a tool system that works in `directory` and can read below it.
    pub fn at(directory: impl Into<std::path::PathBuf>) -> ToolgateBuilder {
        ToolgateBuilder::new(directory.into())
    }

    /// Starts tracking the file changes of turns below the working directory.
    #[cfg(feature = "tools")]
    pub fn track_turns(&self) -> TurnDiffTracker {
        TurnDiffTracker::start(self.router.gate(), &self.router.working_dir().cwd)
    }

    /// Returns the staged changes, if changes are staged.
    #[cfg(feature = "tools")]
    pub fn staged(&self) -> Option<&std::sync::Arc<StagedWorkspace>> {
        self.staged.as_ref()
    }

    /// Answers one call. Its id, by which observers and approvers know it, is unique in this process.
    pub async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        let id = format!("{DIRECT_CALL_PREFIX}{}", CALLS.fetch_add(1, Ordering::Relaxed));
        let call = ToolCall::function(&id, name, arguments.to_string());
        self.router.dispatch(call, CancellationToken::new()).await
    }

    /// Returns the router, for calls that need more than a name and arguments.
    pub fn router(&self) -> &ToolRouter {
        &self.router
    }

    /// Returns a runtime that runs the calls of a turn and returns the answers in order.
    pub fn call_runtime(&self) -> ToolCallRuntime {
        ToolCallRuntime::new(self.router.clone())
    }
}
