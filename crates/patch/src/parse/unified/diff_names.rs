//! Parses the file names in a diff: quoted or not, with prefixes or without.

use super::file_head::{DiffFileHead, DiffFileKind};
use crate::parse::{PatchSyntaxError, clip};

/// Prefix letters that git puts before a name: `a/` and `b/`, or letters for the two sides.
const PREFIXES: &[u8] = b"abciow12";
/// Suffixes of a backup copy that was kept for comparing.
const BACKUP_SUFFIXES: &[&str] = &[".orig", ".old", ".bak", "~"];

/// Suffixes of a copy that was made to be changed.
const NEW_COPY_SUFFIXES: &[&str] = &[".new"];

/// The names of the file before and after; `None` if it does not exist.
pub(super) struct DiffNames {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

/// Determines the file that a part is about.
pub(super) fn resolve_names(head: &DiffFileHead) -> Result<DiffNames, PatchSyntaxError> {
    if let (Some(old), Some(new)) = &head.moved_names {
        return Ok(DiffNames { old: Some(old.clone()), new: Some(new.clone()) });
    }
    let hint = "write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines";
    if matches!(head.kind, DiffFileKind::Moved | DiffFileKind::Copied) || head.moved_names != (None, None) {
        return Err(PatchSyntaxError::new(
            head.line,
            "half of the names of a rename or copy is missing",
            hint,
        ));
    }
    let known = head.git_names.as_ref().and_then(|(old, new)| common_file(old, new));
    let two_files_error = |old: &str, new: &str| {
        PatchSyntaxError::new(head.line, format!("`{}` and `{}` are two files", clip(old), clip(new)), hint)
    };
    // `diff --git` must name the same file.
    let agreed = |name: &str, bare: &str| match &known {
        None => Ok(bare.to_owned()),
        Some(known) if [name, bare, strip_name_prefix(name)].contains(&known.as_str()) => Ok(known.clone()),
        Some(known) => Err(two_files_error(known, name)),
    };
    let both = |name: String| DiffNames { old: Some(name.clone()), new: Some(name) };
    let Some((old, new)) = &head.sides else {
        let missing = || PatchSyntaxError::new(head.line, "the diff does not say which file this is", hint);
        return known.clone().map(both).ok_or_else(missing);
    };
    match (old.name.as_deref(), new.name.as_deref()) {
        (None, None) => Ok(DiffNames { old: None, new: None }),
        (None, Some(new)) => {
            Ok(DiffNames { old: None, new: Some(agreed(new, new.strip_prefix("b/").unwrap_or(new))?) })
        }
        (Some(old), None) => {
            Ok(DiffNames { old: Some(agreed(old, old.strip_prefix("a/").unwrap_or(old))?), new: None })
        }
        (Some(old_name), Some(new_name)) => {
            let dated = old.has_date && new.has_date && known.is_none();
            let compared = || if dated { compared_file(old_name, new_name) } else { None };
            match common_file(old_name, new_name).or_else(compared) {
                Some(name) => agreed(&name, &name).map(both),
                None => Err(two_files_error(old_name, new_name)),
            }
        }
    }
}

/// Returns the file that two names refer to, if they refer to one.
pub(super) fn common_file(old: &str, new: &str) -> Option<String> {
    if old == new {
        return Some(old.to_owned());
    }
    let (old, new) = match (split_prefix(old), split_prefix(new)) {
        (Some((one, old)), Some((other, new))) if one != other => (old, new),
        (_, _) if strip_name_prefix(old) == new => (new, new),
        (_, _) if strip_name_prefix(new) == old => (old, old),
        (_, _) => (old, new),
    };
    let kept = BACKUP_SUFFIXES.iter().any(|end| old.strip_suffix(end) == Some(new));
    (old == new || kept).then(|| new.to_owned())
}

/// Returns the file that diff compares under two names: one is an edited copy of the other, or both are in separate
/// trees.
fn compared_file(old: &str, new: &str) -> Option<String> {
    if NEW_COPY_SUFFIXES.iter().chain(BACKUP_SUFFIXES).any(|end| new.strip_suffix(end) == Some(old)) {
        return Some(old.to_owned());
    }
    let ends = old.rsplit('/').zip(new.rsplit('/')).take_while(|(old, new)| old == new);
    let mut parts: Vec<&str> = ends.map(|(part, _)| part).collect();
    parts.reverse();
    let name = parts.join("/");
    (!name.is_empty()).then_some(name)
}

/// Splits a name into its prefix letter and the rest.
fn split_prefix(name: &str) -> Option<(u8, &str)> {
    let (prefix, rest) = name.split_once('/')?;
    match prefix.as_bytes() {
        [letter] if PREFIXES.contains(letter) && !rest.is_empty() => Some((*letter, rest)),
        _ => None,
    }
}

/// Strips the prefix of a name, if it has one.
fn strip_name_prefix(name: &str) -> &str {
    split_prefix(name).map_or(name, |(_, rest)| rest)
}

/// Splits the two names of `diff --git`. Names with spaces can be separated only if they refer to one file.
pub(super) fn split_git_names(
    text: &str,
    number: usize,
) -> Result<Option<(String, String)>, PatchSyntaxError> {
    let text = text.trim_end();
    if text.starts_with('"') {
        let (old, rest) = parse_quoted_name(text, number)?;
        return Ok(Some((old, unquote_name(rest.trim_start(), number)?)));
    }
    if let Some((old, _)) = text.split_once(" \"") {
        return Ok(Some((old.to_owned(), parse_quoted_name(&text[old.len() + 1..], number)?.0)));
    }
    let middle = text.len() / 2;
    let halves = text.get(..middle).zip(text.get(middle..).and_then(|rest| rest.strip_prefix(' ')));
    if let Some((old, new)) = halves
        && common_file(old, new).is_some()
    {
        return Ok(Some((old.to_owned(), new.to_owned())));
    }
    let two = text.split_once(' ').filter(|(_, new)| !new.contains(' '));
    Ok(two.map(|(old, new)| (old.to_owned(), new.to_owned())))
}

/// Returns a name without its quotes, if it has any.
pub(super) fn unquote_name(text: &str, number: usize) -> Result<String, PatchSyntaxError> {
    if text.starts_with('"') {
        parse_quoted_name(text, number).map(|(name, _)| name)
    } else {
        Ok(text.to_owned())
    }
}

/// Parses a name in C quotes, and returns the rest of the text.
fn parse_quoted_name(text: &str, number: usize) -> Result<(String, &str), PatchSyntaxError> {
    let wrong = || {
        PatchSyntaxError::new(
            number,
            format!("the name {} is quoted wrongly", clip(text)),
            "write it as git does",
        )
    };
    let bytes = text.as_bytes();
    let mut name = Vec::new();
    let mut at = 1;
    // ends: each round takes a byte or more
    loop {
        match bytes.get(at) {
            None => return Err(wrong()),
            Some(b'"') => break,
            Some(b'\\') => {
                let (byte, length) = parse_escape(&bytes[at + 1..]).ok_or_else(wrong)?;
                name.push(byte);
                at += 1 + length;
            }
            Some(byte) => {
                name.push(*byte);
                at += 1;
            }
        }
    }
    let name = String::from_utf8(name).map_err(|_| {
        PatchSyntaxError::new(
            number,
            "the name of the file is not UTF-8",
            "rename the file with a command first",
        )
    })?;
    Ok((name, text.get(at + 1..).unwrap_or_default()))
}

/// Parses an escape after its backslash. Returns the byte and the length.
fn parse_escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let byte = match bytes.first()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        sign @ (b'"' | b'\\') => *sign,
        b'0'..=b'3' => {
            let digits = std::str::from_utf8(bytes.get(..3)?).ok()?;
            return Some((u8::from_str_radix(digits, 8).ok()?, 3));
        }
        _ => return None,
    };
    Some((byte, 1))
}
