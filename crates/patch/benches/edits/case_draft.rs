//! A benchmark case under construction: a file, its expected result, and the patch between them.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use crate::revisions::FileRevision;
use crate::seeded_random::CaseRandom;

/// The number of context lines on each side.
const AROUND: usize = 3;
/// The maximum number of lines of a hunk.
const MOST_SAID: usize = 120;
/// The maximum number of hunks of a patch.
const MOST_PARTS: usize = 4;

/// A line of the file before, after, or both.
#[derive(Clone)]
pub(crate) struct DraftLine {
    pub(crate) id: usize,
    pub(crate) text: String,
    pub(crate) there: LinePresence,
    pub(crate) ending: DraftLineEnd,
}

/// The presence of a line before and after the change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinePresence {
    Both,
    Before,
    After,
    /// Present before; optional after.
    Open,
}

/// The line end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftLineEnd {
    Unix,
    Windows,
    /// Either is accepted.
    Any,
}

/// The sign of a line in a patch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineSign {
    Keep,
    Drop,
    Add,
}

/// A line of a patch.
#[derive(Clone)]
pub(crate) struct PatchLine {
    pub(crate) sign: LineSign,
    pub(crate) text: String,
    /// The file's line that this line refers to.
    pub(crate) cell: Option<usize>,
}

/// A hunk.
#[derive(Clone, Default)]
pub(crate) struct DraftHunk {
    pub(crate) lines: Vec<PatchLine>,
    pub(crate) headers: Vec<String>,
    pub(crate) numbers: HunkNumbers,
    /// True if the file already has the hunk's result.
    pub(crate) done: bool,
}

/// The line numbers of a hunk in a unified diff.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HunkNumbers {
    #[default]
    Right,
    /// Off by this many lines.
    Off(isize),
    /// The start is right, but the counts are wrong.
    Miscounted(usize),
    /// No numbers at all.
    Missing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DraftFormat {
    Envelope,
    Unified,
    Replace,
}

/// The wrapper around the patch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchWrapper {
    None,
    Fence(&'static str),
    Heredoc(&'static str),
    Json,
}

/// The expected result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseGoal {
    Lands,
    Refused,
    Already,
}

/// The writing style of the patch.
#[derive(Clone)]
pub(crate) struct WritingStyle {
    pub(crate) format: DraftFormat,
    pub(crate) wrap: PatchWrapper,
    /// The patch has Windows line ends.
    pub(crate) windows: bool,
    /// Blank context lines have no leading space.
    pub(crate) tight: bool,
    /// A diff marks a missing last newline.
    pub(crate) marks_bare: bool,
    /// The texts of a replacement end with a newline.
    pub(crate) ended: bool,
}

#[derive(Clone)]
pub(crate) struct CaseDraft {
    pub(crate) path: String,
    pub(crate) cells: Vec<DraftLine>,
    pub(crate) parts: Vec<DraftHunk>,
    pub(crate) manner: WritingStyle,
    pub(crate) goal: CaseGoal,
    pub(crate) bom: bool,
    /// The last line has no newline.
    pub(crate) bare: bool,
    /// The hunks are not in the file's order.
    pub(crate) shuffled: bool,
    /// The damage makes the meaning of the patch unclear.
    pub(crate) doubt: bool,
}

impl CaseDraft {
    /// Creates a draft from some hunks of `revision`.
    pub(crate) fn from_revision(
        revision: &FileRevision,
        format: DraftFormat,
        chance: &mut CaseRandom,
    ) -> Option<Self> {
        let bare = !revision.old.ends_with('\n');
        if bare == revision.new.ends_with('\n') {
            return None;
        }
        let (old, new) = (lines(&revision.old), lines(&revision.new));
        let groups = revision
            .groups
            .get_or_init(|| group_diff_ops(capture_diff_slices(Algorithm::Patience, &old, &new), AROUND));
        let first = chance.below(groups.len());
        let most = if format == DraftFormat::Replace { 1 } else { 1 + chance.below(MOST_PARTS) };
        let groups = groups.get(first..(first + most).min(groups.len()))?;
        let said = |group: &Vec<DiffOp>| {
            group.iter().map(|op| op.old_range().len() + op.new_range().len()).sum::<usize>() <= MOST_SAID
        };
        if groups.is_empty() || !groups.iter().all(said) {
            return None;
        }
        let ending = if revision.old.contains("\r\n") { DraftLineEnd::Windows } else { DraftLineEnd::Unix };
        let mut making = DraftBuilder { old: &old, new: &new, ending, cells: Vec::new(), taken: 0 };
        let parts: Vec<DraftHunk> = groups.iter().map(|group| making.part(group)).collect();
        making.keep_until(old.len());
        let manner = WritingStyle {
            format,
            wrap: PatchWrapper::None,
            windows: false,
            tight: false,
            marks_bare: chance.once_in(2),
            ended: chance.once_in(2),
        };
        let path = revision.path.split_once('/').map_or(&*revision.path, |(_, path)| path).to_owned();
        let (goal, cells) = (CaseGoal::Lands, making.cells);
        let draft =
            Self { path, cells, parts, manner, goal, bom: false, bare, shuffled: false, doubt: false };
        Some(draft.without_mark())
    }

    /// Moves a byte order mark of the real file out of the first line's text.
    fn without_mark(mut self) -> Self {
        let marked = |text: &String| text.starts_with('\u{feff}');
        self.bom = self.cells.iter().any(|cell| marked(&cell.text));
        let texts = self.cells.iter_mut().map(|cell| &mut cell.text);
        for text in
            texts.chain(self.parts.iter_mut().flat_map(|part| &mut part.lines).map(|said| &mut said.text))
        {
            if marked(text) {
                text.remove(0);
            }
        }
        self
    }

    /// Returns the lines that are in the file before the change.
    pub(crate) fn rows(&self) -> Vec<&DraftLine> {
        self.cells.iter().filter(|cell| cell.there != LinePresence::After).collect()
    }

    /// Returns the index of a line in the file.
    pub(crate) fn row(&self, id: usize) -> Option<usize> {
        self.rows().iter().position(|cell| cell.id == id)
    }

    pub(crate) fn cell_mut(&mut self, id: usize) -> Option<&mut DraftLine> {
        self.cells.iter_mut().find(|cell| cell.id == id)
    }

    pub(crate) fn cell(&self, id: usize) -> Option<&DraftLine> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// Returns an unused line id.
    pub(crate) fn next_id(&self) -> usize {
        self.cells.iter().map(|cell| cell.id).max().map_or(0, |id| id + 1)
    }

    /// Returns the content of the file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let rows = self.rows();
        let mut whole = if self.bom { "\u{feff}".to_owned() } else { String::new() };
        for (at, cell) in rows.iter().enumerate() {
            whole.push_str(&cell.text);
            if at + 1 < rows.len() || !self.bare {
                whole.push_str(if cell.ending == DraftLineEnd::Windows { "\r\n" } else { "\n" });
            }
        }
        whole.into_bytes()
    }

    /// Returns the expected lines of the result; `open` includes the optional ones.
    pub(crate) fn expected_lines(&self, open: bool) -> Vec<&DraftLine> {
        let stays = |cell: &&DraftLine| match cell.there {
            LinePresence::Both | LinePresence::After => true,
            LinePresence::Before => false,
            LinePresence::Open => open,
        };
        self.cells.iter().filter(stays).collect()
    }

    /// Returns true if `bytes` are an accepted result.
    pub(crate) fn accepts(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let (marked, text) = text.strip_prefix('\u{feff}').map_or((false, &*text), |text| (true, text));
        marked == self.bom && (self.fits(text, true) || self.fits(text, false))
    }

    fn fits(&self, text: &str, open: bool) -> bool {
        let wanted = self.expected_lines(open);
        let last_before = self.rows().last().map(|cell| cell.id);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let fits = |(at, (line, cell)): (usize, (&&str, &&DraftLine))| {
            let Some(rest) = line.strip_prefix(cell.text.as_str()) else { return false };
            let last = at + 1 == lines.len();
            // An envelope cannot mark a new last line without a newline. A line that was not the last had one.
            let was_inner = cell.there != LinePresence::After && Some(cell.id) != last_before;
            let may_end =
                !last || !self.bare || was_inner || cell.there == LinePresence::After && !self.says_bare();
            match rest {
                "" => last && self.bare,
                "\n" => may_end && cell.ending != DraftLineEnd::Windows,
                "\r\n" => may_end && cell.ending != DraftLineEnd::Unix,
                _ => false,
            }
        };
        lines.len() == wanted.len() && lines.iter().zip(&wanted).enumerate().all(fits)
    }

    /// Returns true if the patch says that the last line has no newline.
    pub(crate) fn says_bare(&self) -> bool {
        match self.manner.format {
            DraftFormat::Envelope => false,
            DraftFormat::Unified => self.manner.marks_bare,
            DraftFormat::Replace => !self.manner.ended,
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Builds draft lines from a revision, from the top.
struct DraftBuilder<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    ending: DraftLineEnd,
    cells: Vec<DraftLine>,
    /// The number of old lines already converted.
    taken: usize,
}

impl DraftBuilder<'_> {
    fn push(&mut self, text: &str, there: LinePresence) -> usize {
        let id = self.cells.len();
        self.cells.push(DraftLine { id, text: text.to_owned(), there, ending: self.ending });
        id
    }

    fn keep_until(&mut self, end: usize) {
        for at in self.taken..end {
            self.push(self.old[at], LinePresence::Both);
        }
        self.taken = self.taken.max(end);
    }

    fn part(&mut self, group: &[DiffOp]) -> DraftHunk {
        let mut part = DraftHunk::default();
        for op in group {
            self.keep_until(op.old_range().start);
            let (sign, there) = match op.tag() {
                DiffTag::Equal => (LineSign::Keep, LinePresence::Both),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    (LineSign::Drop, LinePresence::Before)
                }
            };
            for at in op.old_range() {
                let cell = Some(self.push(self.old[at], there));
                part.lines.push(PatchLine { sign, text: self.old[at].to_owned(), cell });
            }
            self.taken = op.old_range().end;
            if sign == LineSign::Keep {
                continue;
            }
            for at in op.new_range() {
                let cell = Some(self.push(self.new[at], LinePresence::After));
                part.lines.push(PatchLine { sign: LineSign::Add, text: self.new[at].to_owned(), cell });
            }
        }
        part
    }
}

impl DraftHunk {
    /// Returns the old lines of the hunk.
    pub(crate) fn old_lines(&self) -> impl Iterator<Item = &PatchLine> {
        self.lines.iter().filter(|said| said.sign != LineSign::Add)
    }

    /// Returns the indices of specific lines with this `sign`.
    pub(crate) fn telling_lines(&self, sign: LineSign) -> Vec<usize> {
        let tells = |at: &usize| self.lines[*at].sign == sign && is_telling(&self.lines[*at].text);
        (0..self.lines.len()).filter(tells).collect()
    }
}

/// Returns true if a line has more than two alphanumeric characters.
pub(crate) fn is_telling(line: &str) -> bool {
    line.chars().filter(|char| char.is_alphanumeric()).count() > 2
}

/// Returns the leading whitespace of a line.
pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
