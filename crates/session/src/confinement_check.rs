//! Checks before any command if this machine can confine commands as the configuration demands.

use config::{Config, SandboxMode};
use runtime::{COMMANDS_REFUSED, CommandSandbox, Tier};

use crate::compose::ComposedTools;
use crate::configured_confinement::to_confinement;
use crate::confinement_warnings::warn_once;
use crate::hints::program_hints;

impl ComposedTools {
    /// Returns the check of [`can_confine`] for these tools.
    pub fn check_confinement(&self) -> impl Future<Output = ()> + Send + 'static {
        let config = self.config().clone();
        async move {
            can_confine(&config).await;
        }
    }
}

/// Returns the weakest tier in which commands run.
pub fn required_tier(config: &Config) -> Tier {
    to_confinement(&config.confinement).weakest_tier.0
}

/// Returns true if this machine can confine commands as `config` demands. Otherwise prints the warning that the first
/// refused command would print.
pub async fn can_confine(config: &Config) -> bool {
    match config.sandbox.value {
        SandboxMode::External | SandboxMode::DangerFullAccess => return true,
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => {}
    }
    let checked = CommandSandbox::check_tiers(&to_confinement(&config.confinement)).await;
    if let Err(fault) = &checked {
        warn_once(&program_hints().explain_in_lines(COMMANDS_REFUSED, fault));
    }
    checked.is_ok()
}
