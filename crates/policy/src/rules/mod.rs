//! Rules that people write: which commands, paths, tools and hosts are allowed, asked about or forbidden.
//!
//! A file of rules is text to this module; who finds, reads and saves the files is `exec`. Rules of all layers are kept side
//! by side, and of those that match the strictest wins: no order of rules or files can loosen what another one says.
//!
//! ```
//! use std::path::Path;
//! use toolgate_policy::rules::{Decision, Layer, Rules, strictest};
//! use toolgate_policy::shell::Word;
//!
//! let text = r#"
//! [[rule]]
//! pattern = ["git", ["push", "fetch"]]
//! decision = "ask"
//! match = ["git push origin main"]
//! "#;
//! let rules = Rules::parse(text, Path::new("rules.toml"), Layer::User).unwrap();
//! let words = ["git", "fetch"].map(|word| Word::Literal(word.to_owned()));
//! let found = rules.command(&words, false);
//! assert_eq!(strictest(&found.certain).unwrap().rule.decision, Decision::Ask);
//! ```

mod command;
mod example;
mod fault;
mod field;
pub mod import;
mod likely;
mod parse;
mod path;
mod subject;
mod tool;
mod warning;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub use command::{Matched, Matches, strictest};
pub use example::Tried;
pub use fault::RuleFault;
pub use path::Where;
pub use tool::{check as check_tool, concerns as concerns_tool, fits as fits_tool};
pub use warning::Warning;
pub use write::{Added, NewRule, add};

use crate::Host;
use crate::shell::Word;

/// The largest file of rules, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most words of a pattern.
pub const MAX_WORDS: usize = 100;

/// What a rule says. The stricter is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It is done without a question; a command runs confined unless its rule says otherwise.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is not done, and nobody is asked.
    Forbid,
}

impl Decision {
    /// As it stands in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Forbid => "forbid",
        }
    }
}

/// Whose rules they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The machine's, for everybody on it.
    System,
    /// The user's own.
    User,
    /// Those of whoever wrote the project: they may only tighten.
    Project,
}

impl Layer {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// What a rule for paths is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading and listing.
    Read,
    /// Changing.
    Write,
}

impl Access {
    /// As it stands in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// Commands that begin with these words.
    Command {
        /// At each position one of these.
        pattern: Vec<Vec<String>>,
        /// No more words may follow.
        exact: bool,
    },
    /// These paths, and all that is below them.
    Path {
        /// One or more.
        paths: Vec<Where>,
        /// What is done there.
        access: Access,
    },
    /// Tools with these names; `*` stands for any letters.
    Tool {
        /// One or more.
        names: Vec<String>,
    },
    /// These hosts.
    Host {
        /// One or more.
        hosts: Vec<Host>,
    },
}

/// One rule, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Whose it is.
    pub layer: Layer,
    /// The file it is from.
    pub file: Arc<Path>,
    /// Its line there, from 1.
    pub line: usize,
    /// What it is about.
    pub on: On,
    /// What it says.
    pub decision: Decision,
    /// Why, for whoever is refused or asked.
    pub reason: Option<String>,
    /// What it allows runs without confinement. Never without [`Decision::Allow`] and [`On::Command`].
    pub unsandboxed: bool,
}

/// All rules in force.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Rules for commands by the words that may stand first.
    by_first: HashMap<String, Vec<usize>>,
}

impl Rules {
    /// Reads the rules in `text`. `file` is for faults, and says what a project's relative paths start from: the directory
    /// that the file is in, or the one above if that is called `.toolgate`.
    pub fn parse(text: &str, file: &Path, layer: Layer) -> Result<Self, RuleFault> {
        let read = parse::read(text, file, layer)?;
        match read.tried.iter().find_map(|tried| Some((tried, tried.fault.as_ref()?))) {
            Some((tried, why)) => Err(RuleFault::at(file, (tried.line, tried.column), why.clone())),
            None => Ok(read.rules.into_iter().collect()),
        }
    }

    /// Tries every `match` and `not_match` example of `text`, each against its own rule.
    pub fn examples(text: &str, file: &Path, layer: Layer) -> Result<Vec<Tried>, RuleFault> {
        Ok(parse::read(text, file, layer)?.tried)
    }

    /// These rules and `others`.
    #[must_use]
    pub fn merge(mut self, others: Self) -> Self {
        self.extend(others.rules);
        self
    }

    /// The same rules, of which none lets a command leave the sandbox.
    #[must_use]
    pub fn confined(mut self) -> Self {
        self.rules.iter_mut().for_each(|rule| rule.unsandboxed = false);
        self
    }

    /// The same rules, of which those that take something away hold below `to` as they do below `from`.
    #[must_use]
    pub fn mirrored(mut self, from: &Path, to: &Path) -> Self {
        let there = |place: &Where| match place {
            Where::At(path) => path.strip_prefix(from).ok().map(|below| Where::At(to.join(below))),
            Where::Home(_) | Where::Glob(_) => None,
        };
        for rule in self.rules.iter_mut().filter(|rule| rule.decision != Decision::Allow) {
            if let On::Path { paths, .. } = &mut rule.on {
                let more: Vec<Where> = paths.iter().filter_map(there).collect();
                paths.extend(more);
            }
        }
        self
    }

    /// Every rule, in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules that do not allow, and that may be about the command `words` though they do not match it as it is written:
    /// options stand between its words, or its program is given by another path.
    pub(crate) fn likely(&self, words: &[Word]) -> Vec<&Rule> {
        likely::likely(self, words)
    }

    /// The rules for a command of these words, of which `more` may follow that nobody knows.
    pub fn command(&self, words: &[Word], more: bool) -> Matches<'_> {
        command::matches(self, words, more)
    }

    /// The rules for the tool `name`. A rule that forbids or asks counts by every name of the tool, and for every shell if it
    /// names one: a model can call all of them. A rule that allows counts by the tool's own name only.
    pub fn tool(&self, name: &str) -> Vec<&Rule> {
        let about = |rule: &&Rule| {
            let On::Tool { names } = &rule.on else { return false };
            names.iter().any(|pattern| match rule.decision {
                Decision::Allow => tool::fits(pattern, name),
                Decision::Ask | Decision::Forbid => tool::concerns(pattern, name),
            })
        };
        self.rules.iter().filter(about).collect()
    }

    /// Makes every rule that asks or forbids and concerns the tool `name` count for the tool `other` too, which answers for it.
    pub fn extend_to_tool(&mut self, name: &str, other: &str) {
        for rule in &mut self.rules {
            let is_narrowing = matches!(rule.decision, Decision::Ask | Decision::Forbid);
            if let On::Tool { names } = &mut rule.on
                && is_narrowing
                && names.iter().any(|pattern| tool::concerns(pattern, name))
            {
                names.push(other.to_owned());
            }
        }
    }

    /// The rules for talking to the host `name`, a name or an address, at `port`.
    pub fn host(&self, name: &str, port: u16) -> Vec<&Rule> {
        self.about(|on| matches!(on, On::Host { hosts } if hosts.iter().any(|host| host.covers(name, port))))
    }

    /// The rules for paths.
    pub fn paths(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| matches!(rule.on, On::Path { .. }))
    }

    /// What allowing rules open, where that is more than they seem to.
    pub fn warnings(&self) -> Vec<Warning<'_>> {
        warning::warnings(self)
    }

    fn about(&self, is: impl Fn(&On) -> bool) -> Vec<&Rule> {
        self.rules.iter().filter(|rule| is(&rule.on)).collect()
    }
}

impl Extend<Rule> for Rules {
    fn extend<I: IntoIterator<Item = Rule>>(&mut self, rules: I) {
        for rule in rules {
            let at = self.rules.len();
            if let On::Command { pattern, .. } = &rule.on {
                for first in pattern.first().into_iter().flatten() {
                    self.by_first.entry(first.clone()).or_default().push(at);
                }
            }
            self.rules.push(rule);
        }
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        let mut all = Self::default();
        all.extend(rules);
        all
    }
}
