//! How the patch writes → how the file does: indentation, quotes, dashes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};

use super::fit::{Fit, Pass};
use super::indent::Shift;
use super::line::{fold, indent, is_blank, plain};
use super::settle::Doubt;
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// So many lines make a habit.
const HABIT: usize = 2;

/// What a file's lines, and the hunks that found their places in it, say about how it is written.
#[derive(Debug, Default)]
pub(crate) struct Manner {
    /// Lines that are indented with tabs, and with two blanks or more.
    tabs: usize,
    blanks: usize,
    /// Evidence that the patch means its indentation as it is.
    meant: MeantIndent,
    /// A character of the patch, and that of the file in its place; `None`: now this, now that.
    chars: BTreeMap<char, Option<char>>,
    /// How tabs and blanks stand for each other, if a hunk says.
    shift: Option<Shift>,
    /// What is to be taken off lines that come, if a hunk says that the patch has a blank too many after its signs.
    signs: Option<Shift>,
    /// By how many blanks lines of the file are indented deeper, mostly; once somebody has asked.
    step: OnceCell<usize>,
}

impl Manner {
    /// Reads how `text` is indented, and how `hunks` are, which change it.
    pub(crate) fn of(text: &Text<'_>, hunks: &[Hunk]) -> Self {
        let says = |line: &str| line.bytes().any(|byte| !byte.is_ascii_whitespace());
        let (mut tabs, mut blanks) = (0, 0);
        for line in text.iter() {
            tabs += usize::from(line.starts_with('\t'));
            blanks += usize::from(line.starts_with("  ") && says(line));
        }
        let meant = MeantIndent::of(hunks);
        Self { tabs, blanks, meant, chars: BTreeMap::new(), shift: None, signs: None, step: OnceCell::new() }
    }

    fn step(&self, text: &Text<'_>) -> usize {
        *self.step.get_or_init(|| {
            text.effort().spend(4 * text.len());
            step(text)
        })
    }

    /// Learns from the old lines of `hunk`, which are at `fit`.
    pub(crate) fn learn(&mut self, text: &Text<'_>, hunk: &Hunk, fit: &Fit) {
        if fit.pass <= Pass::Trailing {
            return;
        }
        self.signs = self.signs.take().or_else(|| signs(text, hunk, fit));
        if let Some(shift @ (Shift::Tabs(_) | Shift::Spaces(_))) = Shift::between(pairs(text, hunk, fit)) {
            self.shift = Some(shift);
        }
        for (ours, theirs) in pairs(text, hunk, fit) {
            let (ours, theirs) = (ours.trim(), theirs.trim());
            if ours.chars().count() != theirs.chars().count() {
                continue;
            }
            for (ours, theirs) in ours.chars().zip(theirs.chars()) {
                // What is the same says something too: the file has it now this way, now that.
                if plain(ours) == plain(theirs) && is_written_variously(plain(ours)) {
                    // A file that has the plain one too is not written in the other all over.
                    let mixed = ours != theirs && plain(ours) == ours && text.as_str().contains(ours);
                    let known = self.chars.entry(ours).or_insert(Some(theirs));
                    if mixed || *known != Some(theirs) {
                        *known = None;
                    }
                }
            }
        }
    }

    /// Whether the patch has what a printer makes of quotes and dashes, where the file has what is on a keyboard.
    fn is_printed(&self) -> bool {
        let made = |(ours, theirs): (&char, &Option<char>)| {
            plain(*ours) != *ours && plain(*ours) != ' ' && *theirs == Some(plain(*ours))
        };
        self.chars.iter().any(made)
    }

    /// Why a new line would not fit into the file, if it is indented as no line of it is. The old lines of its hunk stand there
    /// just so if `exact`.
    fn misfit(&self, line: &str, exact: bool) -> Option<Doubt> {
        let (tabbed, spaced) = (line.starts_with('\t'), line.starts_with("  "));
        let (file, here) = match () {
            () if tabbed && exact && self.meant.spaces => return None,
            () if tabbed && self.tabs == 0 && self.blanks >= HABIT => ("blanks", "a tab"),
            () if self.meant.tabs || self.meant.blanks.contains(indent(line)) => return None,
            () if spaced && self.blanks * 50 <= self.tabs && self.tabs >= HABIT => ("tabs", "blanks"),
            () => return None,
        };
        let line = line.trim();
        Some(format!("the file is indented with {file}, and `{line}` with {here}; indent it as the file is"))
    }
}

/// Evidence that a patch means the blanks or tabs its added lines begin with, although the file is indented otherwise.
#[derive(Debug, Default)]
struct MeantIndent {
    /// Some added lines begin with a tab, so the writer of the patch can produce tabs.
    tabs: bool,
    /// Some added lines begin with two blanks, so the writer of the patch can produce blanks.
    spaces: bool,
    /// The indentations of two blanks or more that old lines have.
    blanks: HashSet<String>,
}

impl MeantIndent {
    fn of(hunks: &[Hunk]) -> Self {
        let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
        let begins = |with: &str| {
            lines().any(|line| matches!(line, Line::Add(text) if text.starts_with(with) && !is_blank(text)))
        };
        let old = hunks.iter().flat_map(Hunk::old).filter(|line| !is_blank(line)).map(indent);
        let blanks = old.filter(|blanks| blanks.starts_with("  ")).map(str::to_owned).collect();
        Self { tabs: begins("\t"), spaces: begins("  "), blanks }
    }
}

/// By how many blanks lines of a file are indented deeper than the line before, mostly; 0: by none.
fn step(text: &Text<'_>) -> usize {
    let depths = text.iter().filter(|line| !is_blank(line)).map(|line| indent(line).len());
    let mut often: BTreeMap<usize, usize> = BTreeMap::new();
    let mut last = 0;
    for depth in depths {
        if depth > last {
            *often.entry(depth - last).or_default() += 1;
        }
        last = depth;
    }
    often.into_iter().max_by_key(|(_, times)| *times).map_or(0, |(step, _)| step)
}

/// Old lines as the patch has them and as the file has them.
fn pairs<'a>(text: &'a Text<'_>, hunk: &'a Hunk, fit: &'a Fit) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = hunk.old().zip(&fit.at).filter_map(|(ours, at)| Some((ours, text.line((*at)?))));
    // What only resembles says nothing about how things are written.
    pairs.filter(|(ours, theirs)| fit.pass < Pass::Near || fold(ours) == fold(theirs))
}

/// Whether there are several ways to write a character.
fn is_written_variously(plain: char) -> bool {
    matches!(plain, '\'' | '"' | '-' | ' ')
}

/// How the file writes what a hunk writes otherwise.
pub(super) struct Spelling<'a> {
    manner: &'a Manner,
    shift: Shift,
    /// The old lines stand in the file just so.
    exact: bool,
    /// What goes is where the patch says, so that what comes in its place is indented as it is.
    sure: bool,
    /// Lines that go, as the patch has them and as the file does, where only their indentation differs.
    gone: Vec<(&'a str, &'a str)>,
    /// How deep the old lines are in the patch.
    levels: Vec<&'a str>,
    /// By how many blanks lines of the file are indented deeper, mostly.
    step: usize,
}

/// What is to be taken off the added lines, if what goes has a blank too many after its sign, and what stays has not.
fn signs(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<Shift> {
    let olds = hunk.lines.iter().filter(|line| !matches!(line, Line::Add(_)));
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for (line, at) in olds.zip(&fit.at) {
        match (line, at) {
            (Line::Keep(ours), Some(at)) => kept.push((ours.as_str(), text.line(*at))),
            (Line::Drop(ours), Some(at)) => gone.push((ours.as_str(), text.line(*at))),
            _ => {}
        }
    }
    let stays = kept.iter().any(|(ours, _)| !is_blank(ours));
    let shift = Shift::between(gone.into_iter())?;
    let one = shift == Shift::Shallower(" ".to_owned());
    (one && stays && Shift::between(kept.into_iter()) == Some(Shift::None)).then_some(shift)
}

impl<'a> Spelling<'a> {
    pub(super) fn of(
        text: &'a Text<'_>,
        hunk: &'a Hunk,
        fit: &'a Fit,
        manner: &'a Manner,
    ) -> Result<Self, Doubt> {
        if fit.pass <= Pass::Trailing {
            // If no line says how it is indented, another hunk does.
            let flat = hunk.old().all(|line| indent(line).is_empty());
            let shift = manner.signs.clone().or(manner.shift.clone().filter(|_| flat)).unwrap_or(Shift::None);
            let (gone, levels) = (Vec::new(), Vec::new());
            return Ok(Self { manner, shift, exact: true, sure: false, gone, levels, step: 0 });
        }
        let shift = match signs(text, hunk, fit) {
            Some(shift) => Some(shift),
            None => Shift::between(pairs(text, hunk, fit)),
        };
        let shift =
            shift.ok_or("the patch is indented in another way than the file, and not the same all over")?;
        let telling = pairs(text, hunk, fit).filter(|(ours, _)| !is_blank(ours));
        let levels: Vec<&str> = telling.map(|(ours, _)| indent(ours)).collect();
        let mut gone = Vec::new();
        if fit.pass == Pass::Indent {
            let olds = hunk.lines.iter().filter(|line| !matches!(line, Line::Add(_))).zip(&fit.at);
            gone.extend(olds.filter_map(|(line, at)| match line {
                Line::Drop(ours) if !is_blank(ours) => Some((ours.as_str(), text.line((*at)?))),
                _ => None,
            }));
        }
        let sure = fit.pass < Pass::Near;
        Ok(Self { manner, shift, exact: false, sure, gone, levels, step: manner.step(text) })
    }

    /// An added line as the file would have it; `paired` is the line that it takes the place of, in the patch and in the
    /// file.
    pub(super) fn apply(&self, line: &str, paired: Option<(&str, &str)>) -> Result<String, Doubt> {
        // A line that takes the place of another is indented as that is, if it is in the patch.
        let says = |ours: &str| !is_blank(ours) && !is_blank(line);
        let level = paired.filter(|(ours, _)| self.sure && indent(ours) == indent(line) && says(ours));
        let levelled = level.map(|(_, theirs)| indent(theirs).to_owned() + line.trim_start());
        let unclear = !is_blank(line) && !self.is_level(line);
        let indented = match (self.moved(line).or(levelled), self.shift.apply(line)) {
            (Some(line), _) => line,
            (None, Some(line)) if !unclear => line,
            (None, _) => {
                return Err(format!("nobody can tell how deep `{}` is to be indented", line.trim()));
            }
        };
        let indented = match (self.manner.misfit(&indented, self.exact), &self.manner.shift) {
            (None, _) => indented,
            (Some(misfit), None) => return Err(misfit),
            (Some(misfit), Some(shift)) => shift.apply(line).ok_or(misfit)?,
        };
        if self.manner.chars.is_empty() {
            return Ok(indented);
        }
        let text = indented.trim_start();
        let blanks = indent(&indented);
        // Quotes that open and close differ in the file: what stays of the line is taken from there.
        if let Some((ours, theirs)) = paired
            && ours.trim().chars().count() == theirs.trim().chars().count()
            && fold(ours) == fold(theirs)
        {
            return Ok(blanks.to_owned() + &self.transfer(ours.trim(), theirs.trim(), text));
        }
        Ok(blanks.to_owned() + &self.respell(text))
    }

    /// Whether it can be told how deep a line is: one that is as deep as an old line; or deeper, if the patch is off by whole
    /// steps; or less deep, if old lines are of several depths.
    fn is_level(&self, line: &str) -> bool {
        let by = match &self.shift {
            Shift::Deeper(by) | Shift::Shallower(by) => by,
            // What goes is indented in another way than what stays: who knows about what comes.
            Shift::Known(known, _) if known.contains_key(indent(line)) => return true,
            Shift::None | Shift::Known(..) => {
                let other = |(ours, theirs): &(&str, &str)| indent(ours) != indent(theirs);
                let off = self.gone.iter().filter(|pair| other(pair)).map(|(ours, _)| indent(ours));
                return !off.into_iter().any(|off| indent(line).starts_with(off));
            }
            _ => return true,
        };
        if self.levels.contains(&indent(line)) {
            return true;
        }
        let whole = self.step == 0 || by.contains('\t') || by.len().is_multiple_of(self.step);
        let only = self.levels.first().filter(|level| self.levels.iter().all(|other| other == *level));
        whole && only.is_none_or(|level| self.levels.len() > 1 && indent(line).len() > level.len())
    }

    /// A line that goes in one place and comes in another is indented as it was.
    fn moved(&self, line: &str) -> Option<String> {
        let mut same = self.gone.iter().filter(|(ours, theirs)| *ours == line && *ours != theirs.trim_end());
        let (_, theirs) = same.next()?;
        same.next().is_none().then(|| indent(theirs).to_owned() + line.trim_start())
    }

    fn respell(&self, text: &str) -> String {
        // Whoever writes one of them as a printer does, writes all of them so.
        let printed = self.manner.is_printed() && !text.contains(['\'', '"']);
        let char = |char: char| match self.manner.chars.get(&char) {
            Some(theirs) => theirs.unwrap_or(char),
            None if printed && matches!(plain(char), '\'' | '"' | '-') => plain(char),
            None => char,
        };
        text.chars().map(char).collect()
    }

    /// `new` with those of its ends that are the same as in `ours` taken from `theirs`.
    fn transfer(&self, ours: &str, theirs: &str, new: &str) -> String {
        let (ours, theirs): (Vec<char>, Vec<char>) = (ours.chars().collect(), theirs.chars().collect());
        let new: Vec<char> = new.chars().collect();
        let room = ours.len().min(new.len());
        let head = ours.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let backwards = ours.iter().rev().zip(new.iter().rev()).take(room - head);
        let tail = backwards.take_while(|(a, b)| a == b).count();
        let middle: String = new[head..new.len() - tail].iter().collect();
        let mut out: String = theirs[..head].iter().collect();
        out.push_str(&self.respell(&middle));
        out.extend(&theirs[theirs.len() - tail..]);
        out
    }
}
