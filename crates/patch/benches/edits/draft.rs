//! A case while it is made: a file, what shall become of it, and what a patch says about that.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use crate::chance::Chance;
use crate::histories::Revision;

/// Lines of context on each side.
const AROUND: usize = 3;
/// Hunks that say more are left out.
const MOST_SAID: usize = 120;
/// Hunks of one patch.
const MOST_PARTS: usize = 4;

/// A line of the file before, after, or both.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) id: usize,
    pub(crate) text: String,
    pub(crate) there: There,
    pub(crate) ending: Ending,
}

/// When a line is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum There {
    Both,
    Before,
    After,
    /// Before; after, it may be or not.
    Open,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Unix,
    Windows,
    /// Nobody can say.
    Any,
}

/// What a patch says of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Keep,
    Drop,
    Add,
}

/// A line of a patch.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) sign: Sign,
    pub(crate) text: String,
    /// The line of the file that is meant.
    pub(crate) cell: Option<usize>,
}

/// A hunk.
#[derive(Clone, Default)]
pub(crate) struct Part {
    pub(crate) lines: Vec<Said>,
    pub(crate) headers: Vec<String>,
    pub(crate) numbers: Numbers,
    /// The file has what it asks for.
    pub(crate) done: bool,
}

/// What a unified diff says of where a hunk is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Numbers {
    #[default]
    Right,
    /// So many lines too far down.
    Off(isize),
    /// The place is right, and the counts are not.
    Miscounted(usize),
    /// None at all.
    Missing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Envelope,
    Unified,
    Replace,
}

/// What stands around the patch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    None,
    Fence(&'static str),
    Heredoc(&'static str),
    Json,
}

/// What must come of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Lands,
    Refused,
    Already,
}

/// How the patch is written.
#[derive(Clone)]
pub(crate) struct Manner {
    pub(crate) format: Format,
    pub(crate) wrap: Wrap,
    /// Lines of the patch end as Windows has it.
    pub(crate) windows: bool,
    /// Blank lines of context have no space before them.
    pub(crate) tight: bool,
    /// It says that there is no newline at the end, where a diff can.
    pub(crate) marks_bare: bool,
    /// The texts of a replacement end with a newline.
    pub(crate) ended: bool,
}

#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) path: String,
    pub(crate) cells: Vec<Cell>,
    pub(crate) parts: Vec<Part>,
    pub(crate) manner: Manner,
    pub(crate) goal: Goal,
    pub(crate) bom: bool,
    /// The last line has no newline.
    pub(crate) bare: bool,
    /// The hunks are not in the file's order.
    pub(crate) shuffled: bool,
    /// By its nature nobody can tell what is meant.
    pub(crate) doubt: bool,
}

impl Draft {
    /// Some hunks of `revision`.
    pub(crate) fn of(revision: &Revision, format: Format, chance: &mut Chance) -> Option<Self> {
        let bare = !revision.old.ends_with('\n');
        if bare == revision.new.ends_with('\n') {
            return None;
        }
        let (old, new) = (lines(&revision.old), lines(&revision.new));
        let groups = revision
            .groups
            .get_or_init(|| group_diff_ops(capture_diff_slices(Algorithm::Patience, &old, &new), AROUND));
        let first = chance.below(groups.len());
        let most = if format == Format::Replace { 1 } else { 1 + chance.below(MOST_PARTS) };
        let groups = groups.get(first..(first + most).min(groups.len()))?;
        let said = |group: &Vec<DiffOp>| {
            group.iter().map(|op| op.old_range().len() + op.new_range().len()).sum::<usize>() <= MOST_SAID
        };
        if groups.is_empty() || !groups.iter().all(said) {
            return None;
        }
        let ending = if revision.old.contains("\r\n") { Ending::Windows } else { Ending::Unix };
        let mut making = Making { old: &old, new: &new, ending, cells: Vec::new(), taken: 0 };
        let parts: Vec<Part> = groups.iter().map(|group| making.part(group)).collect();
        making.keep_until(old.len());
        let manner = Manner {
            format,
            wrap: Wrap::None,
            windows: false,
            tight: false,
            marks_bare: chance.once_in(2),
            ended: chance.once_in(2),
        };
        let path = revision.path.split_once('/').map_or(&*revision.path, |(_, path)| path).to_owned();
        let (goal, cells) = (Goal::Lands, making.cells);
        let draft =
            Self { path, cells, parts, manner, goal, bom: false, bare, shuffled: false, doubt: false };
        Some(draft.without_mark())
    }

    /// A byte order mark of the real file is no line's text.
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

    /// The lines that are in the file.
    pub(crate) fn rows(&self) -> Vec<&Cell> {
        self.cells.iter().filter(|cell| cell.there != There::After).collect()
    }

    /// The place of a line in the file, from 0.
    pub(crate) fn row(&self, id: usize) -> Option<usize> {
        self.rows().iter().position(|cell| cell.id == id)
    }

    pub(crate) fn cell_mut(&mut self, id: usize) -> Option<&mut Cell> {
        self.cells.iter_mut().find(|cell| cell.id == id)
    }

    pub(crate) fn cell(&self, id: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// A number that no line has.
    pub(crate) fn fresh(&self) -> usize {
        self.cells.iter().map(|cell| cell.id).max().map_or(0, |id| id + 1)
    }

    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let rows = self.rows();
        let mut whole = if self.bom { "\u{feff}".to_owned() } else { String::new() };
        for (at, cell) in rows.iter().enumerate() {
            whole.push_str(&cell.text);
            if at + 1 < rows.len() || !self.bare {
                whole.push_str(if cell.ending == Ending::Windows { "\r\n" } else { "\n" });
            }
        }
        whole.into_bytes()
    }

    /// The lines that are to be in the file, with those that may be or not.
    pub(crate) fn wanted(&self, open: bool) -> Vec<&Cell> {
        let stays = |cell: &&Cell| match cell.there {
            There::Both | There::After => true,
            There::Before => false,
            There::Open => open,
        };
        self.cells.iter().filter(stays).collect()
    }

    /// Whether `bytes` are what the file is to be.
    pub(crate) fn accepts(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let (marked, text) = text.strip_prefix('\u{feff}').map_or((false, &*text), |text| (true, text));
        marked == self.bom && (self.fits(text, true) || self.fits(text, false))
    }

    fn fits(&self, text: &str, open: bool) -> bool {
        let wanted = self.wanted(open);
        let last_before = self.rows().last().map(|cell| cell.id);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let fits = |(at, (line, cell)): (usize, (&&str, &&Cell))| {
            let Some(rest) = line.strip_prefix(cell.text.as_str()) else { return false };
            let last = at + 1 == lines.len();
            // An envelope cannot say that a new last line has no newline; and what was not the last line had one.
            let was_inner = cell.there != There::After && Some(cell.id) != last_before;
            let may_end = !last || !self.bare || was_inner || cell.there == There::After && !self.says_bare();
            match rest {
                "" => last && self.bare,
                "\n" => may_end && cell.ending != Ending::Windows,
                "\r\n" => may_end && cell.ending != Ending::Unix,
                _ => false,
            }
        };
        lines.len() == wanted.len() && lines.iter().zip(&wanted).enumerate().all(fits)
    }

    /// Whether the patch says that the last line has no newline.
    pub(crate) fn says_bare(&self) -> bool {
        match self.manner.format {
            Format::Envelope => false,
            Format::Unified => self.manner.marks_bare,
            Format::Replace => !self.manner.ended,
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Revisions turned into cells, from the top.
struct Making<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    ending: Ending,
    cells: Vec<Cell>,
    /// Old lines that are in cells.
    taken: usize,
}

impl Making<'_> {
    fn push(&mut self, text: &str, there: There) -> usize {
        let id = self.cells.len();
        self.cells.push(Cell { id, text: text.to_owned(), there, ending: self.ending });
        id
    }

    fn keep_until(&mut self, end: usize) {
        for at in self.taken..end {
            self.push(self.old[at], There::Both);
        }
        self.taken = self.taken.max(end);
    }

    fn part(&mut self, group: &[DiffOp]) -> Part {
        let mut part = Part::default();
        for op in group {
            self.keep_until(op.old_range().start);
            let (sign, there) = match op.tag() {
                DiffTag::Equal => (Sign::Keep, There::Both),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => (Sign::Drop, There::Before),
            };
            for at in op.old_range() {
                let cell = Some(self.push(self.old[at], there));
                part.lines.push(Said { sign, text: self.old[at].to_owned(), cell });
            }
            self.taken = op.old_range().end;
            if sign == Sign::Keep {
                continue;
            }
            for at in op.new_range() {
                let cell = Some(self.push(self.new[at], There::After));
                part.lines.push(Said { sign: Sign::Add, text: self.new[at].to_owned(), cell });
            }
        }
        part
    }
}

impl Part {
    /// The lines that the patch says are there.
    pub(crate) fn old(&self) -> impl Iterator<Item = &Said> {
        self.lines.iter().filter(|said| said.sign != Sign::Add)
    }

    /// Where lines of `sign` are that say something.
    pub(crate) fn telling(&self, sign: Sign) -> Vec<usize> {
        let tells = |at: &usize| self.lines[*at].sign == sign && is_telling(&self.lines[*at].text);
        (0..self.lines.len()).filter(tells).collect()
    }
}

/// Whether a line says something.
pub(crate) fn is_telling(line: &str) -> bool {
    line.chars().filter(|char| char.is_alphanumeric()).count() > 2
}

/// The blanks that a line begins with.
pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
