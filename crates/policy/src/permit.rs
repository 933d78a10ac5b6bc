//! Permits: the access that one attempt of one call has. `exec` requires a permit for each operation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host_files::host_file_on;
use crate::machine_lookup::UnknownMachine;
use crate::{
    CommandLine, Confinement, Denial, ExecEffect, Grant, Grants, HostFile, HostFileRole, MachineLookup,
    ReadScope, SandboxPolicy,
};

/// Permits its holder exactly the reads, writes and commands that the call stated and the policy allows.
///
/// Only a [`Gate`](crate::Gate) creates permits. Paths were judged lexically; `exec` judges the resolved path when it
/// opens a file.
///
/// ```compile_fail
/// // Only a gate creates one: there is no constructor, and the fields are private.
/// let forged = toolgate_policy::Permit { reads: Vec::new(), runs: Vec::new() };
/// ```
#[derive(Clone)]
pub struct Permit {
    reads: Vec<PathBuf>,
    writes: Vec<PathBuf>,
    runs: Vec<ExecEffect>,
    read_scope: Arc<ReadScope>,
    sandbox: SandboxPolicy,
    confinement: Arc<Confinement>,
    grants: Grants,
    widenings: usize,
    /// True if an approval for the session covers it, without which a person would have been asked.
    from_earlier_yes: bool,
    machine: Arc<dyn MachineLookup>,
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, writes, sandbox, grants, widenings, .. } = self;
        let runs: Vec<&CommandLine> = self.runs.iter().map(ExecEffect::line).collect();
        write!(
            f,
            "Permit({sandbox:?}, reads {reads:?}, writes {writes:?}, runs {runs:?}, {grants:?}, {widenings})"
        )
    }
}

impl Permit {
    pub(crate) fn new(
        reads: Vec<PathBuf>,
        writes: Vec<PathBuf>,
        runs: Vec<ExecEffect>,
        read_scope: Arc<ReadScope>,
        sandbox: SandboxPolicy,
        confinement: Arc<Confinement>,
    ) -> Self {
        let (grants, machine) = (Grants::new(), Arc::new(UnknownMachine));
        Self {
            reads,
            writes,
            runs,
            read_scope,
            sandbox,
            confinement,
            grants,
            widenings: 0,
            from_earlier_yes: false,
            machine,
        }
    }

    /// Sets the machine on which files named by git's configuration are looked up.
    pub(crate) fn with_machine(mut self, machine: Arc<dyn MachineLookup>) -> Self {
        self.machine = machine;
        self
    }

    /// Sets the grants beyond the policy, and the number of times more was asked for.
    pub(crate) fn with_grants(mut self, grants: Grants, widenings: usize) -> Self {
        (self.grants, self.widenings) = (grants, widenings);
        self
    }

    pub(crate) fn with_earlier_yes(mut self, from_earlier_yes: bool) -> Self {
        self.from_earlier_yes = from_earlier_yes;
        self
    }

    /// Returns true if an earlier yes of the session covers it, without which a person would have been asked.
    pub fn is_from_earlier_yes(&self) -> bool {
        self.from_earlier_yes
    }

    /// Returns the grants beyond the policy.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns the number of times more was asked for.
    pub(crate) fn widenings(&self) -> usize {
        self.widenings
    }

    /// Returns the readable part of the file system.
    pub fn read_scope(&self) -> &Arc<ReadScope> {
        &self.read_scope
    }

    /// Returns the sandbox policy of the permit.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.sandbox
    }

    /// Returns the confinement of commands; `None` if the policy does not confine them.
    pub fn confinement(&self) -> Option<&Arc<Confinement>> {
        self.sandbox.confines().then_some(&self.confinement)
    }

    /// Checks that this call may read `path`: it was stated, it is below a root, and no rule denies it.
    pub fn may_read(&self, path: &Path) -> Result<(), Denial> {
        if !self.reads.iter().any(|stated| path.starts_with(stated)) {
            return Err(Denial::NotStated { path: path.to_owned() });
        }
        self.read_scope.check_read(path)
    }

    /// Checks that this call may write `path`: it was stated.
    pub fn may_write(&self, path: &Path) -> Result<(), Denial> {
        match self.writes.iter().any(|stated| path == stated) {
            true => Ok(()),
            false => Err(Denial::NotStated { path: path.to_owned() }),
        }
    }

    /// Checks that the file at the resolved path `real` may be changed, and so be read: commands may write there, no
    /// deny-read rule covers it, and it is not host configuration unless granted.
    pub fn may_change(&self, real: &Path) -> Result<(), Denial> {
        if let Some(rule) = self.read_scope.deny_read().denying_pattern(real) {
            return Err(Denial::DenyRead { path: real.to_owned(), rule: rule.to_owned() });
        }
        let granted =
            self.grants.iter().any(|grant| matches!(grant, Grant::Write(path) if real.starts_with(path)));
        if let Some(HostFile { role: HostFileRole::Configuration, when }) = self.host_file(real)
            && !granted
        {
            return Err(Denial::HostConfiguration { path: real.to_owned(), when });
        }
        match self.confinement() {
            Some(confinement) if !confinement.may_write(real) => {
                Err(confinement.closed_path_denial(real.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Classifies the file at `real` by its effect on the user's machine.
    pub fn host_file(&self, real: &Path) -> Option<HostFile> {
        let roots = self.confinement.writable.iter().map(PathBuf::as_path).chain(self.read_scope.roots());
        host_file_on(&*self.machine, real, roots, self.confinement.user_homes())
    }

    /// Returns the first command that this call stated.
    pub fn command(&self) -> Result<&ExecEffect, Denial> {
        self.runs.first().ok_or(Denial::NotStatedRun { argv: Vec::new() })
    }

    /// Checks that this call may run `line`: exactly this command was stated and allowed.
    pub fn may_run(&self, line: &CommandLine) -> Result<(), Denial> {
        if self.runs.iter().any(|stated| stated.line() == line) {
            return Ok(());
        }
        Err(Denial::NotStatedRun { argv: line.argv() })
    }
}
