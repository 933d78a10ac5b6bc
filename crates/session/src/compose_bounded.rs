//! Composition of tools that act in one directory only, for `replay`.

use config::flags::WorkspaceArgs;
use config::{NetworkMode, OperationFault, SandboxMode};

use crate::compose::{ComposedTools, compose_with};

/// Composes the tools so that they act only in the directory of `place`, with the user's restrictions and without
/// their permissions: no other directory can be written, no other machine or socket reached, and no hook runs.
pub fn compose_bounded(place: &WorkspaceArgs) -> Result<ComposedTools, OperationFault> {
    let composed = compose_with(place, |config| {
        config.sandbox.value = match config.sandbox.value {
            SandboxMode::ReadOnly => SandboxMode::ReadOnly,
            SandboxMode::WorkspaceWrite | SandboxMode::External | SandboxMode::DangerFullAccess => {
                SandboxMode::WorkspaceWrite
            }
        };
        let confinement = &mut config.confinement;
        confinement.writable.clear();
        confinement.hosts.clear();
        confinement.unix_sockets.clear();
        confinement.network.value = confinement.network.value.min(NetworkMode::Loopback);
        config.hooks.clear();
    })?;
    Ok(composed.without_permissions())
}
