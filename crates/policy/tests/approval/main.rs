//! Tests the approval of commands: their classes, the effects of rules, and the questions after a denial.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command_classes;
mod rule_effects;
mod widening;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolgate_policy::{
    ApprovalPolicy, Confinement, DenyRead, Gate, Intent, MachineLookup, ReadRoot, ReadScope, ResolvedProgram,
    SandboxPolicy, Verdict,
};

/// A machine on which every program belongs to the system, except those in the workspace.
struct TrustedMachine;

impl MachineLookup for TrustedMachine {
    fn resolve_program(&self, name: &str, cwd: &Path, _: bool) -> Option<ResolvedProgram> {
        let path = match name.contains('/') {
            true => cwd.join(name),
            false => PathBuf::from("/usr/bin").join(name),
        };
        let system = ["/usr/bin", "/bin"].iter().any(|place| path.starts_with(place));
        Some(ResolvedProgram { path, trusted: system })
    }

    fn nearest_existing(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn may_write(&self, path: &Path) -> bool {
        !path.starts_with("/usr")
    }
}

fn gate(approval: ApprovalPolicy, sandbox: SandboxPolicy) -> Gate {
    let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
    let confinement =
        Confinement { writable: vec!["/w".into()], home: Some("/home/me".into()), ..Confinement::default() };
    Gate::new(reach, sandbox)
        .with_confinement(confinement)
        .with_approval(approval)
        .with_machine(Arc::new(TrustedMachine))
}

fn script(script: &str) -> Intent {
    let argv = ["/bin/bash", "-lc", script].map(str::to_owned).to_vec();
    Intent::run(argv, Path::new("/w"))
}

/// Returns `allow`, `ask` or `forbid`.
fn says(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow(_) => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Forbid(_) => "forbid",
    }
}
