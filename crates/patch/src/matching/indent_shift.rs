//! Converts the indentation of a patch into the indentation of the file.

use std::collections::BTreeMap;

use super::line_compare::{indentation, is_blank};

/// The conversion of an added line's indentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndentShift {
    /// No conversion.
    None,
    /// Prepends these blanks.
    Deeper(String),
    /// Removes these blanks.
    Shallower(String),
    /// Converts this many spaces to one tab.
    SpacesToTabs(usize),
    /// Converts one tab to this many spaces.
    TabsToSpaces(usize),
    /// Maps the indentations that were seen. The flag says whether others stay as they are, since most lines agree.
    Mapped(BTreeMap<String, String>, bool),
}

impl IndentShift {
    /// Finds the shift that turns the patch's lines into the file's, which differ only in whitespace. `None`: no rule
    /// explains the difference.
    pub(crate) fn from_pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let pairs: Vec<(&str, &str)> = pairs
            .filter(|(ours, theirs)| !is_blank(ours) && !is_blank(theirs))
            .map(|(ours, theirs)| (indentation(ours), indentation(theirs)))
            .collect();
        let same = pairs.iter().filter(|(ours, theirs)| ours == theirs).count();
        if same == pairs.len() {
            return Some(Self::None);
        }
        let (ours, theirs) = *pairs.iter().find(|(ours, theirs)| ours != theirs)?;
        if let Some(more) = theirs.strip_suffix(ours)
            && pairs.iter().all(|(ours, theirs)| theirs.strip_suffix(ours) == Some(more))
        {
            return Some(Self::Deeper(more.to_owned()));
        }
        if let Some(less) = ours.strip_suffix(theirs)
            && pairs.iter().all(|(ours, theirs)| ours.strip_suffix(theirs) == Some(less))
        {
            return Some(Self::Shallower(less.to_owned()));
        }
        if let Some(width) = tab_width(pairs.iter().copied()) {
            return Some(Self::SpacesToTabs(width));
        }
        if let Some(width) = tab_width(pairs.iter().map(|(ours, theirs)| (*theirs, *ours))) {
            return Some(Self::TabsToSpaces(width));
        }
        // Lines at the margin prove nothing about the indentation of the rest, if all the rest differs.
        let indented = || pairs.iter().filter(|(ours, theirs)| !ours.is_empty() || !theirs.is_empty());
        let otherwise = indented().count() > 1 && indented().all(|(ours, theirs)| ours != theirs);
        let mostly = !otherwise && same * 3 >= pairs.len() * 2;
        let mut mapping: BTreeMap<String, String> = BTreeMap::new();
        for (ours, theirs) in &pairs {
            let seen = mapping.entry((*ours).to_owned()).or_insert_with(|| (*theirs).to_owned());
            if seen != theirs {
                // Most lines agree, so the others were mistyped.
                return mostly.then_some(Self::None);
            }
        }
        // A single line that differs was mistyped, unless tabs stand for spaces.
        let often = |ours: &str| pairs.iter().filter(|pair| pair.0 == ours).count() > 1;
        let tabs = |ours: &str, theirs: &str| ours.contains('\t') != theirs.contains('\t');
        mapping.retain(|ours, theirs| !mostly || ours == theirs || often(ours) || tabs(ours, theirs));
        Some(Self::Mapped(mapping, mostly))
    }

    /// Indents an added line as the file is. `None`: the depth is unclear.
    pub(crate) fn apply(&self, line: &str) -> Option<String> {
        let (blanks, rest) = line.split_at(indentation(line).len());
        match self {
            Self::None => Some(line.to_owned()),
            // A whitespace-only line proves nothing about its depth; but tabs stay tabs.
            Self::SpacesToTabs(_) | Self::TabsToSpaces(_) if rest.is_empty() => {
                Some(self.convert_blanks(blanks).unwrap_or_else(|| line.to_owned()))
            }
            _ if rest.is_empty() => Some(line.to_owned()),
            _ => Some(self.convert_blanks(blanks)? + rest),
        }
    }

    /// Converts leading whitespace to the file's.
    fn convert_blanks(&self, blanks: &str) -> Option<String> {
        Some(match self {
            Self::None => blanks.to_owned(),
            Self::Deeper(more) => format!("{more}{blanks}"),
            Self::Shallower(less) => blanks.strip_suffix(less.as_str())?.to_owned(),
            Self::SpacesToTabs(width) => {
                let (tabs, rest) = (blanks.len() / width, blanks.len() % width);
                // One extra space aligns the star of a comment.
                let is_convertible = blanks.bytes().all(|byte| byte == b' ') && rest <= 1;
                is_convertible.then(|| "\t".repeat(tabs) + &" ".repeat(rest))?
            }
            Self::TabsToSpaces(width) => {
                let tabs = blanks.bytes().take_while(|byte| *byte == b'\t').count();
                let rest = &blanks[tabs..];
                rest.bytes().all(|byte| byte == b' ').then(|| " ".repeat(tabs * width) + rest)?
            }
            Self::Mapped(mapping, rest) => match mapping.get(blanks) {
                Some(theirs) => theirs.clone(),
                None => rest.then(|| blanks.to_owned())?,
            },
        })
    }
}

/// Returns how many spaces of one side make a tab of the other, if that is the only difference.
fn tab_width<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Option<usize> {
    let mut width = None;
    for (spaces, tabs) in pairs {
        let pure = spaces.bytes().all(|byte| byte == b' ') && tabs.bytes().all(|byte| byte == b'\t');
        if !pure || spaces.is_empty() != tabs.is_empty() {
            return None;
        }
        if tabs.is_empty() {
            continue;
        }
        let each = spaces.len() / tabs.len();
        if each * tabs.len() != spaces.len() || width.is_some_and(|width| width != each) {
            return None;
        }
        width = Some(each);
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_own_indentation_is_found_out() {
        type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<&'a str>);
        let rows: &[Row<'_>] = &[
            (&[("a", "a"), ("  b", "  b")], "    c", Some("    c")),
            (&[("a", "    a"), ("  b", "      b")], "    c", Some("        c")),
            (&[(" a", "a"), ("  b", " b")], "  c", Some(" c")),
            (&[(" a", "a")], "c", None),
            (&[("a", "a"), ("    b", "\tb")], "        c", Some("\t\tc")),
            (&[("a", "a"), ("    b", "\tb")], "      c", None),
            (&[("\ta", "  a")], "\t\tc", Some("    c")),
            (&[("  a", "    a"), ("    b", "      b"), ("x", "x")], "  c", Some("    c")),
            (&[("  a", "    a"), ("    b", "      b"), ("x", "x")], "   c", None),
            (&[("  a", "    a"), ("  b", "      b")], "  c", None),
            (&[("  a", "  a"), ("  b", "  b"), ("  c", "    c")], "  d", Some("  d")),
            (&[("a", "a"), ("    b", "\tb"), ("        c", "        c")], "    d", Some("\td")),
            (&[("a", "a"), ("    b", "\tb"), ("        c", "        c")], "   d", Some("   d")),
            (&[("a", " a")], "", Some("")),
            (&[("a", "a"), ("    b", "\tb")], "        ", Some("\t\t")),
            (&[("a", "a"), ("    b", "\tb")], "      ", Some("      ")),
            (&[(" a", "  a")], " ", Some(" ")),
            (
                &[
                    ("      a", "            a"),
                    ("b", "b"),
                    ("c", "c"),
                    ("d", "d"),
                    ("e", "e"),
                    ("  f", "    f"),
                ],
                "  g",
                Some("    g"),
            ),
        ];
        for (pairs, line, expected) in rows {
            let shift = IndentShift::from_pairs(pairs.iter().copied());
            let shifted = shift.as_ref().and_then(|shift| shift.apply(line));
            assert_eq!(shifted.as_deref(), *expected, "{pairs:?} {line:?} {shift:?}");
        }
    }
}
