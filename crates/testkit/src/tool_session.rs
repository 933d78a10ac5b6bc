//! A tool router over a test workspace, for calls as a model would make them.

use std::sync::Arc;
use std::time::Duration;

use engine::{CallEvent, CallLimits, CallObserver, ToolRegistry, ToolRouter};
use parking_lot::Mutex;
use policy::{DEFAULT_DENY_READ, DenyRead, Gate, ReadRoot, ReadScope, SandboxPolicy};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tool::{AnyTool, CallId, ToolCall, ToolOutput, WorkingDir};

use crate::TestWorkspace;

/// Runs calls in a workspace, and records the observed events.
pub struct ToolTestSession {
    router: ToolRouter,
    events: Arc<TestEventLog>,
    runtime: Runtime,
}

/// An observer that records all events.
#[derive(Default)]
struct TestEventLog(Mutex<Vec<CallEvent>>);

impl CallObserver for TestEventLog {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        self.0.lock().push(event.clone());
    }
}

impl ToolTestSession {
    /// Creates a session whose tools may read the workspace.
    pub fn new(workspace: &TestWorkspace, tools: Vec<Arc<dyn AnyTool>>) -> Self {
        Self::with_sandbox(SandboxPolicy::ReadOnly, workspace, tools)
    }

    /// Creates a session whose tools may also do what `sandbox` allows.
    pub fn with_sandbox(
        sandbox: SandboxPolicy,
        workspace: &TestWorkspace,
        tools: Vec<Arc<dyn AnyTool>>,
    ) -> Self {
        let root = workspace.path();
        let deny = DenyRead::new(DEFAULT_DENY_READ, None).expect("the defaults are globs");
        let gate = Gate::new(ReadScope::new(vec![ReadRoot::new(&root)], deny), sandbox);
        let registry = tools.into_iter().fold(ToolRegistry::builder(), |builder, tool| builder.erased(tool));
        let registry = registry.build().expect("the tools have different names");
        let events = Arc::new(TestEventLog::default());
        let router = ToolRouter::new(registry, gate, WorkingDir { cwd: root })
            // Tests of tools are not about approvals.
            .with_approver(crate::TestApprover::approving_confined())
            .with_observer(Arc::clone(&events) as Arc<dyn CallObserver>);
        // One runtime for all calls, so that background work continues between them.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { router, events, runtime: runtime.expect("a runtime can be made") }
    }

    /// Sets the limits of a call.
    #[must_use]
    pub fn with_limits(mut self, limits: CallLimits) -> Self {
        self.router = self.router.with_limits(limits);
        self
    }

    /// Runs one call.
    pub fn call(&self, name: &str, arguments: &Value) -> ToolOutput {
        let call = ToolCall::function("call", name, arguments.to_string());
        self.runtime.block_on(self.router.dispatch(call, CancellationToken::new()))
    }

    /// Runs one call and cancels it after the duration `after`.
    pub fn call_and_cancel(&self, name: &str, arguments: &Value, after: Duration) -> ToolOutput {
        let call = ToolCall::function("call", name, arguments.to_string());
        let cancel = CancellationToken::new();
        let answer = self.router.dispatch(call, cancel.clone());
        self.runtime.block_on(async {
            tokio::pin!(answer);
            tokio::select! {
                output = &mut answer => return output,
                () = tokio::time::sleep(after) => cancel.cancel(),
            }
            answer.await
        })
    }

    /// Returns the events observed so far.
    pub fn events(&self) -> Vec<CallEvent> {
        self.events.0.lock().clone()
    }
}
