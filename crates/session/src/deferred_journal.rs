//! The journal of a session whose calls come from a client program: it is created when the first call comes.

use std::sync::{Arc, OnceLock};

use agent::JournalRecorder;
use journal::{JournalEntry, SessionId};
use parking_lot::Mutex;
use runtime::{
    BoxFuture, CallEvent, CallId, CallObserver, Hook, HookDecision, HookResponse, PlannedCall, ToolCall,
    ToolOutput,
};

use crate::compose::ComposedTools;
use crate::open_journal::{OpenJournal, SessionHeader, close_journal};
use crate::prune::JournalQuota;
use config::OperationFault;

/// Records calls in a journal. A session without calls leaves no journal.
///
/// Add it to the tools as a hook and as an observer, and record each call before it starts.
pub struct DeferredJournal {
    header: Mutex<Option<SessionHeader>>,
    recorder: OnceLock<Arc<JournalRecorder>>,
    quota: JournalQuota,
}

impl DeferredJournal {
    /// Prepares the journal of a session with these tools.
    pub fn new(composed: &ComposedTools) -> Self {
        let header = SessionHeader::new(composed, None);
        Self { header: Mutex::new(Some(header)), recorder: OnceLock::new(), quota: composed.journal_quota() }
    }

    /// Records a call of `client`, before it starts.
    ///
    /// # Errors
    /// If the journal cannot be written. The call must then not be made.
    pub fn record_call(&self, client: Option<&str>, call: &ToolCall) -> Result<(), OperationFault> {
        let recorder = self.open(client)?;
        recorder.record_client_call(call).map(drop).map_err(crate::journal_fault)
    }

    /// Returns the ID of the session, once it has a journal.
    pub fn session_id(&self) -> Option<String> {
        let stem = self.recorder.get()?.path().file_stem()?;
        Some(stem.to_string_lossy().into_owned())
    }

    /// Records the answer to a call. A failure denies the next call.
    pub fn record_answer(&self, call: &ToolCall, output: &ToolOutput) {
        if let Some(recorder) = self.recorder.get()
            && let Err(fault) = recorder.record_answer(call, output)
        {
            tracing::warn!(%fault, "the answer to a call was not recorded");
        }
    }

    /// Records the file changes of a group of calls.
    pub fn record_diff(&self, text: String) {
        if let Some(recorder) = self.recorder.get()
            && let Err(fault) = recorder.write(&JournalEntry::Diff { text })
        {
            tracing::warn!(%fault, "changed files were not recorded");
        }
    }

    /// Records the end of the session and its reason, and applies the quota of stored sessions.
    pub fn close(&self, why: &str) {
        let Some(recorder) = self.recorder.get() else { return };
        if let Err(fault) = close_journal(recorder, why) {
            tracing::warn!(%fault, "the end of the session was not recorded");
        }
        self.quota.apply();
    }

    /// Returns the recorder, and creates the journal for the first call.
    fn open(&self, client: Option<&str>) -> Result<&Arc<JournalRecorder>, OperationFault> {
        let mut waiting = self.header.lock();
        if let Some(header) = waiting.as_ref() {
            let header = header.clone().with_client(client);
            let opened = OpenJournal::open(header.sessions(), SessionId::new(), None, header)?;
            let _first = self.recorder.set(opened.recorder);
            *waiting = None;
        }
        Ok(self.recorder.get().expect("set above, before the header was taken"))
    }
}

impl Hook for DeferredJournal {
    fn name(&self) -> &str {
        "journal"
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        match self.recorder.get() {
            Some(recorder) => recorder.before(call),
            None => {
                let decision = HookDecision::Deny("the call was not recorded before it started".to_owned());
                Box::pin(std::future::ready(HookResponse { decision, ..HookResponse::default() }))
            }
        }
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(std::future::ready(HookResponse::default()))
    }
}

impl CallObserver for DeferredJournal {
    fn wants_output(&self) -> bool {
        false
    }

    fn on_event(&self, call: &CallId, event: &CallEvent) {
        if let Some(recorder) = self.recorder.get() {
            recorder.on_event(call, event);
        }
    }
}
