//! Record of one MCP session: the journal of its calls, and the file changes of each group of calls.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use runtime::{
    BoxFuture, CallEvent, CallId, CallObserver, Hook, HookResponse, PlannedCall, ToolCall, ToolErrorKind,
    ToolOutput, Toolgate,
};
use session::DeferredJournal;
use session::open_turn_mark::OpenTurnMark;
use session::turn_diff_store::TurnDiffRecorder;
use tokio::sync::SetOnce;

use super::tool_catalogue;
use config::OperationFault;

/// MCP has no turns. Calls form a group until none has run for this time.
const GROUP_PAUSE: Duration = Duration::from_secs(10);

/// The record of the calls in one working directory.
pub(super) struct SessionRecord {
    /// This record, for work that outlasts a hook.
    this: Weak<Self>,
    journal: DeferredJournal,
    changes: Arc<Mutex<Option<TurnDiffRecorder>>>,
    /// Set when the state of the files before the first call is known.
    baseline: Arc<SetOnce<()>>,
    /// The state directory, and the working directory.
    directories: OnceLock<(PathBuf, PathBuf)>,
    group: Mutex<CallGroup>,
    is_closed: AtomicBool,
}

/// The calls since the last pause.
#[derive(Default)]
struct CallGroup {
    running: usize,
    /// Counts calls, so that a timer notices later ones.
    started: u64,
    /// True if the changes of its calls were not recorded yet.
    is_open: bool,
    /// The calls whose changes are not stored yet.
    changing: HashSet<CallId>,
    /// Tells `toolgate diff` about them, also if this process is killed.
    mark: Option<OpenTurnMark>,
}

impl SessionRecord {
    pub(super) fn new(journal: DeferredJournal) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            journal,
            changes: Arc::default(),
            baseline: Arc::default(),
            directories: OnceLock::new(),
            group: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Notes the state of the files in the background. Calls wait for it.
    pub(super) fn watch_files(&self, toolgate: &Toolgate, state: Option<&Path>) {
        if let Some(state) = state {
            let working_directory = toolgate.router().working_dir().cwd.clone();
            let _only_once = self.directories.set((state.to_owned(), working_directory));
        }
        let (changes, baseline) = (Arc::clone(&self.changes), Arc::clone(&self.baseline));
        let (toolgate, state) = (toolgate.clone(), state.map(Path::to_owned));
        #[expect(clippy::disallowed_methods, reason = "no call: it looks at files before the first one")]
        tokio::task::spawn_blocking(move || {
            let recorder = TurnDiffRecorder::start(&toolgate, state.as_deref());
            // Without the toolgate: this record must not keep it alive.
            drop(toolgate);
            *changes.lock() = Some(recorder);
            let _only_once = baseline.set(());
        });
    }

    /// Records a call of `client` before it starts.
    pub(super) fn begin_call(
        self: &Arc<Self>,
        client: Option<&str>,
        call: ToolCall,
    ) -> Result<JournaledCall, OperationFault> {
        self.journal.record_call(client, &call)?;
        let mut group = self.group.lock();
        group.running += 1;
        group.started += 1;
        group.is_open = true;
        Ok(JournaledCall { record: Arc::clone(self), call, started: Instant::now(), is_answered: false })
    }

    /// Records the changes of the last group of calls and the end of the session, once.
    pub(super) fn close(&self) {
        if !self.is_closed.swap(true, Ordering::Relaxed) {
            self.end_group();
            self.journal.close("the client left");
        }
    }

    /// Marks that a call may be changing files from now on.
    fn begin_changes(&self, call: &CallId) {
        let mut group = self.group.lock();
        group.changing.insert(call.clone());
        if group.mark.is_none()
            && let (Some((state, directory)), Some(session)) =
                (self.directories.get(), self.journal.session_id())
        {
            group.mark = OpenTurnMark::create(state, directory, &session);
        }
    }

    /// Stores the changes of the group so far, before the answer to `call` is sent: many clients end the server right
    /// after the last one.
    async fn save_changes(self: Arc<Self>, call: CallId) {
        let changes = Arc::clone(&self.changes);
        let save = move || changes.lock().as_mut().map(TurnDiffRecorder::save_progress);
        #[expect(clippy::disallowed_methods, reason = "it looks at files, off the threads of the runtime")]
        let _stored = tokio::task::spawn_blocking(save).await;
        self.end_changes(&call);
    }

    fn end_changes(&self, call: &CallId) {
        let mut group = self.group.lock();
        group.changing.remove(call);
        if group.changing.is_empty() {
            group.mark = None;
        }
    }

    fn end_call(self: &Arc<Self>, call: &CallId) {
        let mut group = self.group.lock();
        group.running -= 1;
        let (running, started) = (group.running, group.started);
        let is_unsaved = group.changing.contains(call);
        drop(group);
        if is_unsaved && tokio::runtime::Handle::try_current().is_ok() {
            // It was cancelled, so no hook ran after it.
            #[expect(clippy::disallowed_methods, reason = "no call: it looks at files after one")]
            tokio::spawn(Arc::clone(self).save_changes(call.clone()));
        }
        if running == 0 && tokio::runtime::Handle::try_current().is_ok() {
            #[expect(clippy::disallowed_methods, reason = "no call: it ends with the pause after one")]
            tokio::spawn(end_group_after_pause(Arc::downgrade(self), started));
        }
    }

    /// Records the changes of the calls since the last pause.
    fn end_group(&self) {
        if !std::mem::take(&mut self.group.lock().is_open) {
            return;
        }
        if let Some(turn) = self.changes.lock().as_mut().and_then(TurnDiffRecorder::end_turn_if_changed) {
            self.journal.record_diff(turn.text);
        }
        let mut group = self.group.lock();
        if group.running == 0 {
            group.changing.clear();
            group.mark = None;
        }
    }
}

/// Ends the group if no call has started since call number `started`.
async fn end_group_after_pause(record: Weak<SessionRecord>, started: u64) {
    tokio::time::sleep(GROUP_PAUSE).await;
    let Some(record) = record.upgrade().filter(|record| record.group.lock().started == started) else {
        return;
    };
    #[expect(clippy::disallowed_methods, reason = "no call: it looks at files after one")]
    let _done = tokio::task::spawn_blocking(move || record.end_group()).await;
}

impl Hook for SessionRecord {
    fn name(&self) -> &str {
        self.journal.name()
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            self.baseline.wait().await;
            if tool_catalogue::may_change_files(call.tool) {
                self.begin_changes(&call.call.id);
            }
            self.journal.before(call).await
        })
    }

    fn after<'a>(&'a self, call: PlannedCall<'a>, output: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            let is_unsaved = self.group.lock().changing.contains(&call.call.id);
            if is_unsaved && let Some(record) = self.this.upgrade() {
                record.save_changes(call.call.id.clone()).await;
            }
            self.journal.after(call, output).await
        })
    }
}

impl CallObserver for SessionRecord {
    fn wants_output(&self) -> bool {
        false
    }

    fn on_event(&self, call: &CallId, event: &CallEvent) {
        self.journal.on_event(call, event);
    }
}

/// A call in the journal. Dropping it without an answer records that the client cancelled it.
pub(super) struct JournaledCall {
    record: Arc<SessionRecord>,
    call: ToolCall,
    started: Instant,
    is_answered: bool,
}

impl JournaledCall {
    /// Records the answer.
    pub(super) fn answer(&mut self, output: &ToolOutput) {
        self.is_answered = true;
        self.record.journal.record_answer(&self.call, output);
    }
}

impl Drop for JournaledCall {
    fn drop(&mut self) {
        if !self.is_answered {
            let mut output = ToolOutput::failure("stopped by the client");
            output.facts.error = Some(ToolErrorKind::Cancelled);
            output.facts.duration = Some(self.started.elapsed());
            self.answer(&output);
        }
        self.record.end_call(&self.call.id);
    }
}
