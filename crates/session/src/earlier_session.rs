//! The settings and the last turn of an earlier session, which `--resume` restores and shows.

use std::path::Path;

use config::{ApprovalMode, Config, OperationFault, SandboxMode, SettingSource, SourcedValue, UserDirs};
use journal::{
    JournalEntry, SessionId, SessionSettings, SessionTimeline, TextBudget, TimelineEvent, TimelineEventKind,
};
use runtime::wire::Dialect;

use crate::choose_model::ModelLocation;
use crate::last_turn::LastTurn;
use crate::open_journal::{resolve_session_id, resume_fault};

/// The source of restored settings.
const SOURCE: SettingSource = SettingSource::Flag("--resume");

/// An earlier session.
pub struct EarlierSession {
    /// The id of the session.
    pub id: SessionId,
    settings: SessionSettings,
    /// The last prompt, and what followed it.
    pub last_turn: Option<LastTurn>,
    /// The last turn, if the program ended during it.
    pub unfinished_turn: Option<UnfinishedTurn>,
}

/// A turn during which the program ended. Its file changes were never compared.
pub struct UnfinishedTurn {
    /// The calls that had begun, with the effects that they announced.
    pub begun_calls: Vec<String>,
}

impl EarlierSession {
    /// Reads the session that `prefix` names; `last` is the newest one in `cwd`.
    pub fn read(dirs: &UserDirs, prefix: &str, cwd: &Path) -> Result<Self, OperationFault> {
        let sessions = dirs.sessions.as_deref().ok_or_else(|| {
            OperationFault::usage("there are no sessions: neither HOME nor TOOLGATE_HOME is set")
        })?;
        let id = resolve_session_id(sessions, prefix, &cwd.display().to_string())?;
        let timeline = SessionTimeline::read(&sessions.join(id.file_name()), TextBudget::for_display())
            .map_err(|fault| resume_fault(&fault))?;
        let settings = timeline.last_settings().cloned().unwrap_or_default();
        let (last_turn, unfinished_turn) = (LastTurn::of(&timeline), unfinished_turn(&timeline));
        Ok(Self { id, settings, last_turn, unfinished_turn })
    }

    /// Restores model, sandbox and approval policy, unless a flag sets them. A project's file may narrow them, and a
    /// session of another directory gives no rights in this one.
    pub fn restore(&self, config: &mut Config, cwd: &Path, dirs: &UserDirs) {
        let is_project_file = |source: &SettingSource| match source {
            SettingSource::File { path, .. } => path.parent() != dirs.config.as_deref(),
            SettingSource::BuiltIn | SettingSource::Flag(_) => false,
        };
        if !self.settings.model.is_empty() && !is_flag(&config.model.source) {
            config.model = SourcedValue { value: Some(self.settings.model.clone()), source: SOURCE };
        }
        if self.settings.cwd != cwd.display().to_string() {
            return;
        }
        if let Some(sandbox) = parse_mode::<SandboxMode>(&self.settings.sandbox)
            && !is_flag(&config.sandbox.source)
            && !(is_project_file(&config.sandbox.source) && config.sandbox.value < sandbox)
        {
            config.sandbox = SourcedValue { value: sandbox, source: SOURCE };
        }
        if let Some(approval) = parse_mode::<ApprovalMode>(&self.settings.approval)
            && !is_flag(&config.approval.source)
            && !is_project_file(&config.approval.source)
        {
            config.approval = SourcedValue { value: approval, source: SOURCE };
        }
    }

    /// Completes the location of the model.
    pub fn complete_location(&self, mut location: ModelLocation) -> ModelLocation {
        if location.wire.is_none() && location.base_url.is_none() && location.script.is_none() {
            location.wire = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == self.settings.wire);
            location.base_url.clone_from(&self.settings.base_url);
        }
        location
    }

    /// Returns the directory of the session, if it is not `cwd`.
    pub fn other_directory(&self, cwd: &Path) -> Option<&str> {
        let recorded = self.settings.cwd.as_str();
        (!recorded.is_empty() && recorded != cwd.display().to_string()).then_some(recorded)
    }
}

/// Parses a mode as configuration files spell it.
fn parse_mode<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(name.into()).ok()
}

fn is_flag(source: &SettingSource) -> bool {
    matches!(source, SettingSource::Flag(_))
}

/// Returns the last turn if the program ended during it.
fn unfinished_turn(timeline: &SessionTimeline) -> Option<UnfinishedTurn> {
    let is_end =
        |event: &TimelineEvent| matches!(event.kind, TimelineEventKind::Entry(JournalEntry::Turn { .. }));
    let after_last_turn = timeline.events.iter().rposition(is_end).map_or(0, |end| end + 1);
    let events = &timeline.events[after_last_turn..];
    let begun = events.iter().filter_map(TimelineEvent::as_call).filter(|call| !call.attempts.is_empty());
    let begun_calls = begun.map(|call| format!("{}: {}", call.call.tool, call.effects.join(", "))).collect();
    events.iter().any(TimelineEvent::is_prompt).then_some(UnfinishedTurn { begun_calls })
}
