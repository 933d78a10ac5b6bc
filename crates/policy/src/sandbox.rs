//! How much a call may do beside reading.

/// The policy for everything that is no reading. Confinement will add `workspace-write` and `external`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxPolicy {
    /// Nothing is written, started or connected to.
    #[default]
    ReadOnly,
    /// All of it, as the user and without confinement. What the tools read themselves is still judged.
    FullAccess,
}

impl SandboxPolicy {
    /// Its name, as configurations and flags spell it.
    ///
    /// ```
    /// use toolgate_policy::SandboxPolicy;
    /// assert_eq!(SandboxPolicy::default().as_str(), "read-only");
    /// assert_eq!(SandboxPolicy::FullAccess.as_str(), "danger-full-access");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::FullAccess => "danger-full-access",
        }
    }
}
