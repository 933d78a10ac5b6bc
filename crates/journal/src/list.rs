//! The journals of a directory, and what each is about.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::chain::MAX_LINE;
use crate::fault::JournalFault;
use crate::file::{self, Directory};
use crate::id::SessionId;

/// Bytes of a journal that are looked at; what is after them is not counted.
const MAX_LOOK: u64 = 64 << 20;
/// Bytes of its end that are looked at then.
const END: u64 = 64 << 10;
/// Letters of the first prompt.
const LETTERS: usize = 80;

/// A session that has a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is called.
    pub id: SessionId,
    /// Where its journal is.
    pub path: PathBuf,
    /// When it began; empty if nothing was written.
    pub started: String,
    /// When something was last written.
    pub last: String,
    /// Where it worked last; empty if it never said.
    pub cwd: String,
    /// How often the user said something.
    pub prompts: u64,
    /// The beginning of what the user said first, on one line.
    pub first_prompt: String,
    /// How many tools were called.
    pub calls: u64,
    /// Why it ended; nothing if it goes on, or ended without a word.
    pub ended: Option<String>,
    /// Why the last turn was stopped; nothing if it was not.
    pub interrupted: Option<String>,
    /// The agent that it is of, if another session started it.
    pub agent: Option<String>,
    /// Whether somebody is writing to it, as far as the kernel tells.
    pub is_open: bool,
}

/// The newest sessions that have a journal in `directory`, the newest first, `at_most` so many. Nothing is checked: that
/// is what [`verify`](crate::verify) is for. One that cannot be read is listed by its name.
///
/// # Errors
///
/// If the directory cannot be read. One that is not there is empty.
pub fn list(directory: &Path, at_most: usize) -> Result<Vec<Listed>, JournalFault> {
    let Some((open, ids)) = sessions(directory)? else { return Ok(Vec::new()) };
    Ok(ids.into_iter().take(at_most).map(|id| listed(&open, directory, id)).collect())
}

/// The names of all sessions that have a journal in `directory`, the newest first.
///
/// # Errors
///
/// If the directory cannot be read. One that is not there is empty.
pub fn names(directory: &Path) -> Result<Vec<SessionId>, JournalFault> {
    Ok(sessions(directory)?.map(|(_, ids)| ids).unwrap_or_default())
}

/// The one session in `directory` whose name begins with `prefix`.
///
/// # Errors
///
/// If there is none, or more than one.
pub fn find(directory: &Path, prefix: &str) -> Result<SessionId, JournalFault> {
    let prefix = prefix.trim();
    let mut found = names(directory)?;
    found.retain(|id| !prefix.is_empty() && id.as_str().starts_with(prefix));
    let prefix = || prefix.chars().take(LETTERS).collect();
    match found.len() {
        0 => Err(JournalFault::NoSession { prefix: prefix() }),
        1 => Ok(found.swap_remove(0)),
        _ => Err(JournalFault::SeveralSessions { prefix: prefix(), found }),
    }
}

/// All sessions, the newest first.
fn sessions(path: &Path) -> Result<Option<(Directory, Vec<SessionId>)>, JournalFault> {
    let unusable = |source| JournalFault::Unusable { path: path.to_owned(), source };
    let directory = match Directory::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unusable)?,
    };
    let names = directory.names().map_err(unusable)?;
    let mut ids: Vec<SessionId> = names.iter().filter_map(|name| SessionId::of_file(name)).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    Ok(Some((directory, ids)))
}

fn listed(directory: &Directory, path: &Path, id: SessionId) -> Listed {
    let path = path.join(id.file_name());
    let mut sketch = Sketch::default();
    if let Ok(file) = directory.read(&id.file_name()) {
        // What was seen before a fault is still so.
        let _fault = sketch.look(&file);
        sketch.is_open = file::is_locked(&file);
    }
    let Sketch { started, last, cwd, prompts, first_prompt, calls, ended, interrupted, agent, is_open } =
        sketch;
    Listed { id, path, started, last, cwd, prompts, first_prompt, calls, ended, interrupted, agent, is_open }
}

/// What is known of a journal so far.
#[derive(Default)]
struct Sketch {
    started: String,
    last: String,
    cwd: String,
    prompts: u64,
    first_prompt: String,
    calls: u64,
    ended: Option<String>,
    interrupted: Option<String>,
    agent: Option<String>,
    is_open: bool,
}

impl Sketch {
    fn look(&mut self, file: &File) -> io::Result<()> {
        let length = file.metadata()?.len();
        self.lines(file.take(MAX_LOOK))?;
        if length > MAX_LOOK {
            let mut end = file;
            end.seek(SeekFrom::Start(length.saturating_sub(END).max(MAX_LOOK)))?;
            let (prompts, calls) = (self.prompts, self.calls);
            self.lines(end.take(END))?;
            // What is between was not counted, so neither is this.
            (self.prompts, self.calls) = (prompts, calls);
        }
        Ok(())
    }

    fn lines(&mut self, source: impl Read) -> io::Result<()> {
        let mut reader = BufReader::new(source);
        let mut line = Vec::new();
        // ends: with the source, which is bounded
        while reader.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut line)? > 0 {
            if line.last() == Some(&b'\n') {
                self.line(&line);
            }
            line.clear();
        }
        Ok(())
    }

    /// Looks at the beginning of a line, which is always the same, and reads all of only a few.
    fn line(&mut self, line: &[u8]) {
        let Some((at, kind)) = beginning(line) else { return };
        if self.started.is_empty() {
            at.clone_into(&mut self.started);
        }
        at.clone_into(&mut self.last);
        self.ended = None;
        match kind {
            b"session" => {
                self.cwd = member(line, "cwd");
                self.interrupted = None;
            }
            b"prompt" => {
                self.interrupted = None;
                if self.prompts == 0 {
                    self.first_prompt = one_line(&member(line, "text"));
                }
                self.prompts += 1;
            }
            b"agent" => self.agent = Some(member(line, "path")),
            b"call" => self.calls += 1,
            b"interrupted" => self.interrupted = Some(member(line, "why")),
            b"end" => self.ended = Some(member(line, "why")),
            _ => {}
        }
    }
}

/// When a line was written, and of which kind it is: `{"seq":3,"at":"…","kind":"call",…`.
fn beginning(line: &[u8]) -> Option<(&str, &[u8])> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = rest.get(digits..)?.strip_prefix(b",\"at\":\"")?;
    let at = rest.split(|byte| *byte == b'"').next()?;
    let rest = rest.get(at.len()..)?.strip_prefix(b"\",\"kind\":\"")?;
    Some((str::from_utf8(at).ok()?, rest.split(|byte| *byte == b'"').next()?))
}

fn member(line: &[u8], name: &str) -> String {
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn one_line(text: &str) -> String {
    // Enough of it for all letters, however much blank there is in a usual prompt.
    let start = &text[..text.floor_char_boundary(LETTERS * 64)];
    let words: Vec<&str> = start.split_whitespace().take(LETTERS).collect();
    words.join(" ").chars().take(LETTERS).collect()
}
