//! The key to `exec`: what one attempt of one call may touch.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host_files::host_file_on;
use crate::machine::Unknown;
use crate::{Confinement, Denial, Grant, Grants, HostFile, HostRole, Machine, Reach, SandboxPolicy};

/// Lets its holder read and run what the call stated and the policy allows, and nothing else.
///
/// Only a [`Gate`](crate::Gate) makes one. It promises that the paths were judged by their spelling; what a path
/// leads to is judged by `exec` when it is opened.
///
/// ```compile_fail
/// // Nobody else makes one: there is no constructor, and the fields are private.
/// let forged = toolgate_policy::Permit { reads: Vec::new(), runs: Vec::new() };
/// ```
#[derive(Clone)]
pub struct Permit {
    reads: Vec<PathBuf>,
    writes: Vec<PathBuf>,
    runs: Vec<Vec<String>>,
    reach: Arc<Reach>,
    sandbox: SandboxPolicy,
    confinement: Arc<Confinement>,
    grants: Grants,
    climbs: usize,
    machine: Arc<dyn Machine>,
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, writes, runs, sandbox, grants, climbs, .. } = self;
        write!(
            f,
            "Permit({sandbox:?}, reads {reads:?}, writes {writes:?}, runs {runs:?}, {grants:?}, {climbs})"
        )
    }
}

impl Permit {
    pub(crate) fn new(
        reads: Vec<PathBuf>,
        writes: Vec<PathBuf>,
        runs: Vec<Vec<String>>,
        reach: Arc<Reach>,
        sandbox: SandboxPolicy,
        confinement: Arc<Confinement>,
    ) -> Self {
        let (grants, machine) = (Grants::new(), Arc::new(Unknown));
        Self { reads, writes, runs, reach, sandbox, confinement, grants, climbs: 0, machine }
    }

    /// Looks up on `machine` which files git's configuration names.
    pub(crate) fn on(mut self, machine: Arc<dyn Machine>) -> Self {
        self.machine = machine;
        self
    }

    /// Notes what was given beyond the policy, and how often more was asked for.
    pub(crate) fn with(mut self, grants: Grants, climbs: usize) -> Self {
        (self.grants, self.climbs) = (grants, climbs);
        self
    }

    /// What it gives beyond the policy.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// How often more was asked for.
    pub(crate) fn climbs(&self) -> usize {
        self.climbs
    }

    /// How far reading may go at all.
    pub fn reach(&self) -> &Arc<Reach> {
        &self.reach
    }

    /// The policy under which it was given.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.sandbox
    }

    /// What commands are confined to; `None` if the policy does not confine them.
    pub fn confinement(&self) -> Option<&Arc<Confinement>> {
        self.sandbox.confines().then_some(&self.confinement)
    }

    /// Says whether this call may read `path`: it was stated, it lies below a root, no rule denies it.
    pub fn may_read(&self, path: &Path) -> Result<(), Denial> {
        if !self.reads.iter().any(|stated| path.starts_with(stated)) {
            return Err(Denial::NotStated { path: path.to_owned() });
        }
        self.reach.judge(path)
    }

    /// Says whether this call may change `path`: it was stated.
    pub fn may_write(&self, path: &Path) -> Result<(), Denial> {
        match self.writes.iter().any(|stated| path == stated) {
            true => Ok(()),
            false => Err(Denial::NotStated { path: path.to_owned() }),
        }
    }

    /// Says whether a file that really is at `real` may be changed, and so be read: the policy lets commands write there,
    /// no rule denies it to be read, and no program of the user's takes it for its configuration.
    pub fn may_change(&self, real: &Path) -> Result<(), Denial> {
        if let Some(rule) = self.reach.deny().denies(real) {
            return Err(Denial::DenyRead { path: real.to_owned(), rule: rule.to_owned() });
        }
        let granted =
            self.grants.iter().any(|grant| matches!(grant, Grant::Write(path) if real.starts_with(path)));
        if let Some(HostFile { role: HostRole::Configuration, when }) = self.host_file(real)
            && !granted
        {
            return Err(Denial::HostConfiguration { path: real.to_owned(), when });
        }
        match self.confinement() {
            Some(confinement) if !confinement.may_write(real) => Err(confinement.closed(real.to_owned())),
            _ => Ok(()),
        }
    }

    /// The part that the file at `real` plays on the user's machine.
    pub fn host_file(&self, real: &Path) -> Option<HostFile> {
        let roots = self.confinement.writable.iter().map(PathBuf::as_path).chain(self.reach.roots());
        host_file_on(&*self.machine, real, roots, self.confinement.homes())
    }

    /// Says whether this call may start `argv`: exactly that was stated, and allowed.
    pub fn may_run(&self, argv: &[String]) -> Result<(), Denial> {
        if self.runs.iter().any(|stated| stated == argv) {
            return Ok(());
        }
        Err(Denial::NotStatedRun { argv: argv.to_owned() })
    }
}
