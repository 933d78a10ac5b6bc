//! Completion candidates that depend on the machine: sessions, tools, MCP servers and rule files.
//!
//! A shell runs `toolgate` for each Tab, so nothing here starts a process, prints, or reports an error: a directory that
//! cannot be read has no candidates.

use std::ffi::OsStr;

use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use config::flags::WorkspaceArgs;
use config::{UserDirs, rule_files};
use session::compose::{compose, working_directory};
use terminal::to_one_line;

/// Sessions that are completed; the newest ones.
const MAX_SESSIONS: usize = 30;

/// Completes a session: `last`, an id, or a file.
pub(crate) fn sessions() -> ArgValueCompleter {
    ArgValueCompleter::new(|word: &OsStr| match word.to_str() {
        Some(word) if !word.contains(['/', '.']) => matching(session_candidates(), word),
        _ => PathCompleter::file().complete(word),
    })
}

/// Completes the name of a tool.
pub(crate) fn tools() -> ArgValueCompleter {
    ArgValueCompleter::new(|word: &OsStr| matching(tool_candidates(), &word.to_string_lossy()))
}

/// Completes the name of a configured MCP server.
pub(crate) fn servers() -> ArgValueCompleter {
    ArgValueCompleter::new(|word: &OsStr| matching(server_candidates(), &word.to_string_lossy()))
}

/// Completes a rule file: the files in force, and any other.
pub(crate) fn rules() -> ArgValueCompleter {
    ArgValueCompleter::new(|word: &OsStr| {
        let mut found = matching(rule_file_candidates(), &word.to_string_lossy());
        found.extend(PathCompleter::file().complete(word));
        found
    })
}

fn matching(candidates: Vec<CompletionCandidate>, word: &str) -> Vec<CompletionCandidate> {
    let begins = |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().starts_with(word);
    candidates.into_iter().filter(begins).collect()
}

/// Returns a candidate with a help text, which may come from a file.
fn candidate(value: &str, help: &str) -> CompletionCandidate {
    let help = Some(to_one_line(help)).filter(|help| !help.is_empty()).map(StyledStr::from);
    CompletionCandidate::new(value).help(help)
}

fn session_candidates() -> Vec<CompletionCandidate> {
    let mut candidates = vec![candidate("last", "the newest session")];
    let Ok(directory) = report::resolve_session::sessions_directory() else { return candidates };
    let sessions = journal::list_sessions(&directory, MAX_SESSIONS).unwrap_or_default();
    let about = |session: &journal::SessionSummary| {
        candidate(session.id.as_str(), &report::session_list::describe_session(session))
    };
    candidates.extend(sessions.iter().map(about));
    candidates
}

fn tool_candidates() -> Vec<CompletionCandidate> {
    let Ok(composed) = compose(&WorkspaceArgs::default()) else { return Vec::new() };
    let Ok(toolgate) = composed.build() else { return Vec::new() };
    let names = toolgate.router().registry().offered_names();
    names.iter().map(|name| candidate(name, "")).collect()
}

fn server_candidates() -> Vec<CompletionCandidate> {
    let place = WorkspaceArgs::default();
    let (Ok(cwd), Ok(dirs)) = (working_directory(&place), UserDirs::from_env()) else { return Vec::new() };
    let Ok(config) = config::load(&cwd, &dirs, &place) else { return Vec::new() };
    config.servers.iter().map(|server| candidate(&server.value.name, "")).collect()
}

fn rule_file_candidates() -> Vec<CompletionCandidate> {
    let (Ok(cwd), Ok(dirs)) = (working_directory(&WorkspaceArgs::default()), UserDirs::from_env()) else {
        return Vec::new();
    };
    let files = rule_files(&cwd, &dirs).into_iter().map(|(_, file)| file).filter(|file| file.exists());
    files.map(|file| candidate(&file.to_string_lossy(), "rules in force")).collect()
}
