//! Decides what a tool call may do.
//!
//! A tool states an [`Intent`], and the [`Gate`] turns it into a [`Verdict`]. Only an allowing verdict holds a
//! [`Permit`], which `exec` requires.
//!
//! Everything here is a value or a pure function over values: this crate performs no I/O.

mod address_class;
mod approval_policy;
mod approval_question;
mod approval_store;
mod combined_dangers;
mod command_analysis;
mod command_line;
mod credentials;
mod dataflow;
mod decide;
mod denial;
mod deny_read;
mod disguised_danger;
mod download_then_run;
mod effect_summary;
mod embedded_code;
mod endless_output;
mod enforcement;
mod environment;
mod evaluate;
mod expand;
mod glob_limits;
mod grant;
mod hidden_writes;
mod home_file_names;
mod host_file_names;
mod host_files;
mod host_locality;
mod host_pattern;
mod intent;
mod interpreter_args;
mod invisible_chars;
mod machine_lookup;
mod model_path;
mod permit;
mod programs;
mod propose_rule;
mod read_scope;
mod risk_in_context;
mod rule_lookup;
pub mod rules;
mod sandbox;
pub mod shell;
mod unreachable_host;
mod url_policy;
mod workspace_view;
mod xargs_pipeline;

pub use address_class::AddressClass;
pub use approval_policy::{ApprovalCase, ApprovalPolicy, ApprovalRequirement, approval_requirement};
pub use approval_question::{ApprovalQuestion, ApprovalReason, ReviewDecision, RuleProposal};
pub use approval_store::{ApprovalKey, ApprovalStore};
pub use command_analysis::{AppliedRule, ClassifiedCommand, CommandAnalysis};
pub use command_line::CommandLine;
pub use credentials::looks_like_secret_name as is_secret_name;
pub use decide::{Gate, MAX_WIDENINGS, ReviewOutcome, Verdict};
pub use denial::{Denial, NotAskedReason, ResourceExcess};
pub use deny_read::{DEFAULT_DENY_READ, DenyRead, DenyReadFault};
pub use effect_summary::EffectSummary;
pub use enforcement::{Enforcement, EnforcementGap, MissingTier, UnenforcedReason, WeakerEnforcement};
pub use environment::{EnvironmentFault, EnvironmentPolicy, InheritScope, imposed_variables};
pub use glob_limits::{count_wildcards, glob_fault};
pub use grant::{Grant, Grants};
pub use home_file_names::{HOME_CONFIGURATION, HOME_LISTED};
pub use host_file_names::{HOST_CONFIGURATION, NESTED_CONFIGURATION};
pub use host_files::{HostFile, HostFileRole, MissingConfigAction, host_file_by_name};
pub use host_locality::{HostLocality, LOCALHOST, LOCALHOST_SPELLINGS, is_internet_name};
pub use host_pattern::{HostPattern, HostPatternFault, HostRules};
pub use intent::{
    Effect, Escalation, ExecEffect, ForeignToolCall, Intent, MemoryNote, ProgramInput, ToolTrust,
};
pub use invisible_chars::is_invisible;
pub use machine_lookup::{MachineLookup, ResolvedProgram};
pub use model_path::{ModelPathFault, normalize_path, resolve_path};
pub use permit::Permit;
pub use programs::{
    CommandRisk, ShellFamily, classify_command, classify_words, dangerous_variable, is_interpreter,
    rule_prefix, runs_script_file, script_file_options,
};
pub use read_scope::{PrivateDirectory, ReadRoot, ReadScope};
pub use rules::{
    MatchedRule, MatchedRules, PolicyRule, RuleDecision, RuleFault, RuleLayer, RuleSet, RuleSubject,
};
pub use sandbox::{
    ClosedPath, Confinement, MinimumTier, NetworkPolicy, ResourceLimits, SandboxPolicy, Tier,
    is_inside_configuration,
};
pub use unreachable_host::{ConnectStep, UnreachableHost};
pub use url_policy::{PlainHttp, UrlParts, UrlRefusal};
pub use workspace_view::{WorkspaceView, innermost_root};
