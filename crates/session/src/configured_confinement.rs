//! Converts the configured confinement of commands to the policy's type.

use std::path::Path;

use runtime::{CommandLimits, Confinement, HostRules, MinimumTier, NetworkPolicy, Tier};

use config::{Config, UserDirs};

/// Returns the confinement of commands in `cwd`. Toolgate's own configuration and state stay read-only, even below a
/// writable root.
pub(crate) fn command_confinement(config: &Config, cwd: &Path, dirs: &UserDirs) -> Confinement {
    let mut confinement = to_confinement(&config.confinement);
    let own = [&dirs.config, &dirs.state].into_iter().flatten().cloned();
    let projects = cwd.ancestors().map(|above| above.join(config::PROJECT_FILE));
    confinement.read_only.extend(own.chain(projects.filter(|file| exec::fs::canonicalize(file).is_ok())));
    confinement
}

/// Converts the configured confinement to the policy's type.
pub(crate) fn to_confinement(config: &config::ConfinementSettings) -> Confinement {
    const MB: u64 = 1 << 20;
    let tier = |tier: config::ConfinementTier| match tier {
        config::ConfinementTier::Nothing => Tier::Nothing,
        config::ConfinementTier::Seccomp => Tier::Seccomp,
        config::ConfinementTier::Landlock => Tier::Landlock,
        config::ConfinementTier::Namespaces => Tier::Namespaces,
    };
    Confinement {
        // A writable root that does not exist is dropped, unless a flag names it: then the user gets the error.
        writable: config
            .writable
            .iter()
            .filter(|root| {
                matches!(root.source, config::SettingSource::Flag(_))
                    || exec::fs::canonicalize(&root.value).is_ok()
            })
            .map(|root| root.value.clone())
            .collect(),
        read_only: config.read_only.iter().map(|path| path.value.clone()).collect(),
        network: match config.network.value {
            config::NetworkMode::Off => NetworkPolicy::Off,
            config::NetworkMode::Loopback => NetworkPolicy::Loopback,
            config::NetworkMode::On => NetworkPolicy::On,
        },
        hosts: HostRules {
            allow: config.hosts.iter().map(|host| host.value.clone()).collect(),
            forbid: Vec::new(),
        },
        sockets: config.unix_sockets.iter().map(|name| name.value.clone()).collect(),
        limits: CommandLimits {
            processes: config.processes.value,
            memory: config.memory_mb.value.map(|mb| mb.saturating_mul(MB)),
            file_size: config.file_size_mb.value.map(|mb| mb.saturating_mul(MB)),
            open_files: config.open_files.value,
            scratch: config.tmp_mb.value.map(|mb| mb.saturating_mul(MB)),
            shared_memory: config.shm_mb.value.map(|mb| mb.saturating_mul(MB)),
        },
        strongest_tier: tier(config.tier.value),
        weakest_tier: MinimumTier(tier(config.require.value)),
        ..Confinement::default()
    }
}
