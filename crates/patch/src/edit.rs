//! The edits that a patch asks for, independent of the patch format.

/// A parsed patch: edits to files, in the patch's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedPatch {
    /// The edits, in order. A file may be named more than once; the plan rejects edits that contradict each other.
    pub edits: Vec<FileEdit>,
}

/// An edit to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The path of the file, as the patch spells it.
    pub path: String,
    /// The line of the patch text that names the file, counted from 1.
    pub line: usize,
    /// The change to make.
    pub action: EditAction,
    /// Git's blob ids of the content before and after, if a git diff gives them. Models make them up.
    pub blob_ids: Option<(String, String)>,
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditAction {
    /// Writes this content to the file, whether it exists or not.
    Write {
        /// The complete content.
        content: String,
        /// The executable bit, if the patch sets it.
        executable: Option<bool>,
    },
    /// Creates the file with this content. An existing file with other content is an error.
    Create {
        /// The complete content.
        content: String,
        /// The executable bit, if the patch sets it.
        executable: Option<bool>,
    },
    /// Deletes the file.
    Delete {
        /// The content that the patch says the file had: no hunks, or all of its lines.
        hunks: Vec<Hunk>,
    },
    /// Changes parts of the file.
    Update {
        /// The hunks, in the order of the patch. If empty, the file is only moved or its mode changes.
        hunks: Vec<Hunk>,
        /// The destination of the result.
        target: UpdateTarget,
        /// The executable bit, if the patch sets it.
        executable: Option<bool>,
    },
    /// Replaces one text in the file by another.
    Replace {
        /// The text to replace. If empty, the file is new.
        old: String,
        /// The replacement.
        new: String,
        /// Replaces every occurrence. Otherwise the text must occur exactly once.
        all: bool,
    },
}

/// The destination of an update's result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum UpdateTarget {
    /// The path of the file itself.
    #[default]
    Same,
    /// Moves the file to this path and overwrites any file there.
    Moved(String),
    /// Moves the file to this path, as a git rename does. No other file may remain there.
    Renamed(String),
    /// Copies the file to this path, as a git copy does. No other file may remain there.
    Copied(String),
}

/// A hunk: one place in a file that changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// The line of the patch text where the hunk begins, counted from 1.
    pub line: usize,
    /// The `@@` headers: lines that stand somewhere above the hunk in the file, outermost first.
    pub headers: Vec<String>,
    /// The hunk's first line in the old file, counted from 1, if the patch gives it. It is often wrong.
    pub old_start: Option<usize>,
    /// The hunk's first line in the new file, counted from 1, if the patch gives it.
    pub new_start: Option<usize>,
    /// The context, removed and added lines.
    pub lines: Vec<HunkLine>,
    /// For each line, whether it ends with `\r\n` in the file. Empty if no line of the patch does: then the patch does
    /// not say.
    pub crlf: Vec<bool>,
    /// True if the hunk is at the end of the file.
    pub at_end: bool,
    /// True if the patch says that the last old line has no newline.
    pub old_without_newline: bool,
    /// True if the patch says that the last new line has no newline.
    pub new_without_newline: bool,
    /// Indices of lines without a sign. They count as context if the file proves it; other lines may then lack their
    /// sign too.
    pub unsigned_lines: Vec<usize>,
}

/// A line of a hunk, without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    /// A context line: it is in the file and stays.
    Keep(String),
    /// A removed line: it is in the file and goes.
    Drop(String),
    /// An added line.
    Add(String),
}

impl Hunk {
    /// Returns the old lines, which must be in the file: context and removed lines.
    pub fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Drop(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        })
    }

    /// Returns the new lines, which will be in the file: context and added lines.
    pub fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Drop(_) => None,
        })
    }
}

impl ParsedPatch {
    /// Returns every path that the patch names, as it spells them.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.edits
            .iter()
            .flat_map(|edit| [Some(edit.path.as_str()), edit.action.target_path()].into_iter().flatten())
    }

    /// Replaces every path by the result of `name`.
    pub fn rename_paths(&mut self, mut name: impl FnMut(&str) -> String) {
        for edit in &mut self.edits {
            edit.path = name(&edit.path);
            if let EditAction::Update {
                target: UpdateTarget::Moved(to) | UpdateTarget::Renamed(to) | UpdateTarget::Copied(to),
                ..
            } = &mut edit.action
            {
                *to = name(to);
            }
        }
    }
}

impl EditAction {
    /// Returns the destination path, if it differs from the source.
    fn target_path(&self) -> Option<&str> {
        match self {
            Self::Update {
                target: UpdateTarget::Moved(to) | UpdateTarget::Renamed(to) | UpdateTarget::Copied(to),
                ..
            } => Some(to),
            _ => None,
        }
    }
}
