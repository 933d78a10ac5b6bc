//! Tests `apply_patch` as a model calls it: through the router, with a real gate and real files.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and look at real files"
)]

mod approval;
mod cancelled;
mod patch_formats;
mod protected_paths;
mod rejected_patches;
mod stale_files;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{CallEvent, CallObserver, ToolRegistry, ToolRouter};
use exec::this_machine::ThisMachine;
use parking_lot::Mutex;
use policy::rules::{RuleLayer, RuleSet};
use policy::{
    ApprovalPolicy, ApprovalQuestion, Confinement, DEFAULT_DENY_READ, DenyRead, Gate, Grant, Grants,
    ReadRoot, ReadScope, ReviewDecision, SandboxPolicy,
};
use serde_json::Value;
use testkit::{TestApprover, TestWorkspace};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tool::{CallId, ToolCall, ToolNotice, ToolOutput, ToolPayload, WorkingDir};
use toolgate_tools::{EditTracker, ImageSettings};

/// A workspace with a router for its tools.
struct PatchWorkspace {
    w: TestWorkspace,
    router: ToolRouter,
    approver: Arc<TestApprover>,
    events: Arc<PatchEventLog>,
    runtime: Runtime,
}

/// Records the events that observers get.
#[derive(Default)]
struct PatchEventLog(Mutex<Vec<CallEvent>>);

impl CallObserver for PatchEventLog {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        self.0.lock().push(event.clone());
    }
}

impl PatchWorkspace {
    /// Files in the workspace may be changed; the approver says no.
    fn new() -> Self {
        Self::with(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::OnRequest, "", no)
    }

    fn asking(answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static) -> Self {
        Self::with(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::OnRequest, "", answer)
    }

    fn with(
        sandbox: SandboxPolicy,
        approval: ApprovalPolicy,
        rules: &str,
        answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static,
    ) -> Self {
        let w = TestWorkspace::new();
        let root = w.path();
        let deny = DenyRead::new(DEFAULT_DENY_READ, None).unwrap();
        let writable = match sandbox {
            SandboxPolicy::WorkspaceWrite => vec![root.clone()],
            _ => Vec::new(),
        };
        let rules = rules.replace("WORK", root.to_str().unwrap());
        let gate = Gate::new(ReadScope::new(vec![ReadRoot::new(&root)], deny), sandbox)
            .with_confinement(Confinement { writable, ..Confinement::default() })
            .with_machine(Arc::new(ThisMachine::new("/usr/bin", vec![root.clone()])))
            .with_approval(approval)
            .with_rules(RuleSet::parse(&rules, "/rules.toml".as_ref(), RuleLayer::User).unwrap());
        let edits = Arc::new(EditTracker::with_records_dir(w.outside_dir().join("../records")));
        let tools = toolgate_tools::builtin_tools(ImageSettings::default(), &Arc::default(), &edits).unwrap();
        let registry = tools.into_iter().fold(ToolRegistry::builder(), |all, tool| all.erased(tool));
        let (approver, events) = (TestApprover::new(answer), Arc::new(PatchEventLog::default()));
        let router = ToolRouter::new(registry.build().unwrap(), gate, WorkingDir { cwd: root })
            .with_approver(approver.clone())
            .with_observer(Arc::clone(&events) as Arc<dyn CallObserver>);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { w, router, approver, events, runtime: runtime.unwrap() }
    }

    /// Applies a patch that is sent as it is.
    fn patch(&self, text: &str) -> ToolOutput {
        self.dispatch("apply_patch", ToolPayload::Custom { input: text.to_owned() })
    }

    /// Applies an envelope with these lines.
    fn envelope(&self, lines: &str) -> ToolOutput {
        self.patch(&envelope(lines))
    }

    fn call(&self, name: &str, arguments: &Value) -> ToolOutput {
        self.dispatch(name, ToolPayload::Function { arguments: arguments.to_string() })
    }

    fn dispatch(&self, name: &str, payload: ToolPayload) -> ToolOutput {
        let call = ToolCall { id: "call".into(), name: name.to_owned(), payload };
        self.runtime.block_on(self.router.dispatch(call, CancellationToken::new()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.w.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|fault| format!("({name}: {fault})"))
    }

    fn normalized_text(&self, answer: &ToolOutput) -> String {
        self.w.normalize(&answer.joined_text())
    }

    /// Returns the grants that each question asked for.
    fn asked(&self) -> Vec<Grants> {
        self.approver.take_questions().into_iter().map(|question| question.grants).collect()
    }

    /// Returns the changed files that observers were notified of.
    fn changes(&self) -> Vec<String> {
        let events = self.events.0.lock();
        let changed = |event: &CallEvent| match event {
            CallEvent::Notice(ToolNotice::FileChanged { kind, path }) => Some(format!("{kind} {path}")),
            _ => None,
        };
        events.iter().filter_map(changed).collect()
    }

    /// Returns every file below the workspace with its bytes, hidden ones included.
    fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut found, mut directories) = (Vec::new(), vec![self.w.path()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                match fs::symlink_metadata(&path).unwrap() {
                    there if there.is_dir() => directories.push(path),
                    there if there.is_file() => found.push((path.clone(), fs::read(&path).unwrap())),
                    _ => found.push((path, Vec::new())),
                }
            }
        }
        found.sort();
        found
    }
}

fn envelope(lines: &str) -> String {
    format!("*** Begin Patch\n{}\n*** End Patch\n", lines.trim_end())
}

fn yes(_: &ApprovalQuestion) -> ReviewDecision {
    ReviewDecision::Approved
}

fn no(_: &ApprovalQuestion) -> ReviewDecision {
    ReviewDecision::Denied { note: None }
}

fn writes<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Grants {
    paths.into_iter().map(|path| Grant::Write(path.into())).collect()
}
