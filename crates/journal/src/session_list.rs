//! Lists the sessions of a journal directory with a summary of each, and finds a session by id prefix.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use private_files::PrivateDir;
use serde_json::Value;

use crate::chain::MAX_LINE_BYTES;
use crate::entry::RecordedCall;
use crate::fault::JournalFault;
use crate::session_id::SessionId;

/// Bytes of a journal that are scanned; later entries are not counted.
const MAX_SCANNED_BYTES: u64 = 64 << 20;
/// Bytes of the end that are scanned too if a journal is longer.
const SCANNED_TAIL_BYTES: u64 = 64 << 10;
/// Maximum characters of the first prompt.
const MAX_PROMPT_CHARS: usize = 80;

/// The summary of a session that has a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session id.
    pub id: SessionId,
    /// The path of its journal.
    pub path: PathBuf,
    /// The start time; empty if the journal has no entries.
    pub started: String,
    /// The time of the last entry.
    pub last: String,
    /// The last working directory; empty if the journal names none.
    pub cwd: String,
    /// The number of user prompts.
    pub prompts: u64,
    /// The start of the first prompt, on one line.
    pub first_prompt: String,
    /// The number of tool calls.
    pub calls: u64,
    /// The reason for the end; `None` if the session continues or was not ended properly.
    pub ended: Option<String>,
    /// The reason for the interruption of the last turn, if it was interrupted.
    pub interrupted: Option<String>,
    /// The agent path, if the session belongs to a subagent.
    pub agent: Option<String>,
    /// The client program whose calls the session answers, if it has no model of its own.
    pub client: Option<String>,
    /// The first call of such a client program.
    pub first_client_call: Option<RecordedCall>,
    /// Set if a process writes to the journal, as far as the kernel tells.
    pub is_open: bool,
}

/// Lists up to `at_most` sessions that have a journal in `directory`, newest first. Journals are not verified;
/// [`verify_journal`](crate::verify_journal) does that. A journal that cannot be read is listed by its id alone.
///
/// # Errors
///
/// If the directory cannot be read. A missing directory is empty.
pub fn list_sessions(directory: &Path, at_most: usize) -> Result<Vec<SessionSummary>, JournalFault> {
    let Some((open, ids)) = open_session_ids(directory)? else { return Ok(Vec::new()) };
    Ok(ids.into_iter().take(at_most).map(|id| summarize_session(&open, directory, id)).collect())
}

/// Returns the ids of all sessions that have a journal in `directory`, newest first.
///
/// # Errors
///
/// If the directory cannot be read. A missing directory is empty.
pub fn session_ids(directory: &Path) -> Result<Vec<SessionId>, JournalFault> {
    Ok(open_session_ids(directory)?.map(|(_, ids)| ids).unwrap_or_default())
}

/// Finds the only session in `directory` whose id begins with `prefix`.
///
/// # Errors
///
/// If no session matches, or several.
pub fn find_session(directory: &Path, prefix: &str) -> Result<SessionId, JournalFault> {
    let prefix = prefix.trim();
    let mut found = session_ids(directory)?;
    found.retain(|id| !prefix.is_empty() && id.as_str().starts_with(prefix));
    let prefix = || prefix.chars().take(MAX_PROMPT_CHARS).collect();
    match found.len() {
        0 => Err(JournalFault::NoSession { prefix: prefix() }),
        1 => Ok(found.swap_remove(0)),
        _ => Err(JournalFault::SeveralSessions { prefix: prefix(), found }),
    }
}

/// Opens the directory and returns all session ids, newest first; `None` if it is missing.
fn open_session_ids(path: &Path) -> Result<Option<(PrivateDir, Vec<SessionId>)>, JournalFault> {
    let unusable = |source| JournalFault::Unusable { path: path.to_owned(), source };
    let directory = match PrivateDir::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unusable)?,
    };
    let names = directory.file_names().map_err(unusable)?;
    let mut ids: Vec<SessionId> = names.iter().filter_map(|name| SessionId::from_file_name(name)).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    Ok(Some((directory, ids)))
}

fn summarize_session(directory: &PrivateDir, path: &Path, id: SessionId) -> SessionSummary {
    let path = path.join(id.file_name());
    let mut builder = SummaryBuilder::default();
    if let Ok(file) = directory.open_for_reading(&id.file_name()) {
        // Facts found before a read error are still valid.
        let _fault = builder.scan_file(&file);
        builder.is_open = private_files::is_locked(&file);
    }
    let SummaryBuilder {
        started,
        last,
        cwd,
        prompts,
        first_prompt,
        calls,
        ended,
        interrupted,
        agent,
        client,
        first_client_call,
        is_open,
    } = builder;
    SessionSummary {
        id,
        path,
        started,
        last,
        cwd,
        prompts,
        first_prompt,
        calls,
        ended,
        interrupted,
        agent,
        client,
        first_client_call,
        is_open,
    }
}

/// The facts collected from a journal so far.
#[derive(Default)]
struct SummaryBuilder {
    started: String,
    last: String,
    cwd: String,
    prompts: u64,
    first_prompt: String,
    calls: u64,
    ended: Option<String>,
    interrupted: Option<String>,
    agent: Option<String>,
    client: Option<String>,
    first_client_call: Option<RecordedCall>,
    is_open: bool,
}

impl SummaryBuilder {
    fn scan_file(&mut self, file: &File) -> io::Result<()> {
        let length = file.metadata()?.len();
        self.scan_lines(file.take(MAX_SCANNED_BYTES))?;
        if length > MAX_SCANNED_BYTES {
            let mut end = file;
            end.seek(SeekFrom::Start(length.saturating_sub(SCANNED_TAIL_BYTES).max(MAX_SCANNED_BYTES)))?;
            let (prompts, calls) = (self.prompts, self.calls);
            self.scan_lines(end.take(SCANNED_TAIL_BYTES))?;
            // Entries between the two scans were not counted, so neither are these.
            (self.prompts, self.calls) = (prompts, calls);
        }
        Ok(())
    }

    fn scan_lines(&mut self, source: impl Read) -> io::Result<()> {
        let mut reader = BufReader::new(source);
        let mut line = Vec::new();
        // ends: with the source, which is bounded
        while reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)? > 0 {
            if line.last() == Some(&b'\n') {
                self.scan_line(&line);
            }
            line.clear();
        }
        Ok(())
    }

    /// Reads the fixed start of a line, and parses only the few lines whose content is needed.
    fn scan_line(&mut self, line: &[u8]) {
        let Some((at, kind)) = parse_line_start(line) else { return };
        if self.started.is_empty() {
            at.clone_into(&mut self.started);
        }
        at.clone_into(&mut self.last);
        self.ended = None;
        match kind {
            b"session" => {
                self.cwd = text_member(line, "cwd");
                self.client = Some(text_member(line, "client")).filter(|client| !client.is_empty());
                self.interrupted = None;
            }
            b"prompt" => {
                self.interrupted = None;
                if self.prompts == 0 {
                    self.first_prompt = join_to_one_line(&text_member(line, "text"));
                }
                self.prompts += 1;
            }
            b"agent" => self.agent = Some(text_member(line, "path")),
            b"call" => {
                if self.client.is_some() && self.first_client_call.is_none() {
                    self.first_client_call = serde_json::from_slice(line).ok();
                }
                self.calls += 1;
            }
            b"interrupted" => self.interrupted = Some(text_member(line, "why")),
            b"end" => self.ended = Some(text_member(line, "why")),
            _ => {}
        }
    }
}

/// Returns the time and the kind of a line: `{"seq":3,"at":"…","kind":"call",…`.
pub(crate) fn parse_line_start(line: &[u8]) -> Option<(&str, &[u8])> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = rest.get(digits..)?.strip_prefix(b",\"at\":\"")?;
    let at = rest.split(|byte| *byte == b'"').next()?;
    let rest = rest.get(at.len()..)?.strip_prefix(b"\",\"kind\":\"")?;
    Some((str::from_utf8(at).ok()?, rest.split(|byte| *byte == b'"').next()?))
}

fn text_member(line: &[u8], name: &str) -> String {
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn join_to_one_line(text: &str) -> String {
    // Enough text for all characters, however much whitespace a usual prompt contains.
    let start = &text[..text.floor_char_boundary(MAX_PROMPT_CHARS * 64)];
    let words: Vec<&str> = start.split_whitespace().take(MAX_PROMPT_CHARS).collect();
    words.join(" ").chars().take(MAX_PROMPT_CHARS).collect()
}
