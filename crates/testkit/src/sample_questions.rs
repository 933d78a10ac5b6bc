//! Approval questions for tests: what a gate asks about a given intent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{
    ApprovalPolicy, ApprovalQuestion, Confinement, DenyRead, Gate, Intent, MachineLookup, ReadRoot,
    ReadScope, ResolvedProgram, SandboxPolicy, Verdict,
};

/// A machine on which every program belongs to the system.
struct SystemProgramsMachine;

impl MachineLookup for SystemProgramsMachine {
    fn resolve_program(&self, name: &str, _: &Path, _: bool) -> Option<ResolvedProgram> {
        let name = name.rsplit('/').next().unwrap_or(name);
        Some(ResolvedProgram { path: Path::new("/usr/bin").join(name), trusted: true })
    }

    fn nearest_existing(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn may_write(&self, _: &Path) -> bool {
        true
    }
}

/// Returns a gate for the workspace `/w` under `approval`.
pub fn approval_gate(approval: ApprovalPolicy) -> Gate {
    let reach = ReadScope::new(
        vec![ReadRoot::new("/w")],
        DenyRead::new([""; 0], None).expect("no pattern, so none is wrong"),
    );
    let confinement = Confinement { writable: vec!["/w".into()], ..Confinement::default() };
    let gate = Gate::new(reach, SandboxPolicy::WorkspaceWrite).with_confinement(confinement);
    gate.with_approval(approval).with_machine(Arc::new(SystemProgramsMachine))
}

/// Returns the intent to run `script` with bash in `/w`.
pub fn script_intent(script: &str) -> Intent {
    let argv = ["/bin/bash", "-lc", script].map(str::to_owned).to_vec();
    Intent::run(argv, Path::new("/w"))
}

/// Returns the question that `intent` raises under `approval`. Panics if there is none.
pub fn question_for(approval: ApprovalPolicy, intent: &Intent) -> Box<ApprovalQuestion> {
    match approval_gate(approval).decide("shell_command", intent) {
        Verdict::Ask(question) => question,
        other => panic!("{other:?}"),
    }
}
