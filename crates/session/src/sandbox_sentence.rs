//! One sentence for a model about the sandbox of a session: what commands may change, and which network they have.

use config::{NetworkMode, SandboxMode};

use crate::compose::ComposedTools;

impl ComposedTools {
    /// Describes the sandbox in one sentence, which stays the same for the whole session.
    pub fn sandbox_sentence(&self) -> String {
        let config = self.config();
        let hosts: Vec<String> =
            config.confinement.hosts.iter().map(|host| format!("`{}`", host.value)).collect();
        sandbox_sentence(config.sandbox.value, config.confinement.network.value, &hosts)
    }
}

fn sandbox_sentence(mode: SandboxMode, network: NetworkMode, hosts: &[String]) -> String {
    let changes = match mode {
        SandboxMode::ReadOnly => "commands may read files, and change them only after an approval",
        SandboxMode::WorkspaceWrite => "commands may change files in the workspace",
        SandboxMode::External | SandboxMode::DangerFullAccess => {
            return "Commands run without a sandbox of this server.".to_owned();
        }
    };
    let network = match (network, hosts) {
        (NetworkMode::On, _) => "every host".to_owned(),
        (NetworkMode::Off, []) => "none".to_owned(),
        (NetworkMode::Loopback, []) => "their own loopback".to_owned(),
        (NetworkMode::Off, hosts) => hosts.join(", "),
        (NetworkMode::Loopback, hosts) => format!("their own loopback, {}", hosts.join(", ")),
    };
    format!("The sandbox is this server's, not the client's: {changes}; network: {network}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_what_commands_may_do() {
        let hosts = ["`crates.io`".to_owned()];
        let rows = [
            (SandboxMode::ReadOnly, NetworkMode::Off, &[][..]),
            (SandboxMode::ReadOnly, NetworkMode::Off, &hosts[..]),
            (SandboxMode::WorkspaceWrite, NetworkMode::Loopback, &[]),
            (SandboxMode::WorkspaceWrite, NetworkMode::Loopback, &hosts),
            (SandboxMode::WorkspaceWrite, NetworkMode::On, &hosts),
            (SandboxMode::DangerFullAccess, NetworkMode::Off, &[]),
            (SandboxMode::External, NetworkMode::Off, &[]),
        ];
        let said = rows.map(|(mode, network, hosts)| sandbox_sentence(mode, network, hosts));
        insta::assert_snapshot!(said.join("\n"), @"
        The sandbox is this server's, not the client's: commands may read files, and change them only after an approval; network: none.
        The sandbox is this server's, not the client's: commands may read files, and change them only after an approval; network: `crates.io`.
        The sandbox is this server's, not the client's: commands may change files in the workspace; network: their own loopback.
        The sandbox is this server's, not the client's: commands may change files in the workspace; network: their own loopback, `crates.io`.
        The sandbox is this server's, not the client's: commands may change files in the workspace; network: every host.
        Commands run without a sandbox of this server.
        Commands run without a sandbox of this server.
        ");
    }
}
