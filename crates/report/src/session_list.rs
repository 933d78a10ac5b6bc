//! The state of a listed session, and the list of sessions as JSON.

use journal::SessionSummary;
use runtime::ToolCall;
use serde_json::{Value, json};
use session::call_title;

/// The state of a session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionStatus<'a> {
    Open,
    Ended(&'a str),
    /// The user or a signal stopped its last turn.
    Interrupted(&'a str),
    /// Its last turn reached a limit of the run.
    LimitReached(&'a str),
    Failed(&'a str),
    /// No process writes to the journal, and it has no end record.
    CutOff,
}

impl<'a> SessionStatus<'a> {
    pub(crate) fn from_listed(session: &'a SessionSummary) -> Self {
        match session {
            SessionSummary { is_open: true, .. } => Self::Open,
            SessionSummary { ended: Some(why), interrupted, .. } => match why.as_str() {
                "interrupted" | "stopped" | "SIGTERM" | "SIGHUP" => {
                    Self::Interrupted(interrupted.as_deref().unwrap_or(why))
                }
                "out_of_budget" | "max_turns" => Self::LimitReached(why),
                "failed" => Self::Failed(why),
                _ => interrupted.as_deref().map_or(Self::Ended(why), Self::Interrupted),
            },
            SessionSummary { interrupted: Some(why), .. } => Self::Interrupted(why),
            SessionSummary { .. } => Self::CutOff,
        }
    }

    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ended(_) => "ended",
            Self::Interrupted(_) => "interrupted",
            Self::LimitReached(_) => "limit",
            Self::Failed(_) => "failed",
            Self::CutOff => "cut_off",
        }
    }

    fn why(&self) -> Option<&str> {
        match self {
            Self::Ended(why) | Self::Interrupted(why) | Self::LimitReached(why) | Self::Failed(why) => {
                Some(why)
            }
            Self::Open | Self::CutOff => None,
        }
    }
}

/// Describes a session by its first prompt. A session whose calls come from a client program has no prompts: it is
/// described by that program and the first call.
pub fn describe_session(session: &SessionSummary) -> String {
    let Some(client) = session.client.as_ref().filter(|_| session.first_prompt.is_empty()) else {
        return session.first_prompt.clone();
    };
    match first_call_title(session) {
        Some(title) => format!("{client}: {title}"),
        None => client.clone(),
    }
}

fn first_call_title(session: &SessionSummary) -> Option<String> {
    let call = session.first_client_call.as_ref()?;
    Some(call_title::title(&ToolCall::function(
        call.id.as_str(),
        call.tool.as_str(),
        call.arguments.as_str(),
    )))
}

/// Returns one session as JSON.
pub fn as_json(session: &SessionSummary) -> Value {
    let state = SessionStatus::from_listed(session);
    json!({
        "id": session.id.as_str(), "path": session.path.to_string_lossy(), "started": session.started,
        "last": session.last, "cwd": session.cwd, "prompts": session.prompts, "calls": session.calls,
        "first_prompt": session.first_prompt, "state": state.as_str(), "why": state.why(), "agent": session.agent, "client": session.client,
        "first_call": first_call_title(session),
    })
}
