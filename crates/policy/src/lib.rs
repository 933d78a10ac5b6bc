//! Decides what a tool call may do. A tool states an [`Intent`], and the [`Gate`] turns it into a [`Verdict`]. Only an
//! allowing verdict holds a [`Permit`], which `exec` requires.
//!
//! Everything here is a value or a pure function over values: this crate performs no I/O.

mod account;
mod approval;
mod credentials;
mod decide;
mod denial;
mod deny;
mod download;
mod embedded;
mod endless;
mod enforcement;
mod environment;
mod expand;
mod fed;
mod glob;
mod grant;
mod home_names;
mod host;
mod host_files;
mod host_names;
mod intent;
mod interpreter;
mod judge;
mod known;
mod letters;
mod lookup;
mod machine;
mod moved;
mod path;
mod permit;
mod propose;
mod question;
mod reach;
pub mod rules;
mod sandbox;
pub mod shell;
mod spelled;
mod started;
mod store;
mod together;
mod touches;

pub use account::{CommandAnalysis, ClassifiedCommand, AppliedRule, is_read_only_command};
pub use approval::{ApprovalPolicy, ApprovalCase, ApprovalRequirement, approval_requirement};
pub use credentials::looks_like_secret_name as is_secret_name;
pub use decide::{Gate, MAX_CLIMBS, ReviewOutcome, Verdict};
pub use denial::{Denial, ResourceExcess, NotAskedReason};
pub use deny::{DEFAULT_DENY_READ, DenyRead, DenyReadFault};
pub use enforcement::{Enforcement, EnforcementGap, MissingTier, UnenforcedReason};
pub use environment::{EnvironmentPolicy, EnvironmentFault, InheritScope, imposed_variables};
pub use glob::{glob_fault, count_wildcards};
pub use grant::{Grant, Grants};
pub use home_names::{HOME_CONFIGURATION, HOME_LISTED};
pub use host::{HostPattern, HostPatternFault, HostRules, is_public_address};
pub use host_files::{HostFile, HostFileRole, MissingConfigAction, host_file_by_name};
pub use host_names::{HOST_CONFIGURATION, NESTED_CONFIGURATION};
pub use intent::{CommandLine, Effect, Escalation, ForeignToolCall, Intent, MemoryNote, ToolTrust, ProgramInput};
pub use known::{CommandRisk, dangerous_variable, is_interpreter, classify_command, classify_words, rule_prefix};
pub use letters::is_invisible;
pub use machine::{MachineLookup, ResolvedProgram};
pub use path::{ModelPathFault, normalize_path, resolve_path};
pub use permit::Permit;
pub use question::{ApprovalReason, RuleProposal, ApprovalQuestion, ReviewDecision};
pub use reach::{ReadScope, ReadRoot};
pub use rules::{RuleDecision, RuleLayer, MatchedRule, MatchedRules, RuleSubject, PolicyRule, RuleFault, RuleSet};
pub use sandbox::{
    MinimumTier, Confinement, ResourceLimits, NetworkPolicy, ClosedPath, SandboxPolicy, Tier, is_inside_configuration,
};
pub use store::{ApprovalStore, ApprovalKey};
pub use touches::EffectSummary;
