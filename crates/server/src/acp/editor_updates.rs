//! Reports the events of a session to the editor while they happen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{SessionEvent, SessionObserver};
use parking_lot::Mutex;
use rpc::Peer;
use runtime::{
    BoxFuture, CallEvent, CallId, CallObserver, Hook, HookResponse, PlannedCall, ToolCall, ToolNotice,
    ToolOutput,
};
use serde_json::Value;

use super::call_view;
use super::live_output::LiveOutputs;
use super::patch_preview::PatchPreview;
use super::protocol::{
    ContentBlock, EditorFileDiff, PlanEntry, SessionUpdate, ToolCallContent, ToolCallKind, ToolCallStatus,
    ToolCallUpdate,
};
use super::update_sender::UpdateSender;

/// Reports the events of one session.
pub(super) struct EditorUpdates {
    sender: UpdateSender,
    cwd: PathBuf,
    /// The context window of the model, in tokens.
    context_window: u64,
    patch_preview: Arc<PatchPreview>,
    calls: Mutex<HashMap<String, ReportedCall>>,
    outputs: LiveOutputs,
}

/// A call that was reported to the editor.
#[derive(Default)]
struct ReportedCall {
    /// The number of calls with this id so far. Some models reuse call ids in every response, but editors
    /// require unique ones.
    id_uses: usize,
    is_open: bool,
    diffs: Vec<EditorFileDiff>,
}

impl EditorUpdates {
    /// Creates the reporter of a session in `cwd` for `peer`. Must be called in a runtime.
    pub(super) fn new(
        peer: &Peer,
        (session, cwd): (&str, &Path),
        context_window: u64,
        patch_preview: &Arc<PatchPreview>,
    ) -> Self {
        let sender = UpdateSender { peer: peer.clone(), session: session.to_owned() };
        let (outputs, calls) = (LiveOutputs::new(sender.clone()), Mutex::default());
        Self {
            sender,
            cwd: cwd.to_owned(),
            context_window,
            patch_preview: Arc::clone(patch_preview),
            calls,
            outputs,
        }
    }

    /// Returns the session id.
    pub(super) fn session_id(&self) -> &str {
        &self.sender.session
    }

    /// Sends an update from the history of the session.
    pub(super) async fn send(&self, update: &SessionUpdate) {
        self.sender.send(update).await;
    }

    /// Registers a new call and returns its view. Returns `None` for a call that is shown as a plan.
    pub(super) fn call_started(&self, call: &ToolCall) -> Option<ToolCallUpdate> {
        if call.name == call_view::PLAN_TOOL {
            return None;
        }
        let mut all = self.calls.lock();
        let shown = all.entry(call.id.as_str().to_owned()).or_default();
        *shown = ReportedCall { id_uses: shown.id_uses + 1, is_open: true, diffs: Vec::new() };
        let id = editor_id_for(&call.id, shown.id_uses);
        Some(call_view::started_view(id, call, &self.cwd))
    }

    /// Marks a call as answered and returns its update. Returns `None` for an unknown call.
    pub(super) fn call_finished(&self, call: &CallId, output: &ToolOutput) -> Option<ToolCallUpdate> {
        let mut all = self.calls.lock();
        let shown = all.get_mut(call.as_str()).filter(|shown| shown.is_open)?;
        shown.is_open = false;
        let (id, diffs) = (editor_id_for(call, shown.id_uses), std::mem::take(&mut shown.diffs));
        self.outputs.remove(&id);
        let mut view = call_view::finished_view(id, output);
        if output.success && !diffs.is_empty() {
            view.content = Some(diffs.into_iter().map(ToolCallContent::Diff).collect());
        }
        Some(view)
    }

    /// Returns the editor's id of an unanswered call.
    pub(super) fn editor_call_id(&self, call: &CallId) -> Option<String> {
        self.calls
            .lock()
            .get(call.as_str())
            .filter(|shown| shown.is_open)
            .map(|shown| editor_id_for(call, shown.id_uses))
    }

    /// Appends to the output of a call. Holds the lock on the calls, so no output follows the answer.
    fn append_output(&self, call: &CallId, text: &str) {
        let all = self.calls.lock();
        if let Some(shown) = all.get(call.as_str()).filter(|shown| shown.is_open) {
            self.outputs.append(&editor_id_for(call, shown.id_uses), text);
        }
    }

    /// Returns the diffs of a patch call.
    pub(super) fn patch_diffs(&self, call: &CallId) -> Vec<EditorFileDiff> {
        self.calls.lock().get(call.as_str()).map(|shown| shown.diffs.clone()).unwrap_or_default()
    }

    /// Sends a remark of Toolgate as a thought: the protocol has no other message for it.
    fn send_remark(&self, text: &str) {
        self.sender
            .enqueue(&SessionUpdate::Thought { content: ContentBlock::text(format!("\n\n{text}\n\n")) });
    }

    fn report_hosted_call(&self, kind: &str, item: &Value) {
        let Some(id) = item["id"].as_str() else { return };
        let title = Some(terminal::to_one_line(&kind.replace('_', " ")));
        let status = Some(ToolCallStatus::Completed);
        let kind = Some(ToolCallKind::Fetch);
        self.sender.enqueue(&SessionUpdate::Begun(ToolCallUpdate {
            tool_call_id: id.to_owned(),
            title,
            kind,
            status,
            ..ToolCallUpdate::default()
        }));
    }
}

fn editor_id_for(call: &CallId, times: usize) -> String {
    if times > 1 { format!("{call}#{times}") } else { call.to_string() }
}

impl SessionObserver for EditorUpdates {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        match seen {
            SessionEvent::Text(text) => {
                self.sender.enqueue(&SessionUpdate::Text { content: ContentBlock::text(text) });
            }
            SessionEvent::Thought(text) => {
                self.sender.enqueue(&SessionUpdate::Thought { content: ContentBlock::text(text) });
            }
            SessionEvent::Called(call) => {
                if let Some(view) = self.call_started(call) {
                    self.sender.enqueue(&SessionUpdate::Begun(view));
                }
            }
            SessionEvent::ProviderToolRan { kind, item } => self.report_hosted_call(kind, item),
            SessionEvent::Answered(call, output) => {
                if let Some(view) = self.call_finished(&call.id, output) {
                    self.sender.enqueue(&SessionUpdate::Changed(view));
                }
            }
            SessionEvent::Responded { usage, .. } => {
                let used = usage.input.saturating_add(usage.output);
                self.sender.enqueue(&SessionUpdate::Usage { used, size: self.context_window });
            }
            SessionEvent::Retried { why, .. } => {
                self.send_remark(&format!("The model is asked again: {why}"));
            }
            SessionEvent::Compacted { .. } => self.send_remark("The conversation was shortened."),
            SessionEvent::Notice(text) => self.send_remark(text),
            SessionEvent::RequestSent { .. } | SessionEvent::FilesChanged(_) => {}
        }
    }
}

impl CallObserver for EditorUpdates {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Attempted { number: 1, .. } => {
                let Some(id) = self.editor_call_id(call) else { return };
                let status = Some(ToolCallStatus::InProgress);
                let view = ToolCallUpdate { tool_call_id: id, status, ..ToolCallUpdate::default() };
                self.sender.enqueue(&SessionUpdate::Changed(view));
            }
            CallEvent::Notice(ToolNotice::Output { text, .. }) => self.append_output(call, text),
            CallEvent::Notice(ToolNotice::Progress { text, .. }) => {
                self.append_output(call, &format!("{text}\n"));
            }
            CallEvent::Notice(ToolNotice::PlanUpdated { steps, .. }) => {
                let entry = |step: &runtime::PlanStep| plan_entry(&step.description, step.status.as_str());
                self.sender.enqueue(&SessionUpdate::Plan { entries: steps.iter().map(entry).collect() });
            }
            CallEvent::Notice(ToolNotice::WeakerSandbox { text, .. }) => self.send_remark(text),
            CallEvent::Notice(
                ToolNotice::FileChanged { .. }
                | ToolNotice::Warning { .. }
                | ToolNotice::AccessRefused { .. },
            )
            | CallEvent::Attempted { .. }
            | CallEvent::Queued { .. }
            | CallEvent::Started
            | CallEvent::Judged { .. }
            | CallEvent::Asked { .. }
            | CallEvent::Decided { .. }
            | CallEvent::Finished { .. } => {}
        }
    }
}

/// Builds a plan entry.
pub(super) fn plan_entry(step: &str, status: &str) -> PlanEntry {
    PlanEntry { content: step.to_owned(), priority: "medium", status: status.to_owned() }
}

/// As a hook it sees a patch before the gate decides, while the files are still unchanged.
impl Hook for EditorUpdates {
    fn name(&self) -> &str {
        "editor"
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        if let (Some(id), Some(diffs)) =
            (self.editor_call_id(&call.call.id), self.patch_preview.preview_diffs(call))
        {
            let content = Some(diffs.iter().cloned().map(ToolCallContent::Diff).collect());
            if let Some(shown) = self.calls.lock().get_mut(call.call.id.as_str()) {
                shown.diffs = diffs;
            }
            // A patch inside a shell command was reported as a command so far.
            let kind = Some(call_view::kind_of_call(call.call));
            let view = ToolCallUpdate { tool_call_id: id, content, kind, ..ToolCallUpdate::default() };
            self.sender.enqueue(&SessionUpdate::Changed(view));
        }
        Box::pin(std::future::ready(HookResponse::default()))
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(std::future::ready(HookResponse::default()))
    }
}
