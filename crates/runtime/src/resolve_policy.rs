//! Resolves the paths of a policy to real paths, and builds its gate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use exec::sandbox::Scratch;
use exec::this_machine::ThisMachine;
use policy::{ClosedPath, Confinement, DenyRead, Gate, ReadRoot, ReadScope, SandboxPolicy};
use tool::WorkingDir;

use crate::approvals::RuleConfinement;
use crate::{BuildFault, ToolgateBuilder};

/// The resolved policy: gate, working directory and scratch directory.
pub(crate) struct ResolvedPolicy {
    pub(crate) gate: Gate,
    pub(crate) working_dir: WorkingDir,
    /// The private directory of confined commands.
    pub(crate) scratch: Option<Arc<Scratch>>,
    /// The staged changes, if changes are staged.
    #[cfg(feature = "tools")]
    pub(crate) staged: Option<Arc<crate::StagedWorkspace>>,
}

/// Returns the private `/tmp` and `/var/tmp` in `scratch`, so that tools find the files that commands write there.
fn private_roots(scratch: &Scratch, home: Option<&Path>) -> [ReadRoot; 2] {
    [(scratch.tmp(), "/tmp"), (scratch.var_tmp(), "/var/tmp")].map(|(own, place)| {
        // A home below them is visible to commands too.
        let home = home.filter(|home| *home != Path::new(place)).map(Path::to_owned);
        ReadRoot::new(own).with_spelling(place).unlisted().replacing_host_directory(home)
    })
}

impl ToolgateBuilder {
    /// Resolves the paths that the policy names, and builds the gate.
    pub(crate) fn resolve_policy(
        &self,
        #[cfg(feature = "tools")] spawner: &exec::process::Spawner,
    ) -> Result<ResolvedPolicy, BuildFault> {
        let own = resolve_read_root(&self.directory)?;
        let working_dir = WorkingDir { cwd: own.path().to_owned() };
        if let Some(parent) = &self.parent_gate {
            let gate = parent.for_subagent(self.sandbox, self.asking.approval());
            return Ok(ResolvedPolicy {
                gate,
                working_dir,
                scratch: None,
                #[cfg(feature = "tools")]
                staged: None,
            });
        }
        let mut roots = vec![own];
        for directory in &self.read_roots {
            roots.push(resolve_read_root(directory)?);
        }
        roots.extend(self.overflow_dirs.iter().map(|directory| {
            ReadRoot::new(exec::fs::canonicalize_existing(directory)).with_spelling(directory).unlisted()
        }));
        let home = self.home.as_deref().map(plain_home).transpose()?;
        let home = home.as_deref();
        let account = differing_account_home(home);
        let patterns: Vec<String> =
            self.deny_read.iter().cloned().chain(self.asking.denied_read_patterns()).collect();
        let patterns = with_account_home(patterns, account.as_deref());
        let deny = DenyRead::new(with_real_paths(&patterns, home), home)?;
        let mut confinement = self.confinement.clone();
        confinement.home = home.map(exec::fs::canonicalize_existing);
        confinement.account_home = account.as_deref().map(exec::fs::canonicalize_existing);
        let ruled = self.asking.rule_confinement(home);
        confinement.hosts.allow.extend(ruled.hosts.iter().cloned());
        confinement.hosts.forbid.extend(ruled.closed_hosts.iter().cloned());
        let scratch = match self.sandbox.confines() {
            true => Some(self.confine(&mut confinement, ruled, &mut roots, &working_dir.cwd)?),
            false => None,
        };
        #[cfg(feature = "tools")]
        let staged = self.open_stage(&working_dir.cwd, &confinement.writable, spawner)?;
        let mut changeable = vec![working_dir.cwd.clone()];
        changeable.extend(confinement.writable.iter().cloned());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let read_scope = ReadScope::new(roots, deny);
        #[cfg(feature = "tools")]
        let read_scope = read_scope.with_view(staged.as_ref().map(|staged| staged.view()));
        let gate = Gate::new(read_scope, self.sandbox)
            .with_confinement(confinement)
            .with_machine(Arc::new(ThisMachine::new(path, changeable).with_home(home.map(Path::to_owned))));
        let gate = self.asking.configure_gate(gate);
        Ok(ResolvedPolicy {
            gate,
            working_dir,
            scratch,
            #[cfg(feature = "tools")]
            staged,
        })
    }

    /// Fills in the paths of a policy that confines commands, and makes their private directory.
    fn confine(
        &self,
        confinement: &mut Confinement,
        ruled: RuleConfinement,
        roots: &mut Vec<ReadRoot>,
        cwd: &Path,
    ) -> Result<Arc<Scratch>, BuildFault> {
        confinement.writable = self.writable(cwd)?;
        // These paths need not exist yet.
        let of_rules = ruled.read_only.iter().map(|rule| &rule.path);
        let read_only = self.confinement.read_only.iter().chain(of_rules);
        confinement.read_only = read_only.map(|path| exec::fs::canonicalize_existing(path)).collect();
        let real =
            |rule: ClosedPath| ClosedPath { path: exec::fs::canonicalize_existing(&rule.path), ..rule };
        confinement.path_rules = ruled.read_only.into_iter().map(real).collect();
        #[cfg(feature = "tools")]
        confinement
            .read_only
            .extend(self.asking.hook_files(cwd).map(|path| exec::fs::canonicalize_existing(&path)));
        let there = ruled.writable.iter().filter_map(|path| exec::fs::canonicalize(path).ok());
        confinement.writable.extend(there.filter(|path| !is_system_directory(path)));
        roots.extend(confinement.writable.iter().map(ReadRoot::new));
        let made = Arc::new(Scratch::new().map_err(BuildFault::Scratch)?);
        roots.extend(private_roots(&made, confinement.home.as_deref()));
        confinement.private_directory = Some(made.path().to_owned());
        Ok(made)
    }

    /// Opens the stage over the writable directories, if changes are staged.
    #[cfg(feature = "tools")]
    fn open_stage(
        &self,
        directory: &Path,
        writable: &[PathBuf],
        spawner: &exec::process::Spawner,
    ) -> Result<Option<Arc<crate::StagedWorkspace>>, BuildFault> {
        let Some(setup) = &self.staged else { return Ok(None) };
        if !self.sandbox.confines() {
            return Err(crate::StagedFault::NotConfined.into());
        }
        Ok(Some(Arc::new(crate::StagedWorkspace::open(setup, directory, writable, spawner)?)))
    }

    fn writable(&self, cwd: &Path) -> Result<Vec<PathBuf>, BuildFault> {
        let mut writable = Vec::new();
        if self.sandbox == SandboxPolicy::WorkspaceWrite {
            writable.push(cwd.to_owned());
        }
        writable.extend(real_paths(&self.confinement.writable)?);
        match writable.iter().find(|path| is_system_directory(path)) {
            Some(path) => Err(BuildFault::TooMuch { path: path.clone() }),
            None => Ok(writable),
        }
    }
}

/// Directories that the confinement itself depends on.
const SYSTEM_DIRECTORIES: &[&str] = &["/", "/dev", "/proc", "/sys", "/run"];

fn is_system_directory(path: &Path) -> bool {
    SYSTEM_DIRECTORIES.contains(&path.to_string_lossy().as_ref())
}

fn real_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, BuildFault> {
    let real = |path: &PathBuf| {
        exec::fs::canonicalize(path).map_err(|source| BuildFault::NotThere { path: path.clone(), source })
    };
    paths.iter().map(real).collect()
}

fn resolve_read_root(directory: &Path) -> Result<ReadRoot, BuildFault> {
    let fault = |source| BuildFault::NoDirectory { path: directory.to_owned(), source };
    // With `/.` appended, only a directory resolves.
    let real = exec::fs::canonicalize(&directory.join(".")).map_err(fault)?;
    let spelled = std::path::absolute(directory).map_err(fault)?;
    Ok(ReadRoot::new(real).with_spelling(spelled))
}

/// Normalises the home: removes `//` and `.`. Fails for a home that is relative, has `..` or is not UTF-8, because no
/// rules can be built from it.
fn plain_home(home: &Path) -> Result<PathBuf, BuildFault> {
    let plain: PathBuf = home.components().collect();
    if plain.to_str().is_none()
        || !plain.is_absolute()
        || plain.components().any(|part| part.as_os_str() == "..")
    {
        return Err(BuildFault::Home { path: home.to_owned() });
    }
    Ok(plain)
}

/// Returns the home of the account, if `home` differs from it. Programs that ask the system find that one, whatever
/// HOME says.
fn differing_account_home(home: Option<&Path>) -> Option<PathBuf> {
    exec::process::account_home().filter(|account| home.is_some_and(|home| home != account))
}

/// Repeats the patterns below `~/` for the home of the account.
fn with_account_home(mut patterns: Vec<String>, account: Option<&Path>) -> Vec<String> {
    let Some(account) = account.and_then(Path::to_str) else { return patterns };
    let own =
        patterns.iter().filter_map(|pattern| Some(format!("{account}/{}", pattern.strip_prefix("~/")?)));
    let own: Vec<String> = own.collect();
    patterns.extend(own);
    patterns
}

/// Adds the real paths of denied paths behind symlinks, because access is checked on real paths.
fn with_real_paths(patterns: &[String], home: Option<&Path>) -> Vec<String> {
    let real = patterns
        .iter()
        .filter_map(|pattern| DenyRead::resolve_pattern(pattern, home, exec::fs::canonicalize_existing));
    patterns.iter().cloned().chain(real).collect()
}
