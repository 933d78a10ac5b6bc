//! Bounded capture of one process's output. Output that exceeds the memory limit spills to a file as it arrives.

use std::path::PathBuf;
use std::sync::Arc;

use crate::spill::{Spill, SpillFile, describe_fault};

/// Limits the bytes held in memory for each end (head and tail) of the output.
#[derive(Debug, Clone, Copy)]
struct CaptureLimits {
    /// For all streams merged.
    merged: usize,
    /// For each stream separately.
    per_stream: usize,
}

const LIMITS: CaptureLimits = CaptureLimits { merged: 256 << 10, per_stream: 32 << 10 };

/// The source of a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapturedStream {
    /// The pipe at descriptor 1.
    Stdout,
    /// The pipe at descriptor 2.
    Stderr,
    /// A terminal, which carries both.
    Terminal,
}

/// Captures the output of a process, and returns the output that arrived since the last `take`.
#[derive(Debug)]
pub struct Capture {
    limits: CaptureLimits,
    spill: Option<Arc<Spill>>,
    name: String,
    merged: HeadTail,
    stdout: HeadTail,
    stderr: HeadTail,
    spill_outcome: SpillOutcome,
    /// Bytes since the start, by stream.
    totals: [u64; 3],
    /// Newlines since the last `take`.
    newlines: u64,
}

/// The spill file with all output since the last `take`, or the reason why there is none. `None` while memory holds
/// all of it.
type SpillOutcome = Option<Result<SpillFile, String>>;

impl Capture {
    /// `spill` stores output that does not fit in memory; `name` is the base of the file's name.
    pub fn new(spill: Option<Arc<Spill>>, name: String) -> Self {
        Self {
            limits: LIMITS,
            spill,
            name,
            merged: HeadTail::default(),
            stdout: HeadTail::default(),
            stderr: HeadTail::default(),
            spill_outcome: None,
            totals: [0; 3],
            newlines: 0,
        }
    }

    /// Holds up to this many bytes of each stream completely in memory.
    #[must_use]
    pub fn with_stream_limit(mut self, bytes: u64) -> Self {
        self.limits.per_stream = usize::try_from(bytes.div_ceil(2)).unwrap_or(LIMITS.per_stream);
        self
    }

    /// Appends output from `stream`.
    pub fn push(&mut self, stream: CapturedStream, bytes: &[u8]) {
        let fits = self.merged.bytes() + bytes.len() as u64 <= 2 * self.limits.merged as u64;
        if !fits {
            let start = || {
                begin_spill_file(self.spill.as_deref(), &self.name, [&self.merged.head, &self.merged.tail])
            };
            if let Ok(file) = self.spill_outcome.get_or_insert_with(start) {
                file.append(bytes);
            }
        }
        self.merged.push(bytes, self.limits.merged);
        match stream {
            CapturedStream::Stdout => self.stdout.push(bytes, self.limits.per_stream),
            CapturedStream::Stderr => self.stderr.push(bytes, self.limits.per_stream),
            CapturedStream::Terminal => {}
        }
        self.totals[stream as usize] += bytes.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    /// Returns the number of bytes since the last `take`.
    pub fn pending(&self) -> u64 {
        self.merged.bytes()
    }

    /// Returns the number of bytes from `stream` since the start.
    pub fn total(&self, stream: CapturedStream) -> u64 {
        self.totals[stream as usize]
    }

    /// Returns true if the output since the last `take` ends with a newline or is empty.
    pub fn ends_with_newline(&self) -> bool {
        self.merged.last().is_none_or(|last| last == b'\n')
    }

    /// Returns the output that the next `take` would return, by stream, as far as memory holds it.
    pub fn peek(&self) -> Vec<(CapturedStream, Vec<u8>)> {
        let terminal =
            if self.stdout.bytes() + self.stderr.bytes() == 0 { &self.merged } else { &HeadTail::default() };
        [
            (CapturedStream::Stdout, &self.stdout),
            (CapturedStream::Stderr, &self.stderr),
            (CapturedStream::Terminal, terminal),
        ]
        .into_iter()
        .filter(|(_, head_tail)| head_tail.bytes() > 0)
        .map(|(stream, head_tail)| (stream, head_tail.join_with_gap()))
        .collect()
    }

    /// Returns the output since the last call, and resets the capture.
    pub fn take(&mut self) -> Captured {
        let unended = u64::from(!self.ends_with_newline());
        let StreamPortion { head, tail, omitted, .. } = std::mem::take(&mut self.merged).into();
        Captured {
            head,
            tail,
            omitted,
            lines: std::mem::take(&mut self.newlines) + unended,
            stdout: std::mem::take(&mut self.stdout).into(),
            stderr: std::mem::take(&mut self.stderr).into(),
            spill_outcome: std::mem::take(&mut self.spill_outcome),
            spill: self.spill.clone(),
            name: self.name.clone(),
        }
    }
}

/// Output taken from a [`Capture`]: the part held in memory, merged and by stream, and the spill file.
#[derive(Debug)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes.
    pub tail: Vec<u8>,
    /// The number of bytes omitted between `head` and `tail`.
    pub omitted: u64,
    /// The number of lines in the complete output.
    pub lines: u64,
    /// Output of the pipe at descriptor 1.
    pub stdout: StreamPortion,
    /// Output of the pipe at descriptor 2.
    pub stderr: StreamPortion,
    spill_outcome: SpillOutcome,
    spill: Option<Arc<Spill>>,
    name: String,
}

/// The output of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamPortion {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes.
    pub tail: Vec<u8>,
    /// The number of bytes omitted between `head` and `tail`.
    pub omitted: u64,
    /// The total number of bytes.
    pub bytes: u64,
}

/// The location of the complete output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptOutput {
    /// The file holds all of it.
    Whole(PathBuf),
    /// The file holds only its beginning.
    Part {
        /// The file.
        path: PathBuf,
        /// The number of bytes in the file.
        bytes: u64,
        /// The reason why the rest is missing, in a few words.
        why: String,
    },
    /// There is no file, for this reason.
    NotKept(String),
}

impl Captured {
    /// Returns the total number of bytes.
    pub fn bytes(&self) -> u64 {
        self.head.len() as u64 + self.omitted + self.tail.len() as u64
    }

    /// Returns the location of the complete output. If memory held all of it, the file is written now.
    pub fn keep_all(&mut self) -> KeptOutput {
        let start = || begin_spill_file(self.spill.as_deref(), &self.name, [&self.head, &self.tail]);
        let file = match self.spill_outcome.get_or_insert_with(start) {
            Ok(file) => file,
            Err(why) => return KeptOutput::NotKept(why.clone()),
        };
        file.persist();
        match (file.bytes_kept(), file.fault()) {
            (0, why) => KeptOutput::NotKept(why.unwrap_or("there is no output").to_owned()),
            (_, None) => KeptOutput::Whole(file.path().to_owned()),
            (bytes, Some(why)) => {
                KeptOutput::Part { path: file.path().to_owned(), bytes, why: why.to_owned() }
            }
        }
    }
}

/// The first and last bytes of a stream, in buffers that grow up to a limit.
#[derive(Debug, Default)]
struct HeadTail {
    head: Vec<u8>,
    /// A ring buffer once it is full.
    tail: Vec<u8>,
    /// Index of the ring's oldest byte, which the next byte overwrites.
    oldest: usize,
    bytes: u64,
}

impl HeadTail {
    /// Appends `bytes`, and holds at most `limit` bytes of each end. Every call must pass the same limit.
    fn push(&mut self, bytes: &[u8], limit: usize) {
        self.bytes += bytes.len() as u64;
        let bytes = fill(&mut self.head, bytes, limit);
        let bytes = &bytes[bytes.len().saturating_sub(limit)..];
        let bytes = fill(&mut self.tail, bytes, limit);
        if bytes.is_empty() {
            return;
        }
        let (before, after) = bytes.split_at(bytes.len().min(limit - self.oldest));
        self.tail[self.oldest..][..before.len()].copy_from_slice(before);
        self.tail[..after.len()].copy_from_slice(after);
        self.oldest = (self.oldest + bytes.len()) % limit;
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns head and tail, with a line between them that counts the omitted bytes, if there are any.
    fn join_with_gap(&self) -> Vec<u8> {
        let held = (self.head.len() + self.tail.len()) as u64;
        let gap = match self.bytes - held {
            0 => Vec::new(),
            missing => format!("\n[… {missing} bytes are not here …]\n").into_bytes(),
        };
        let (newest, oldest) = self.tail.split_at(self.oldest);
        [&self.head, &gap, oldest, newest].concat()
    }

    fn last(&self) -> Option<u8> {
        let newest = self.tail[..self.oldest].last();
        newest.or(self.tail.last()).or(self.head.last()).copied()
    }
}

impl From<HeadTail> for StreamPortion {
    fn from(mut head_tail: HeadTail) -> Self {
        head_tail.tail.rotate_left(head_tail.oldest);
        let omitted = head_tail.bytes - (head_tail.head.len() + head_tail.tail.len()) as u64;
        Self { head: head_tail.head, tail: head_tail.tail, omitted, bytes: head_tail.bytes }
    }
}

/// Appends the part of `bytes` that fits to `buffer`, and returns the rest.
fn fill<'a>(buffer: &mut Vec<u8>, bytes: &'a [u8], limit: usize) -> &'a [u8] {
    let (part, rest) = bytes.split_at(bytes.len().min(limit - buffer.len()));
    let needed = buffer.len() + part.len();
    if needed > buffer.capacity() {
        // Doubling would exceed the limit.
        buffer.reserve_exact(needed.max(2 * buffer.capacity()).min(limit) - buffer.len());
    }
    buffer.extend_from_slice(part);
    rest
}

/// Creates a spill file that starts with `parts`, or returns the reason why it cannot.
fn begin_spill_file(spill: Option<&Spill>, name: &str, parts: [&[u8]; 2]) -> Result<SpillFile, String> {
    let spill = spill.ok_or("there is no directory for outputs")?;
    let mut file = spill.begin(name).map_err(|error| describe_fault(&error))?;
    parts.iter().for_each(|part| file.append(part));
    Ok(file)
}

#[cfg(test)]
mod tests;
