//! Reads words: quotes and escapes are resolved as bash resolves them, and what is expanded becomes unknown.

use crate::shell::Word;
use crate::shell::cursor::{Read, Reader, Stop, is_break};
use crate::shell::syntax::{Dialect, Inner, Join, Kind, Node, Spread, Term, kind_of};

/// A word while it is read.
#[derive(Debug)]
pub(crate) struct Build {
    /// What is known so far, up to the first part that is not.
    value: String,
    known: bool,
    spread: Spread,
    names: Option<Vec<String>>,
    /// How many parts are not known, and how many of them are numbers.
    unknown: usize,
    numbers: usize,
    /// Something was read, if only a pair of quotes.
    pub(crate) begun: bool,
    /// Something follows the first part that is not known.
    tail: bool,
    /// Where the first open brace without quotes is.
    brace: Option<usize>,
    /// A `$` that begins nothing.
    pub(crate) bare_dollar: bool,
}

/// What is known of a part that is not literal.
#[derive(Debug)]
pub(crate) enum Part {
    /// The value of this variable.
    Variable(String),
    Number,
    /// File names, or a home directory.
    Path,
    Other,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            value: String::new(),
            known: true,
            spread: Spread::One,
            names: Some(Vec::new()),
            unknown: 0,
            numbers: 0,
            begun: false,
            tail: false,
            brace: None,
            bare_dollar: false,
        }
    }
}

impl Build {
    pub(crate) fn push(&mut self, next: char) {
        self.begun = true;
        if self.known {
            self.value.push(next);
        } else {
            self.tail = true;
        }
    }

    /// Adds a part that is not known and may become `spread` words.
    pub(crate) fn add(&mut self, part: Part, spread: Spread) {
        self.begun = true;
        self.tail |= !self.known;
        self.known = false;
        self.unknown += 1;
        match part {
            Part::Variable(name) => {
                if let Some(names) = &mut self.names {
                    names.push(name);
                }
            }
            Part::Number => self.numbers += 1,
            Part::Path | Part::Other => self.names = None,
        }
        self.spread = match (self.spread, spread) {
            (Spread::Any, _) | (_, Spread::Any) => Spread::Any,
            (Spread::Names, _) | (_, Spread::Names) => Spread::Names,
            (Spread::One, Spread::One) => Spread::One,
        };
    }

    /// What is known, if all of it is.
    pub(crate) fn known(&self) -> Option<&str> {
        self.known.then_some(self.value.as_str())
    }

    /// The word, which is written as `raw`.
    pub(crate) fn finish(mut self, raw: &str) -> Term {
        let listed = raw.contains(',') || raw.contains("..");
        let mut kind = Kind::Any;
        if let Some(at) = self.brace.filter(|_| listed) {
            self.value.truncate(at);
            self.add(Part::Other, Spread::Names);
            if is_number_range(raw) {
                kind = Kind::Number;
            }
        } else if self.known {
            return Term::literal(&self.value);
        } else if self.numbers == 1 && self.unknown == 1 && !self.tail && self.value.is_empty() {
            kind = Kind::Number;
        }
        Term {
            word: Word::Unknown(raw.to_owned()),
            prefix: self.value,
            spread: self.spread,
            kind,
            names: self.names,
            assigns: false,
        }
    }
}

/// Whether it is `{1..9}`.
fn is_number_range(raw: &str) -> bool {
    let inside = raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inside.and_then(|inside| inside.split_once("..")).is_some_and(|(from, to)| {
        !from.is_empty() && !to.is_empty() && kind_of(from) == Kind::Number && kind_of(to) == Kind::Number
    })
}

impl Reader<'_> {
    /// Reads a word, if there is one here.
    pub(crate) fn word(&mut self) -> Read<Option<Term>> {
        self.peek();
        let start = self.at;
        let mut build = Build::default();
        // ends: each round steps on
        while let Some(next) = self.peek() {
            match next {
                '<' | '>' if self.peek_second() == Some('(') => self.process(&mut build)?,
                _ if is_break(next) => break,
                _ => self.piece(next, &mut build)?,
            }
        }
        let raw = &self.text[start..self.at];
        if !self.pending.is_empty() && raw.contains('\n') {
            return Err(Stop("a here-document begins in the middle of a word"));
        }
        if !build.begun {
            return Ok(None);
        }
        if build.brace.is_some() && build.bare_dollar {
            self.doubt(start, "braces may make an expansion of this");
        }
        Ok(Some(build.finish(raw)))
    }

    /// Reads one part of a word that begins with `next`.
    fn piece(&mut self, next: char, build: &mut Build) -> Read<()> {
        match next {
            '\'' => {
                self.bump();
                self.single(build)
            }
            '"' => {
                self.bump();
                self.double(build)
            }
            '$' => self.dollar(build, false),
            '`' => self.backtick(build, false),
            '\\' => {
                self.bump();
                let escaped = self.bump_raw().ok_or(Stop("it ends with a backslash"))?;
                build.push(escaped);
                Ok(())
            }
            _ => {
                self.plain(next, build);
                Ok(())
            }
        }
    }

    /// Reads a character that is in no quotes.
    fn plain(&mut self, next: char, build: &mut Build) {
        let at = self.at;
        self.bump();
        let after_start = !build.begun || build.known().is_some_and(|value| value.ends_with(['=', ':']));
        match next {
            '*' | '?' => build.add(Part::Path, Spread::Names),
            // A lone bracket is the command of that name.
            '[' if build.begun || !self.at_break() => build.add(Part::Path, Spread::Names),
            '~' if after_start || build.known().is_none() => build.add(Part::Path, Spread::One),
            '=' if !build.begun && self.dialect == Dialect::Foreign => {
                self.doubt(at, "zsh replaces this by the path of a program");
                build.push(next);
            }
            '{' => {
                build.brace = build.brace.or(Some(build.value.len()));
                build.push(next);
            }
            _ => {
                if next.is_control() || (!next.is_ascii() && !next.is_alphanumeric()) {
                    self.doubt(at, "an unusual character without quotes");
                }
                build.push(next);
            }
        }
    }

    /// Reads what is in single quotes, after the first one.
    pub(crate) fn single(&mut self, build: &mut Build) -> Read<()> {
        build.begun = true;
        // ends: each round steps on
        loop {
            match self.bump_raw() {
                None => return Err(Stop("a quote that does not end")),
                Some('\'') => return Ok(()),
                Some(next) => build.push(next),
            }
        }
    }

    /// Reads what is in double quotes, after the first one.
    pub(crate) fn double(&mut self, build: &mut Build) -> Read<()> {
        build.begun = true;
        // ends: each round steps on
        loop {
            match self.peek() {
                None => return Err(Stop("a quote that does not end")),
                Some('"') => {
                    self.bump();
                    return Ok(());
                }
                Some('$') => self.dollar(build, true)?,
                Some('`') => self.backtick(build, true)?,
                Some('\\') => {
                    self.bump();
                    match self.bump_raw() {
                        Some(next @ ('$' | '`' | '"' | '\\')) => build.push(next),
                        Some(next) => {
                            build.push('\\');
                            build.push(next);
                        }
                        None => return Err(Stop("a quote that does not end")),
                    }
                }
                Some(next) => {
                    self.bump();
                    build.push(next);
                }
            }
        }
    }

    /// Reads `<(…)` or `>(…)`.
    fn process(&mut self, build: &mut Build) -> Read<()> {
        let start = self.at;
        let fed = self.bump() == Some('>');
        self.bump();
        self.only_bash(start);
        let script = self.substitution()?;
        self.found.inner.push(Inner { script, fed });
        build.add(Part::Path, Spread::One);
        Ok(())
    }

    /// Reads the script in `$(…)` after the parenthesis, and the one that closes it.
    pub(crate) fn substitution(&mut self) -> Read<crate::shell::syntax::Script> {
        let outer = (std::mem::take(&mut self.found), std::mem::take(&mut self.pending));
        let bodies = std::mem::take(&mut self.bodies);
        let start = self.at;
        let script = self.deeper(|reader| {
            let mut script = reader.list(&[])?;
            let bodies = std::mem::take(&mut reader.bodies);
            let alone = match script.0.as_slice() {
                [only] => matches!(only.node, Node::Simple(_)),
                [only, aside] => matches!(only.node, Node::Simple(_)) && aside.join == Join::Aside,
                _ => false,
            };
            // Bash 5.2 writes the script anew before it runs it, and then separators may be missing.
            if !bodies.is_empty() && !alone {
                reader.doubt(start, "a here-document among other commands in a substitution");
            }
            crate::shell::grammar::fill(&mut script, &mut bodies.into_iter());
            if !reader.pending.is_empty() {
                return Err(Stop("a here-document that begins after its substitution"));
            }
            if reader.eat(')') { Ok(script) } else { Err(Stop("a substitution that does not end")) }
        })?;
        (self.found, self.pending) = outer;
        self.bodies = bodies;
        Ok(script)
    }

    /// Reads a substitution in backticks.
    pub(crate) fn backtick(&mut self, build: &mut Build, quoted: bool) -> Read<()> {
        self.bump();
        let mut script = String::new();
        // ends: each round steps on
        loop {
            match self.bump_raw() {
                None => return Err(Stop("backticks that do not end")),
                Some('`') => break,
                Some('"') if quoted => return Err(Stop("quotes in backticks in quotes")),
                Some('\\') => match self.bump_raw() {
                    Some(next @ ('$' | '`' | '\\')) => script.push(next),
                    Some('\n') | None => return Err(Stop("a continued line in backticks")),
                    Some(next) => script.extend(['\\', next]),
                },
                Some(next) => script.push(next),
            }
        }
        let script = self.sub_script(&script)?;
        self.found.inner.push(Inner { script, fed: false });
        build.add(Part::Other, if quoted { Spread::One } else { Spread::Any });
        Ok(())
    }

    /// Reads `text` as a script of its own.
    fn sub_script(&mut self, text: &str) -> Read<crate::shell::syntax::Script> {
        self.deeper(|outer| {
            let mut reader = Reader::new(text, outer.dialect, outer.depth);
            let script = reader.whole()?;
            outer.doubts.append(&mut reader.doubts);
            Ok(script)
        })
    }
}
