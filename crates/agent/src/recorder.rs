//! Records everything that happens to calls in the journal, before it has an effect.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use engine::{CallEvent, CallObserver, Hook, HookDecision, HookResponse, PlannedCall};
use journal::{
    ImageDigest, Journal, JournalEntry, JournalFault, JournalPlanStep, McpToolRef, RecordedAnswer,
    RecordedCall, RecordedCallForm, RecordedVerdict,
};
use parking_lot::Mutex;
use policy::Effect;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tool::{BoxFuture, CallId, OutputImage, OutputItem, ToolCall, ToolNotice, ToolOutput, ToolPayload};

use crate::ResumedSession;
use crate::session::interrupted_output;

/// Refused accesses that are recorded of one call.
const MAX_REFUSED: usize = 20;

/// Writes the journal of a session. As a hook it records the intent of a call, and denies the call if that fails. As
/// an observer it records the outcome.
pub struct JournalRecorder {
    journal: Journal,
    /// The number of the last line.
    last_line: watch::Sender<u64>,
    write_failure: Mutex<Option<String>>,
    /// Threads that hash kept output files.
    hash_threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl JournalRecorder {
    /// Creates a recorder that writes to `journal`.
    pub fn new(journal: Journal) -> Self {
        Self {
            journal,
            last_line: watch::Sender::new(0),
            write_failure: Mutex::default(),
            hash_threads: Mutex::default(),
        }
    }

    /// Returns a channel with the number of the last line.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.last_line.subscribe()
    }

    /// Returns the path of the journal.
    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Writes an entry and returns its line number.
    ///
    /// # Errors
    /// If the entry was not written. The caller must then not proceed.
    pub fn write(&self, entry: &JournalEntry) -> Result<u64, JournalFault> {
        let number = self.journal.write(entry)?;
        self.last_line.send_if_modified(|last| {
            let is_more = *last < number;
            *last = (*last).max(number);
            is_more
        });
        Ok(number)
    }

    /// Records a call that a client program makes, not the model.
    ///
    /// # Errors
    /// If the entry was not written. The call must then not be made.
    pub fn record_client_call(&self, call: &ToolCall) -> Result<u64, JournalFault> {
        let mut recorded = recorded_call(call);
        let is_text = recorded.form == RecordedCallForm::Custom;
        recorded.form = if is_text { RecordedCallForm::ClientText } else { RecordedCallForm::Client };
        self.write(&JournalEntry::Call(recorded))
    }

    /// Records the answer to a call, and later the hash of its whole output if that is in a file.
    ///
    /// # Errors
    /// If the entry was not written.
    pub fn record_answer(
        self: &Arc<Self>,
        call: &ToolCall,
        output: &ToolOutput,
    ) -> Result<u64, JournalFault> {
        let seq = self.write(&answer_entry(call, output))?;
        if let Some(kept) = &output.facts.output_file {
            self.hash_kept_output(call, kept);
        }
        Ok(seq)
    }

    /// Records an "interrupted" answer for client calls that were running when their server died.
    ///
    /// # Errors
    /// If an entry cannot be written.
    pub fn answer_abandoned_calls(&self, resumed: &ResumedSession) -> Result<(), JournalFault> {
        resumed
            .abandoned
            .iter()
            .try_for_each(|call| self.write(&answer_entry(call, &interrupted_output())).map(drop))
    }

    /// Deletes the journal of a session that never began.
    pub fn delete_journal(&self) {
        if let Err(error) = std::fs::remove_file(self.path()) {
            tracing::warn!(%error, "the journal of a session that never began stays");
        }
    }

    /// Waits until everything written is on disk.
    ///
    /// # Errors
    /// If the data cannot be flushed.
    pub fn flush(&self) -> Result<(), JournalFault> {
        self.finish_hashes();
        self.journal.flush()
    }

    /// Waits until the hashes of all kept outputs are recorded.
    pub fn finish_hashes(&self) {
        for thread in std::mem::take(&mut *self.hash_threads.lock()) {
            let _panicked = thread.join();
        }
    }

    /// Hashes a kept output file in its own thread, and records the hash.
    fn hash_kept_output(self: &Arc<Self>, call: &ToolCall, path: &Path) {
        let (recorder, call, path) = (Arc::clone(self), call.id.as_str().to_owned(), path.to_owned());
        let hashes = move || {
            if let Ok((sha256, bytes)) = hash_file(&path) {
                recorder.record(&JournalEntry::Kept {
                    call,
                    path: path.display().to_string(),
                    sha256,
                    bytes,
                });
            }
        };
        // Without a thread the file is not hashed; nothing else changes.
        if let Ok(thread) = std::thread::Builder::new().name("hash".to_owned()).spawn(hashes) {
            self.hash_threads.lock().push(thread);
        }
    }

    /// Writes an entry for something that has happened already. A failure denies the next call.
    fn record(&self, entry: &JournalEntry) {
        if let Err(fault) = self.write(entry) {
            let mut broken = self.write_failure.lock();
            broken.get_or_insert(fault.to_string());
        }
    }

    fn record_intent(&self, call: PlannedCall<'_>) -> Result<(), String> {
        if let Some(why) = self.write_failure.lock().clone() {
            return Err(why);
        }
        let effects = call.intent.effects.iter().map(describe_effect).collect();
        let entry = JournalEntry::Intent { call: call.call.id.as_str().to_owned(), effects };
        self.write(&entry).map(drop).map_err(|fault| fault.to_string())
    }
}

impl Hook for JournalRecorder {
    fn name(&self) -> &str {
        "journal"
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        let decision = match self.record_intent(call) {
            Ok(()) => HookDecision::NoObjection,
            Err(why) => HookDecision::Deny(format!("what it does cannot be written down: {why}")),
        };
        Box::pin(std::future::ready(HookResponse { decision, ..HookResponse::default() }))
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(std::future::ready(HookResponse::default()))
    }
}

impl CallObserver for JournalRecorder {
    fn wants_output(&self) -> bool {
        false
    }

    fn on_event(&self, call: &CallId, event: &CallEvent) {
        let call = call.as_str().to_owned();
        self.record(&match event {
            CallEvent::Judged { verdict, why, by } => {
                let verdict = match *verdict {
                    "allow" => RecordedVerdict::Allow,
                    "ask" => RecordedVerdict::Ask,
                    _ => RecordedVerdict::Forbid,
                };
                JournalEntry::Verdict { call, verdict, why: why.clone(), by: by.clone() }
            }
            CallEvent::Attempted { number, sandbox } => {
                let number = u64::try_from(*number).unwrap_or(u64::MAX);
                JournalEntry::Attempt { call, number, enforcement: (*sandbox).to_owned() }
            }
            CallEvent::Asked { why } => JournalEntry::Asked { call, why: why.clone() },
            CallEvent::Decided { decision } => {
                // The only decision that no person made.
                let by = if *decision == "unanswered" { "no one" } else { "user" };
                JournalEntry::Decided { call, decision: (*decision).to_owned(), by: by.to_owned() }
            }
            CallEvent::Notice(ToolNotice::PlanUpdated { steps, .. }) => {
                let step = |step: &tool::PlanStep| JournalPlanStep {
                    step: step.description.clone(),
                    status: step.status.as_str().to_owned(),
                };
                JournalEntry::Plan { steps: steps.iter().map(step).collect() }
            }
            // A reader of the journal must know about missing protection.
            CallEvent::Notice(ToolNotice::WeakerSandbox { text, .. }) => {
                JournalEntry::Notice { text: text.clone() }
            }
            CallEvent::Queued { .. }
            | CallEvent::Started
            | CallEvent::Notice(_)
            | CallEvent::Finished { .. } => return,
        });
    }
}

/// Describes an effect in a few words.
fn describe_effect(effect: &Effect) -> String {
    match effect {
        Effect::Read(path) => format!("reads {}", path.display()),
        Effect::Write(path) => format!("writes {}", path.display()),
        Effect::Exec(exec) => format!("runs {:?} in {}", exec.line().argv(), exec.cwd().display()),
        Effect::SendInput(typing) => format!("types into `{}`", typing.command_line),
        Effect::Network(host) => format!("talks to {host}"),
        Effect::Foreign(foreign) => format!("calls `{}` of the server `{}`", foreign.tool, foreign.server),
        Effect::Remember(kept) => format!("remembers `{}` for {}", kept.name, kept.scope),
    }
}

/// Returns the journal entry of a call, before it starts.
pub(crate) fn call_entry(call: &ToolCall) -> JournalEntry {
    JournalEntry::Call(recorded_call(call))
}

fn recorded_call(call: &ToolCall) -> RecordedCall {
    let (form, remote) = match &call.payload {
        ToolPayload::Function { .. } => (RecordedCallForm::Function, None),
        ToolPayload::Custom { .. } => (RecordedCallForm::Custom, None),
        ToolPayload::LocalShell(_) => (RecordedCallForm::LocalShell, None),
        ToolPayload::Mcp { server, tool, .. } => {
            (RecordedCallForm::Mcp, Some(McpToolRef { server: server.clone(), tool: tool.clone() }))
        }
    };
    let arguments = match &call.payload {
        ToolPayload::Custom { input } => input.clone(),
        payload => payload.arguments().into_owned(),
    };
    RecordedCall { id: call.id.as_str().to_owned(), tool: call.name.clone(), form, arguments, remote }
}

/// Returns the journal entry of an answer.
fn answer_entry(call: &ToolCall, output: &ToolOutput) -> JournalEntry {
    let took = output.facts.duration.unwrap_or_default();
    let pictures = output.items.iter().filter_map(|item| match item {
        OutputItem::Image(image) => Some(hash_picture(image)),
        OutputItem::Text(_) => None,
    });
    JournalEntry::Answered(RecordedAnswer {
        call: call.id.as_str().to_owned(),
        success: output.success,
        error: output.facts.error.map(|error| error.as_str().to_owned()),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        text: output.joined_text(),
        pictures: pictures.collect(),
        spilled: None,
        refused: refused_accesses(output),
    })
}

/// Returns a sentence for each access that the sandbox refused. A guess begins with `perhaps: `.
fn refused_accesses(output: &ToolOutput) -> Vec<String> {
    // A call that was refused before it ran has the reason in its text.
    if output.facts.enforcement.is_none() {
        return Vec::new();
    }
    let reported = output.facts.denials.iter().map(ToString::to_string);
    let guessed = output.facts.suspected_denial.iter().map(|denial| format!("perhaps: {denial}"));
    reported.chain(guessed).take(MAX_REFUSED).collect()
}

/// Returns the SHA-256 hash and the length of an output file.
#[expect(clippy::disallowed_methods, reason = "our own file, in the user's own state directory")]
fn hash_file(path: &Path) -> io::Result<(String, u64)> {
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 18]);
    // ends: with the file
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            break;
        }
        hash.update(&piece[..count]);
        bytes += u64::try_from(count).unwrap_or(0);
    }
    Ok((to_hex(&hash.finalize()), bytes))
}

fn to_hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the journal form of an image: its type, hash and size.
pub(crate) fn hash_picture(image: &OutputImage) -> ImageDigest {
    let sha256 = to_hex(&Sha256::digest(&image.bytes));
    let bytes = u64::try_from(image.bytes.len()).unwrap_or(u64::MAX);
    ImageDigest { mime: image.mime.to_owned(), sha256, bytes }
}
