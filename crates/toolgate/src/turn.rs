//! What a turn changed, by a patch or by a command: files are remembered before it, and compared after it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use exec::fs::{Door, Entry, Flow, IgnoreFiles, Kind, Stat, WalkOptions};
use patch::{Content, diff};
use policy::{Gate, Intent, Verdict};

/// A file longer than this is told of, and not shown.
const LONGEST: u64 = 1 << 20;
/// So many bytes are remembered in all.
const MOST_BYTES: usize = 128 << 20;
/// So many files are looked at.
const MOST_FILES: usize = 100_000;
/// Threads that look.
const THREADS: usize = 4;
/// So long files are read to be remembered; of the others only that they changed will be known.
const READING: Duration = Duration::from_millis(200);
/// So long they are looked for.
const LOOKING: Duration = Duration::from_secs(1);

/// Knows what files below a directory were like, and so what became of them. What ignore files hide, or rules deny to be
/// read, it does not look at.
#[derive(Debug)]
pub struct TurnDiffTracker {
    gate: Gate,
    root: PathBuf,
    before: Seen,
}

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnDiff {
    /// All of it, as a git diff; empty if nothing has changed.
    pub text: String,
    /// How many files it is about.
    pub files: usize,
    /// Not every file could be looked at: there are too many.
    pub partial: bool,
}

/// Files as they were seen.
#[derive(Debug, Default)]
struct Seen {
    files: BTreeMap<PathBuf, File>,
    bytes: usize,
    partial: bool,
}

#[derive(Debug, Clone)]
struct File {
    stat: Stat,
    /// What was in it, unless it is too long.
    bytes: Option<Arc<[u8]>>,
}

impl File {
    fn content(&self) -> Option<Content> {
        Some(Content { bytes: self.bytes.as_ref()?.to_vec(), executable: self.stat.executable })
    }

    fn is_as(&self, other: &Self) -> bool {
        let known = |file: &Self| file.bytes.is_some();
        let same = self.stat.executable == other.stat.executable;
        same && match known(self) && known(other) {
            true => self.bytes == other.bytes,
            false => self.stat == other.stat,
        }
    }
}

impl TurnDiffTracker {
    /// Remembers what is below `root` now, as far as `gate` lets it be read.
    pub(crate) fn begin(gate: &Gate, root: &Path) -> Self {
        let mut tracker = Self { gate: gate.clone(), root: root.to_owned(), before: Seen::default() };
        tracker.before = tracker.look();
        tracker
    }

    /// What changed since the last turn, and a new turn begins.
    pub fn turn(&mut self) -> TurnDiff {
        let now = self.look();
        let before = std::mem::replace(&mut self.before, now);
        between(&before, &self.before)
    }

    fn look(&self) -> Seen {
        let Verdict::Allow(permit) = self.gate.decide("turn_diff", &Intent::read(&self.root)) else {
            return Seen { partial: true, ..Seen::default() };
        };
        let door = Door::new(&permit);
        let Ok(start) = door.look(&self.root) else { return Seen { partial: true, ..Seen::default() } };
        let seen = Mutex::new(Seen::default());
        let began = Instant::now();
        let first = self.before.files.is_empty();
        let options = WalkOptions { ignore: IgnoreFiles::Respect, max_depth: None, threads: THREADS };
        let visit = |entry: &Entry<'_>| {
            let Some(file) = (entry.kind() == Kind::File)
                .then(|| self.read(entry, first && began.elapsed() > READING))
                .flatten()
            else {
                return Flow::Continue;
            };
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.add(entry.path(), file);
            if seen.files.len() >= MOST_FILES {
                seen.partial = true;
                return Flow::Stop;
            }
            Flow::Continue
        };
        let walked = door.walk(&start, &options, &|| began.elapsed() > LOOKING, || visit);
        let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        seen.partial |= walked.map_or(true, |walked| walked.stopped);
        seen
    }

    /// A file as it is: what was not written to since it was seen is not read again, and nothing if it is `late`.
    fn read(&self, entry: &Entry<'_>, late: bool) -> Option<File> {
        let stat = entry.stat().ok()?;
        if let Some(known) = self.before.files.get(entry.path()).filter(|known| known.stat == stat) {
            return Some(known.clone());
        }
        if late || stat.size > LONGEST {
            return Some(File { stat, bytes: None });
        }
        let (file, stat) = entry.open().ok()?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        file.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
        let whole = bytes.len() as u64 <= LONGEST;
        Some(File { stat, bytes: whole.then(|| bytes.into()) })
    }
}

impl Seen {
    fn add(&mut self, path: &Path, mut file: File) {
        let bytes = file.bytes.as_ref().map_or(0, |bytes| bytes.len());
        if self.bytes + bytes > MOST_BYTES {
            file.bytes = None;
        } else {
            self.bytes += bytes;
        }
        self.files.insert(path.to_owned(), file);
    }
}

fn between(before: &Seen, after: &Seen) -> TurnDiff {
    let gone = before.files.iter().filter(|(path, _)| !after.files.contains_key(*path));
    let mut gone: BTreeMap<&Path, &File> = gone.map(|(path, file)| (path.as_path(), file)).collect();
    let by_identity: HashMap<(u64, u64), &Path> =
        gone.iter().map(|(path, file)| (file.stat.identity, *path)).collect();
    let mut out = TurnDiff { partial: before.partial || after.partial, ..TurnDiff::default() };
    for (path, file) in &after.files {
        match before.files.get(path) {
            Some(was) if was.is_as(file) => {}
            Some(was) => out.show(path, None, Some(was), Some(file)),
            // Nobody looked whether it was there.
            None if before.partial => {}
            None => {
                // A file that was moved is the same file still.
                let from = by_identity.get(&file.stat.identity).filter(|from| gone.contains_key(**from));
                let was = from.and_then(|from| gone.remove(from));
                out.show(path, from.copied().filter(|_| was.is_some()), was, Some(file));
            }
        }
    }
    for (path, file) in gone.into_iter().filter(|_| !after.partial) {
        out.show(path, None, Some(file), None);
    }
    out
}

impl TurnDiff {
    fn show(&mut self, path: &Path, from: Option<&Path>, before: Option<&File>, after: Option<&File>) {
        self.files += 1;
        let name = path.to_string_lossy();
        let from = from.map(Path::to_string_lossy);
        let shown = |file: &File| file.content();
        match (before.map(shown), after.map(shown)) {
            (Some(None), _) | (_, Some(None)) => {
                let size = |file: Option<&File>| file.map_or(0, |file| file.stat.size);
                let (was, is) = (size(before), size(after));
                let _ = writeln!(
                    self.text,
                    "diff --git a/{name} b/{name}\nNot shown: {was} bytes before, {is} after"
                );
            }
            (before, after) => {
                let (before, after) = (before.flatten(), after.flatten());
                self.text.push_str(&diff(&name, from.as_deref(), before.as_ref(), after.as_ref()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(files: &[(&str, u64, &str)]) -> Seen {
        let mut seen = Seen::default();
        for (name, id, text) in files {
            let stat = Stat {
                kind: Kind::File,
                size: text.len() as u64,
                modified: None,
                identity: (1, *id),
                executable: false,
            };
            seen.add(Path::new(name), File { stat, bytes: Some(text.as_bytes().into()) });
        }
        seen
    }

    #[test]
    fn what_came_went_and_changed_is_told() {
        let before =
            seen(&[("a", 1, "one\n"), ("b", 2, "two\n"), ("c", 3, "three\n"), ("same", 4, "same\n")]);
        let after = seen(&[("a", 9, "uno\n"), ("d", 3, "three\n"), ("e", 5, "new\n"), ("same", 4, "same\n")]);
        let TurnDiff { text, files, partial } = between(&before, &after);
        assert_eq!((files, partial), (4, false));
        insta::assert_snapshot!(text, @"
        diff --git a/a b/a
        --- a/a
        +++ b/a
        @@ -1 +1 @@
        -one
        +uno
        diff --git a/c b/d
        rename from c
        rename to d
        diff --git a/e b/e
        new file mode 100644
        --- /dev/null
        +++ b/e
        @@ -0,0 +1 @@
        +new
        diff --git a/b b/b
        deleted file mode 100644
        --- a/b
        +++ /dev/null
        @@ -1 +0,0 @@
        -two
        ");
    }
}
