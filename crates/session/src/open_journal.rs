//! Opens the journal of a session: a new one, or one to resume.

use std::path::PathBuf;
use std::sync::Arc;

use agent::{JournalRecorder, ResumedSession, resume_from_timeline};
use journal::{
    Journal, JournalEntry, JournalFault, Redactor, ReopenedJournal, SessionId, SessionSettings,
    SessionTimeline,
};
use runtime::is_secret_name;
use runtime::wire::Dialect;

use crate::choose_model::ChosenModel;
use crate::compose::ComposedTools;
use config::{OperationFault, state_hint};

/// Newest sessions that are searched for the last one in a directory.
const MAX_SEARCHED_SESSIONS: usize = 200;

/// An open journal with its session id and recorder.
pub(crate) struct OpenJournal {
    pub id: SessionId,
    pub recorder: Arc<JournalRecorder>,
    pub resumed: Option<ResumedSession>,
    /// The settings that were recorded.
    pub settings: SessionSettings,
}

/// The settings in the first record of a session, and the directory of journals.
#[derive(Clone)]
pub(crate) struct SessionHeader {
    sessions: Option<PathBuf>,
    cwd: String,
    model: String,
    dialect: Dialect,
    sandbox: &'static str,
    approval: &'static str,
    base_url: Option<String>,
    client: Option<String>,
}

impl SessionHeader {
    /// Collects the settings from `composed` and `chosen`.
    pub(crate) fn new(composed: &ComposedTools, chosen: Option<&ChosenModel>) -> Self {
        Self {
            sessions: composed.dirs().sessions.clone(),
            cwd: composed.cwd().display().to_string(),
            model: chosen.map(|chosen| chosen.name.clone()).unwrap_or_default(),
            dialect: chosen.map_or(Dialect::Responses, |chosen| chosen.model.dialect()),
            sandbox: composed.sandbox_name(),
            approval: composed.approval_name(),
            base_url: chosen.and_then(|chosen| chosen.base_url.clone()),
            client: None,
        }
    }

    /// Returns the settings of a session whose calls come from `client`.
    pub(crate) fn with_client(mut self, client: Option<&str>) -> Self {
        self.client = Some(client.unwrap_or("an unnamed program").to_owned());
        self
    }

    /// Returns the directory of journals, if there is one.
    pub(crate) fn sessions(&self) -> Option<PathBuf> {
        self.sessions.clone()
    }
}

impl OpenJournal {
    /// Opens a journal in `sessions`: that of `resume`, or a new one.
    pub(crate) fn open(
        sessions: Option<PathBuf>,
        new: SessionId,
        resume: Option<&str>,
        header: SessionHeader,
    ) -> Result<Self, OperationFault> {
        let sessions = sessions.ok_or_else(|| {
            OperationFault::usage(
                "there is no directory for the journal: neither HOME nor TOOLGATE_HOME is set",
            )
        })?;
        let redactor = Redactor::new(environment_secrets()).map_err(|fault| write_fault(&fault))?;
        let (id, journal, earlier) = match resume {
            None => {
                let journal =
                    Journal::create(&sessions, &new, redactor).map_err(|fault| write_fault(&fault))?;
                (new, journal, None)
            }
            Some(prefix) => {
                let id = resolve_session_id(&sessions, prefix, &header.cwd)?;
                let ReopenedJournal { journal, records, .. } =
                    Journal::reopen(&sessions, &id, redactor).map_err(|fault| resume_fault(&fault))?;
                let earlier = resume_from_timeline(&SessionTimeline::from_records(records), header.dialect)
                    .map_err(|fault| OperationFault::failed(fault.to_string()))?;
                (id, journal, Some(earlier))
            }
        };
        let recorder = JournalRecorder::new(journal);
        let SessionHeader { sessions: _, cwd, model, dialect, sandbox, approval, base_url, client } = header;
        let settings = SessionSettings {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd,
            model,
            wire: dialect.as_str().to_owned(),
            sandbox: sandbox.to_owned(),
            approval: approval.to_owned(),
            base_url,
            client,
            resumed: earlier.is_some(),
        };
        recorder
            .write(&JournalEntry::Session(settings.clone()))
            .and_then(|_| earlier.as_ref().map_or(Ok(()), |earlier| recorder.answer_abandoned_calls(earlier)))
            .map_err(|fault| write_fault(&fault))?;
        Ok(Self { id, recorder: Arc::new(recorder), resumed: earlier, settings })
    }
}

/// Records the end of a session and its reason.
pub fn close_journal(recorder: &JournalRecorder, why: &str) -> Result<(), JournalFault> {
    // The end is the last entry.
    recorder.finish_hashes();
    recorder.write(&JournalEntry::End { why: why.to_owned() })?;
    recorder.flush()
}

/// Finds the session that `prefix` names; `last` is the newest one in `cwd`.
pub(crate) fn resolve_session_id(
    sessions: &std::path::Path,
    prefix: &str,
    cwd: &str,
) -> Result<SessionId, OperationFault> {
    if prefix == "last" {
        let listed =
            journal::list_sessions(sessions, MAX_SEARCHED_SESSIONS).map_err(|fault| resume_fault(&fault))?;
        // Sessions of subagents are not what the user did last.
        let here = listed.into_iter().find(|session| session.cwd == cwd && session.agent.is_none());
        return here.map(|session| session.id).ok_or_else(|| {
            OperationFault::usage(format!("no session worked in `{cwd}` lately"))
                .with_hint("`toolgate log` lists them; --resume takes the start of an ID")
        });
    }
    journal::find_session(sessions, prefix).map_err(|fault| resume_fault(&fault))
}

/// Returns the secret values of the environment, which are redacted in the journal.
fn environment_secrets() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_secret_name(name))
}

fn write_fault(fault: &JournalFault) -> OperationFault {
    let told = OperationFault::failed(format!("the journal cannot be written, so nothing is done: {fault}"));
    match fault {
        JournalFault::Unusable { source, .. } | JournalFault::Unwritten { source, .. } => {
            told.with_hint(state_hint(source))
        }
        _ => told,
    }
}

pub(crate) fn resume_fault(fault: &JournalFault) -> OperationFault {
    let message = format!("the session cannot be resumed: {fault}");
    match fault {
        JournalFault::InUse { .. } => OperationFault::busy(message),
        _ => OperationFault::usage(message),
    }
}
