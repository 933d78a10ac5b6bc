//! The sandbox of commands: what they may write, reach and read, what the kernel enforces, and the sandbox alone.
//!
//! [`SandboxPolicy`] is the mode, [`Confinement`] the details: writable directories, hosts, limits, and the weakest
//! [`Tier`] that is accepted. If the machine cannot enforce that tier, no command runs. Each answer says what was
//! enforced, as an [`Enforcement`].
//!
//! [`CommandSandbox`] is the sandbox without tools, for commands that your program chooses:
//!
//! ```
//! use toolgate::Toolgate;
//! use toolgate::sandbox::{Enforcement, SandboxCommand, SandboxPolicy};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let sandbox = Toolgate::at(directory.path()).sandbox(SandboxPolicy::WorkspaceWrite).build_sandbox()?;
//! let output = sandbox.run_to_end(&SandboxCommand::new(["touch", "here", "/etc/there"])).await?;
//! assert!(directory.path().join("here").exists());
//! assert!(String::from_utf8_lossy(&output.stderr).contains("/etc/there"));
//! assert!(!matches!(output.enforcement, Enforcement::None { .. }));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "mcp")]
pub use runtime::ConfinedServerProgram;
pub use runtime::{
    CommandLimits, Confinement, ConnectStep, DEFAULT_DENY_READ, DenyRead, DenyReadFault, Enforcement,
    EnforcementGap, EnvironmentFault, EnvironmentPolicy, HostLocality, HostPattern, HostPatternFault,
    HostRules, InheritScope, LOCALHOST, MinimumTier, MissingTier, NetworkPolicy, PrivateDirectory, ReadRoot,
    ReadScope, ResourceExcess, SandboxPolicy, Tier, UnenforcedReason, UnreachableHost, WeakerEnforcement,
    is_inside_configuration,
};
#[cfg(feature = "tools")]
pub use runtime::{
    CommandSandbox, ConfinedCommand, ConfinementReport, InstalledShell, MachineSupport, OneShotFault,
    OneShotOutput, ProcessExit, ProcessSession, Pump, SandboxCommand, SandboxFault, SetupFix,
    SharedProcesses, SpawnFault,
};
