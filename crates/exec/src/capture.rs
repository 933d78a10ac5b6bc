//! The output of one process, bounded in memory; what does not fit goes to a file as it comes.

mod ends;

use std::path::PathBuf;
use std::sync::Arc;

use crate::spill::{Spill, SpillFile, phrase};
use ends::Ends;

/// How many bytes are held of each end of the output.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Of all streams together.
    merged: usize,
    /// Of one stream alone.
    apart: usize,
}

const LIMITS: Limits = Limits { merged: 256 << 10, apart: 32 << 10 };

/// Where output comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The pipe at descriptor 1.
    Stdout,
    /// The pipe at descriptor 2.
    Stderr,
    /// A terminal, which is both.
    Terminal,
}

/// Takes in the output of a process, and gives out what came since it was last asked.
#[derive(Debug)]
pub struct Capture {
    limits: Limits,
    spill: Option<Arc<Spill>>,
    name: String,
    merged: Ends,
    stdout: Ends,
    stderr: Ends,
    place: Place,
    /// By stream.
    totals: [u64; 3],
    /// Since the last `take`.
    newlines: u64,
}

/// Where all that came since the last `take` is: a file, or the reason why there is none. As long as nothing is missing
/// between head and tail, neither.
type Place = Option<Result<SpillFile, String>>;

impl Capture {
    /// `spill`: where the whole goes when it does not fit; `name`: what its file is called after.
    pub fn new(spill: Option<Arc<Spill>>, name: String) -> Self {
        Self {
            limits: LIMITS,
            spill,
            name,
            merged: Ends::default(),
            stdout: Ends::default(),
            stderr: Ends::default(),
            place: None,
            totals: [0; 3],
            newlines: 0,
        }
    }

    /// The same, but up to so many bytes of each stream alone are held whole.
    #[must_use]
    pub fn holding(mut self, bytes: u64) -> Self {
        self.limits.apart = usize::try_from(bytes.div_ceil(2)).unwrap_or(LIMITS.apart);
        self
    }

    /// Takes in what came from `stream`.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let fits = self.merged.bytes() + bytes.len() as u64 <= 2 * self.limits.merged as u64;
        if !fits {
            let start = || begin(self.spill.as_deref(), &self.name, [&self.merged.head, &self.merged.tail]);
            if let Ok(file) = self.place.get_or_insert_with(start) {
                file.append(bytes);
            }
        }
        self.merged.push(bytes, self.limits.merged);
        match stream {
            Stream::Stdout => self.stdout.push(bytes, self.limits.apart),
            Stream::Stderr => self.stderr.push(bytes, self.limits.apart),
            Stream::Terminal => {}
        }
        self.totals[stream as usize] += bytes.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    /// How many bytes came since the last `take`.
    pub fn pending(&self) -> u64 {
        self.merged.bytes()
    }

    /// How many bytes came from `stream` since the start.
    pub fn total(&self, stream: Stream) -> u64 {
        self.totals[stream as usize]
    }

    /// Whether what came since the last `take` ends a line; nothing does.
    pub fn ends_with_newline(&self) -> bool {
        self.merged.last().is_none_or(|last| last == b'\n')
    }

    /// What the next `take` would have, by stream, as far as memory has it.
    pub fn untaken(&self) -> Vec<(Stream, Vec<u8>)> {
        let terminal =
            if self.stdout.bytes() + self.stderr.bytes() == 0 { &self.merged } else { &Ends::default() };
        [(Stream::Stdout, &self.stdout), (Stream::Stderr, &self.stderr), (Stream::Terminal, terminal)]
            .into_iter()
            .filter(|(_, ends)| ends.bytes() > 0)
            .map(|(stream, ends)| (stream, ends.shown()))
            .collect()
    }

    /// What came since the last call, and starts over: the next `take` has what comes after.
    pub fn take(&mut self) -> Captured {
        let unended = u64::from(!self.ends_with_newline());
        let Portion { head, tail, omitted, .. } = std::mem::take(&mut self.merged).into();
        Captured {
            head,
            tail,
            omitted,
            lines: std::mem::take(&mut self.newlines) + unended,
            stdout: std::mem::take(&mut self.stdout).into(),
            stderr: std::mem::take(&mut self.stderr).into(),
            place: std::mem::take(&mut self.place),
            spill: self.spill.clone(),
            name: self.name.clone(),
        }
    }
}

/// Output that was taken: what memory held of it, all streams together and apart, and where the whole is.
#[derive(Debug)]
pub struct Captured {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes.
    pub tail: Vec<u8>,
    /// How many bytes are missing between them.
    pub omitted: u64,
    /// How many lines there are in all.
    pub lines: u64,
    /// What came from the pipe at descriptor 1.
    pub stdout: Portion,
    /// What came from the pipe at descriptor 2.
    pub stderr: Portion,
    place: Place,
    spill: Option<Arc<Spill>>,
    name: String,
}

/// One stream's share of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Portion {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes.
    pub tail: Vec<u8>,
    /// How many bytes are missing between them.
    pub omitted: u64,
    /// How many bytes came in all.
    pub bytes: u64,
}

/// Where the whole of an output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// All of it is in the file.
    Whole(PathBuf),
    /// Its beginning is in the file.
    Part {
        /// The file.
        path: PathBuf,
        /// How many bytes are in it.
        bytes: u64,
        /// Why there are no more, in a few words.
        why: String,
    },
    /// There is no file, for this reason.
    Nowhere(String),
}

impl Captured {
    /// How many bytes came in all.
    pub fn bytes(&self) -> u64 {
        self.head.len() as u64 + self.omitted + self.tail.len() as u64
    }

    /// Where the whole of it is. If it was all in memory, it is written now.
    pub fn keep(&mut self) -> Kept {
        let start = || begin(self.spill.as_deref(), &self.name, [&self.head, &self.tail]);
        let file = match self.place.get_or_insert_with(start) {
            Ok(file) => file,
            Err(why) => return Kept::Nowhere(why.clone()),
        };
        file.stay();
        match (file.kept(), file.fault()) {
            (0, why) => Kept::Nowhere(why.unwrap_or("there is no output").to_owned()),
            (_, None) => Kept::Whole(file.path().to_owned()),
            (bytes, Some(why)) => Kept::Part { path: file.path().to_owned(), bytes, why: why.to_owned() },
        }
    }
}

/// Begins a file with `parts`, or says why not.
fn begin(spill: Option<&Spill>, name: &str, parts: [&[u8]; 2]) -> Result<SpillFile, String> {
    let spill = spill.ok_or("there is no directory for outputs")?;
    let mut file = spill.begin(name).map_err(|error| phrase(&error))?;
    parts.iter().for_each(|part| file.append(part));
    Ok(file)
}

#[cfg(test)]
mod tests;
