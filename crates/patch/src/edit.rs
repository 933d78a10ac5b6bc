//! What a patch asks for, whatever format it came in.

/// A patch: what to do to which files, in its own order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// One after the other; a file may be named once only.
    pub edits: Vec<Edit>,
}

/// What to do to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, as the patch spells it.
    pub path: String,
    /// The line of the patch text that names it, from 1.
    pub line: usize,
    /// What to do.
    pub action: Action,
    /// What git calls the file's content before and after, if a diff of git says. Models make it up.
    pub blobs: Option<(String, String)>,
}

/// What may be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The file gets this content, whether it exists or not.
    Write {
        /// All of it.
        content: String,
        /// Whether it can be run, if the patch says.
        executable: Option<bool>,
    },
    /// The file is new and gets this content. Another that is there already is in the way.
    Create {
        /// All of it.
        content: String,
        /// Whether it can be run, if the patch says.
        executable: Option<bool>,
    },
    /// The file goes away.
    Delete {
        /// What the patch says was in it: nothing, or all of its lines.
        hunks: Vec<Hunk>,
    },
    /// Places in the file change.
    Update {
        /// The places, in the order in which the patch names them. None: it is only moved, or its mode changes.
        hunks: Vec<Hunk>,
        /// Where the result goes.
        target: Target,
        /// Whether it can be run, if the patch says.
        executable: Option<bool>,
    },
    /// A text in the file becomes another.
    Replace {
        /// What is there; empty: the file is new.
        old: String,
        /// What shall be there.
        new: String,
        /// Wherever it is there; otherwise it must be there once.
        all: bool,
    },
}

/// Where the result of an update goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Target {
    /// Where the file was.
    #[default]
    Same,
    /// There, whatever is there, and the file is gone from where it was.
    Moved(String),
    /// There, where no other file may be left, and the file is gone from where it was: as git renames.
    Renamed(String),
    /// There, where no other file may be left, and the file stays as it was: as git copies.
    Copied(String),
}

/// One place in a file that changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// The line of the patch text where it begins, from 1.
    pub line: usize,
    /// Lines that stand somewhere before it in the file, the outermost first.
    pub headers: Vec<String>,
    /// Its first line in the old file, from 1, if the patch says: often wrong.
    pub at: Option<usize>,
    /// Its first line in the new file, from 1, if the patch says.
    pub new_at: Option<usize>,
    /// What stays, goes and comes.
    pub lines: Vec<Line>,
    /// Which of the lines end with `\r\n` in the file, if any do in the patch; empty: it does not say.
    pub returns: Vec<bool>,
    /// It is at the end of the file.
    pub at_end: bool,
    /// The patch says that the last of the old lines has no newline.
    pub old_bare: bool,
    /// The patch says that the last of the new lines has no newline.
    pub new_bare: bool,
    /// Which of the lines have no sign: they are taken to stay, if the file proves it. Others may then lack theirs too.
    pub unsigned: Vec<usize>,
}

/// A line of a hunk, without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// It is there and stays.
    Keep(String),
    /// It is there and goes.
    Drop(String),
    /// It comes.
    Add(String),
}

impl Hunk {
    /// The lines that must be there: what stays and what goes.
    pub fn old(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            Line::Keep(text) | Line::Drop(text) => Some(text.as_str()),
            Line::Add(_) => None,
        })
    }

    /// The lines that will be there: what stays and what comes.
    pub fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            Line::Keep(text) | Line::Add(text) => Some(text.as_str()),
            Line::Drop(_) => None,
        })
    }
}

impl Patch {
    /// Every path that it names, as it spells them.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.edits
            .iter()
            .flat_map(|edit| [Some(edit.path.as_str()), edit.action.target()].into_iter().flatten())
    }

    /// Spells every path as `name` says.
    pub fn rename(&mut self, mut name: impl FnMut(&str) -> String) {
        for edit in &mut self.edits {
            edit.path = name(&edit.path);
            if let Action::Update {
                target: Target::Moved(to) | Target::Renamed(to) | Target::Copied(to),
                ..
            } = &mut edit.action
            {
                *to = name(to);
            }
        }
    }
}

impl Action {
    /// Where the result goes, if that is elsewhere.
    fn target(&self) -> Option<&str> {
        match self {
            Self::Update { target: Target::Moved(to) | Target::Renamed(to) | Target::Copied(to), .. } => {
                Some(to)
            }
            _ => None,
        }
    }
}
