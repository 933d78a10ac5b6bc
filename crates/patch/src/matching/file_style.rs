//! Learns a file's style (indentation, quotes, dashes) and adapts added lines to it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};

use super::candidate::{HunkCandidate, MatchPass};
use super::indent_shift::IndentShift;
use super::line_compare::{ascii_equivalent, fold_line, indentation, is_blank};
use super::line_edits::DoubtReason;
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// This many lines make a habit.
const MIN_HABIT_LINES: usize = 2;

/// The style of a file, learned from its lines and from hunks that matched in it.
#[derive(Debug, Default)]
pub(crate) struct FileStyle {
    /// The number of lines indented with tabs, and with two or more spaces.
    tab_lines: usize,
    space_lines: usize,
    /// Evidence that the patch means its indentation literally.
    literal_indent: MeantIndent,
    /// A character of the patch, and the file's character in its place; `None` if the file uses both.
    char_replacements: BTreeMap<char, Option<char>>,
    /// The conversion between tabs and spaces, if a hunk proves one.
    tab_shift: Option<IndentShift>,
    /// The shift for added lines, if a hunk proves that the patch has an extra blank after its signs.
    sign_shift: Option<IndentShift>,
    /// The most frequent indentation step of the file in blanks; computed on first use.
    step: OnceCell<usize>,
}

impl FileStyle {
    /// Reads the indentation of `text` and of `hunks`, which change it.
    pub(crate) fn from_text(text: &DecodedText<'_>, hunks: &[Hunk]) -> Self {
        let says = |line: &str| line.bytes().any(|byte| !byte.is_ascii_whitespace());
        let (mut tab_lines, mut space_lines) = (0, 0);
        for line in text.iter() {
            tab_lines += usize::from(line.starts_with('\t'));
            space_lines += usize::from(line.starts_with("  ") && says(line));
        }
        let literal_indent = MeantIndent::from_hunks(hunks);
        Self {
            tab_lines,
            space_lines,
            literal_indent,
            char_replacements: BTreeMap::new(),
            tab_shift: None,
            sign_shift: None,
            step: OnceCell::new(),
        }
    }

    fn step(&self, text: &DecodedText<'_>) -> usize {
        *self.step.get_or_init(|| {
            text.budget().spend(4 * text.len());
            most_frequent_indent_step(text)
        })
    }

    /// Learns from the old lines of `hunk`, which match at `fit`.
    pub(crate) fn learn_from_hunk(&mut self, text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) {
        if fit.pass <= MatchPass::Trailing {
            return;
        }
        self.sign_shift = self.sign_shift.take().or_else(|| find_sign_shift(text, hunk, fit));
        if let Some(shift @ (IndentShift::SpacesToTabs(_) | IndentShift::TabsToSpaces(_))) =
            IndentShift::from_pairs(matched_lines(text, hunk, fit))
        {
            self.tab_shift = Some(shift);
        }
        for (ours, theirs) in matched_lines(text, hunk, fit) {
            let (ours, theirs) = (ours.trim(), theirs.trim());
            if ours.chars().count() != theirs.chars().count() {
                continue;
            }
            for (ours, theirs) in ours.chars().zip(theirs.chars()) {
                // Equal characters are evidence too: the file may use both.
                if ascii_equivalent(ours) == ascii_equivalent(theirs)
                    && has_typographic_variants(ascii_equivalent(ours))
                {
                    // A file that also has the plain character is not written with the other one throughout.
                    let mixed =
                        ours != theirs && ascii_equivalent(ours) == ours && text.as_str().contains(ours);
                    let learned = self.char_replacements.entry(ours).or_insert(Some(theirs));
                    if mixed || *learned != Some(theirs) {
                        *learned = None;
                    }
                }
            }
        }
    }

    /// Returns true if the patch has typographic quotes or dashes where the file has ASCII ones.
    fn is_typographic(&self) -> bool {
        let is_plain_in_file = |(ours, theirs): (&char, &Option<char>)| {
            ascii_equivalent(*ours) != *ours
                && ascii_equivalent(*ours) != ' '
                && *theirs == Some(ascii_equivalent(*ours))
        };
        self.char_replacements.iter().any(is_plain_in_file)
    }

    /// Returns why a new line does not fit the file's indentation, if it does not. `exact`: the old lines of its hunk
    /// match exactly.
    fn describe_misfit(&self, line: &str, exact: bool) -> Option<DoubtReason> {
        let (tabbed, spaced) = (line.starts_with('\t'), line.starts_with("  "));
        let (file, here) = match () {
            () if tabbed && exact && self.literal_indent.writes_spaces => return None,
            () if tabbed && self.tab_lines == 0 && self.space_lines >= MIN_HABIT_LINES => ("blanks", "a tab"),
            () if self.literal_indent.writes_tabs
                || self.literal_indent.old_indents.contains(indentation(line)) =>
            {
                return None;
            }
            () if spaced && self.space_lines * 50 <= self.tab_lines && self.tab_lines >= MIN_HABIT_LINES => {
                ("tabs", "blanks")
            }
            () => return None,
        };
        let line = line.trim();
        Some(format!("the file is indented with {file}, and `{line}` with {here}; indent it as the file is"))
    }
}

/// Evidence that a patch means the blanks or tabs of its added lines, although the file is indented otherwise.
#[derive(Debug, Default)]
struct MeantIndent {
    /// Some added lines begin with a tab, so the writer of the patch can produce tabs.
    writes_tabs: bool,
    /// Some added lines begin with two spaces, so the writer of the patch can produce spaces.
    writes_spaces: bool,
    /// The indentations of two or more spaces that old lines have.
    old_indents: HashSet<String>,
}

impl MeantIndent {
    fn from_hunks(hunks: &[Hunk]) -> Self {
        let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
        let begins = |with: &str| {
            lines()
                .any(|line| matches!(line, HunkLine::Add(text) if text.starts_with(with) && !is_blank(text)))
        };
        let old = hunks.iter().flat_map(Hunk::old_lines).filter(|line| !is_blank(line)).map(indentation);
        let old_indents = old.filter(|blanks| blanks.starts_with("  ")).map(str::to_owned).collect();
        Self { writes_tabs: begins("\t"), writes_spaces: begins("  "), old_indents }
    }
}

/// Returns the most frequent indentation step from one line to the next; 0 if no line is deeper.
fn most_frequent_indent_step(text: &DecodedText<'_>) -> usize {
    let depths = text.iter().filter(|line| !is_blank(line)).map(|line| indentation(line).len());
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

/// Returns old lines as the patch has them and as the file has them.
fn matched_lines<'a>(
    text: &'a DecodedText<'_>,
    hunk: &'a Hunk,
    fit: &'a HunkCandidate,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = hunk.old_lines().zip(&fit.positions).filter_map(|(ours, at)| Some((ours, text.line((*at)?))));
    // Lines that are merely similar prove nothing about style.
    pairs.filter(|(ours, theirs)| fit.pass < MatchPass::Fuzzy || fold_line(ours) == fold_line(theirs))
}

/// Returns true for a character that has typographic variants.
fn has_typographic_variants(plain: char) -> bool {
    matches!(plain, '\'' | '"' | '-' | ' ')
}

/// Adapts the added lines of one hunk to the file's style.
pub(super) struct StyleTransfer<'a> {
    style: &'a FileStyle,
    shift: IndentShift,
    /// True if the old lines match the file exactly.
    exact: bool,
    /// True if removed lines have their exact place, so that their replacements take over the indentation.
    exact_place: bool,
    /// Removed lines as the patch and as the file have them, if only their indentation differs.
    removed_pairs: Vec<(&'a str, &'a str)>,
    /// The indentations of the old lines in the patch.
    patch_indents: Vec<&'a str>,
    /// The most frequent indentation step of the file, in blanks.
    step: usize,
}

/// Returns the shift for added lines, if removed lines have an extra blank after their sign and context lines do not.
fn find_sign_shift(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> Option<IndentShift> {
    let olds = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_)));
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for (line, at) in olds.zip(&fit.positions) {
        match (line, at) {
            (HunkLine::Keep(ours), Some(at)) => kept.push((ours.as_str(), text.line(*at))),
            (HunkLine::Drop(ours), Some(at)) => gone.push((ours.as_str(), text.line(*at))),
            _ => {}
        }
    }
    let stays = kept.iter().any(|(ours, _)| !is_blank(ours));
    let shift = IndentShift::from_pairs(gone.into_iter())?;
    let one = shift == IndentShift::Shallower(" ".to_owned());
    (one && stays && IndentShift::from_pairs(kept.into_iter()) == Some(IndentShift::None)).then_some(shift)
}

impl<'a> StyleTransfer<'a> {
    pub(super) fn new(
        text: &'a DecodedText<'_>,
        hunk: &'a Hunk,
        fit: &'a HunkCandidate,
        style: &'a FileStyle,
    ) -> Result<Self, DoubtReason> {
        if fit.pass <= MatchPass::Trailing {
            // If no old line is indented, another hunk provides the evidence. One space aligns the star of a comment.
            let flat = hunk.old_lines().all(|line| matches!(indentation(line), "" | " "));
            let shift = style
                .sign_shift
                .clone()
                .filter(|_| EnginePart::SignShift.is_on())
                .or(style.tab_shift.clone().filter(|_| flat && EnginePart::TabShift.is_on()))
                .unwrap_or(IndentShift::None);
            let (removed_pairs, patch_indents) = (Vec::new(), Vec::new());
            return Ok(Self {
                style,
                shift,
                exact: true,
                exact_place: false,
                removed_pairs,
                patch_indents,
                step: 0,
            });
        }
        let shift = match find_sign_shift(text, hunk, fit) {
            Some(shift) if EnginePart::SignShift.is_on() => Some(shift),
            Some(_) | None => IndentShift::from_pairs(matched_lines(text, hunk, fit)),
        };
        let shift =
            shift.ok_or("the patch is indented in another way than the file, and not the same all over")?;
        let telling = matched_lines(text, hunk, fit).filter(|(ours, _)| !is_blank(ours));
        let patch_indents: Vec<&str> = telling.map(|(ours, _)| indentation(ours)).collect();
        let mut removed_pairs = Vec::new();
        if fit.pass == MatchPass::Indent {
            let olds = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_))).zip(&fit.positions);
            removed_pairs.extend(olds.filter_map(|(line, at)| match line {
                HunkLine::Drop(ours) if !is_blank(ours) => Some((ours.as_str(), text.line((*at)?))),
                _ => None,
            }));
        }
        let exact_place = fit.pass < MatchPass::Fuzzy;
        Ok(Self {
            style,
            shift,
            exact: false,
            exact_place,
            removed_pairs,
            patch_indents,
            step: style.step(text),
        })
    }

    /// Adapts an added line. `paired` is the old line that it replaces, in the patch and in the file.
    pub(super) fn restyle_line(
        &self,
        line: &str,
        paired: Option<(&str, &str)>,
    ) -> Result<String, DoubtReason> {
        // A replacement with the indentation of the replaced line in the patch gets that line's indentation in the
        // file.
        let says = |ours: &str| !is_blank(ours) && !is_blank(line);
        let level = paired
            .filter(|(ours, _)| self.exact_place && indentation(ours) == indentation(line) && says(ours))
            .filter(|_| EnginePart::LevelledLine.is_on());
        let levelled = level.map(|(_, theirs)| indentation(theirs).to_owned() + line.trim_start());
        let unclear = !is_blank(line) && !self.has_clear_depth(line) && EnginePart::UnclearDepth.is_on();
        let indented = match (levelled, self.shift.apply(line)) {
            (Some(line), _) => line,
            (None, Some(line)) if !unclear => line,
            (None, _) => {
                return Err(format!("the indentation of `{}` is unclear", line.trim()));
            }
        };
        let misfit =
            self.style.describe_misfit(&indented, self.exact).filter(|_| EnginePart::TabMisfit.is_on());
        let indented = match (misfit, &self.style.tab_shift) {
            (None, _) => indented,
            (Some(misfit), None) => return Err(misfit),
            (Some(misfit), Some(shift)) => shift.apply(line).ok_or(misfit)?,
        };
        if self.style.char_replacements.is_empty() || !EnginePart::Spelling.is_on() {
            return Ok(indented);
        }
        let text = indented.trim_start();
        let blanks = indentation(&indented);
        // Opening and closing quotes differ in the file, so unchanged parts of the line are copied from there.
        if let Some((ours, theirs)) = paired
            && ours.trim().chars().count() == theirs.trim().chars().count()
            && fold_line(ours) == fold_line(theirs)
        {
            return Ok(blanks.to_owned() + &self.transfer_spelling(ours.trim(), theirs.trim(), text));
        }
        Ok(blanks.to_owned() + &self.respell_chars(text))
    }

    /// Returns true if the depth of an added line is clear. It is as deep as an old line; or deeper, if the patch is
    /// off by whole steps; or less deep, if old lines have several depths.
    fn has_clear_depth(&self, line: &str) -> bool {
        let by = match &self.shift {
            IndentShift::Deeper(by) | IndentShift::Shallower(by) => by,
            // Removed lines are indented otherwise than context lines, so the depth of added lines is unclear.
            IndentShift::Mapped(known, _) if known.contains_key(indentation(line)) => return true,
            IndentShift::None | IndentShift::Mapped(..) => {
                let other = |(ours, theirs): &(&str, &str)| indentation(ours) != indentation(theirs);
                let off =
                    self.removed_pairs.iter().filter(|pair| other(pair)).map(|(ours, _)| indentation(ours));
                return !off.into_iter().any(|off| indentation(line).starts_with(off));
            }
            _ => return true,
        };
        if self.patch_indents.contains(&indentation(line)) {
            return true;
        }
        let whole = self.step == 0 || by.contains('\t') || by.len().is_multiple_of(self.step);
        let only =
            self.patch_indents.first().filter(|level| self.patch_indents.iter().all(|other| other == *level));
        whole
            && only.is_none_or(|level| self.patch_indents.len() > 1 && indentation(line).len() > level.len())
    }

    fn respell_chars(&self, text: &str) -> String {
        // A writer who uses one typographic character uses them throughout.
        let printed =
            self.style.is_typographic() && !text.contains(['\'', '"']) && EnginePart::PrintedSpelling.is_on();
        let char = |char: char| match self.style.char_replacements.get(&char) {
            Some(theirs) => theirs.unwrap_or(char),
            None if printed && matches!(ascii_equivalent(char), '\'' | '"' | '-') => ascii_equivalent(char),
            None => char,
        };
        text.chars().map(char).collect()
    }

    /// Returns `new` with the prefix and suffix that it shares with `ours` taken from `theirs`.
    fn transfer_spelling(&self, ours: &str, theirs: &str, new: &str) -> String {
        let (ours, theirs): (Vec<char>, Vec<char>) = (ours.chars().collect(), theirs.chars().collect());
        let new: Vec<char> = new.chars().collect();
        let room = ours.len().min(new.len());
        let head = ours.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let backwards = ours.iter().rev().zip(new.iter().rev()).take(room - head);
        let tail = backwards.take_while(|(a, b)| a == b).count();
        let middle: String = new[head..new.len() - tail].iter().collect();
        let mut out: String = theirs[..head].iter().collect();
        out.push_str(&self.respell_chars(&middle));
        out.extend(&theirs[theirs.len() - tail..]);
        out
    }
}
