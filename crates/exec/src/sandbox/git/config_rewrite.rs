//! Rewrites the configuration of a new repository: parses it strictly and writes only harmless keys.
//!
//! A configuration can name programs (`core.fsmonitor`, `filter.*.clean`, `include.path` …), and git adds such keys
//! with every release. So nothing is copied: only understood keys that are known to be harmless are written again.

use super::content_checks::is_ref_name_parts;

/// One `key = value` with its section.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GitConfigEntry {
    section: String,
    subsection: Option<String>,
    key: String,
    value: String,
}

/// A configuration with harmless keys only.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RewrittenConfig {
    /// The rewritten text.
    pub(super) text: String,
    /// True if nothing was omitted.
    pub(super) complete: bool,
}

/// Rewrites `text`. `inside` decides which working trees a submodule may have, `near` whether commands can write at a
/// path.
pub(super) fn rewrite(
    text: &[u8],
    inside: impl Fn(&str) -> bool,
    near: impl Fn(&str) -> bool,
) -> RewrittenConfig {
    let (entries, mut complete) = parse_entries(text);
    let mut text = String::new();
    let mut last_header = None;
    let is_kept = |entry: &GitConfigEntry| harmless(entry, &inside) && !names_repository_near(entry, &near);
    let is_address =
        |entry: &&GitConfigEntry| entry.section == "remote" && entry.key == "url" && is_kept(entry);
    let remotes: Vec<String> =
        entries.iter().filter(is_address).filter_map(|entry| entry.subsection.clone()).collect();
    for entry in entries {
        if !is_kept(&entry) || !names_known_remote(&entry, &remotes) {
            complete = false;
            continue;
        }
        let header = match &entry.subsection {
            Some(name) => format!("[{} \"{name}\"]\n", entry.section),
            None => format!("[{}]\n", entry.section),
        };
        if last_header.as_ref() != Some(&header) {
            text.push_str(&header);
            last_header = Some(header);
        }
        text.push_str(&format!("\t{} = {}\n", entry.key, entry.value));
    }
    RewrittenConfig { text, complete }
}

/// Returns the last value of `core.worktree`, the working tree of a submodule.
pub(super) fn worktree(text: &[u8]) -> Option<String> {
    last_value(text, "core", "worktree")
}

/// Returns the last value of `extensions.objectformat`, the object format.
pub(super) fn object_format(text: &[u8]) -> Option<String> {
    last_value(text, "extensions", "objectformat")
}

fn last_value(text: &[u8], section: &str, key: &str) -> Option<String> {
    let (entries, _) = parse_entries(text);
    let named =
        |entry: &GitConfigEntry| entry.section == section && entry.subsection.is_none() && entry.key == key;
    entries.into_iter().rev().find(named).map(|entry| entry.value)
}

/// Returns the plain entries of `text`, and whether these are all. Quotes, escapes, continued lines, comments after a
/// value and other complex syntax are omitted.
fn parse_entries(text: &[u8]) -> (Vec<GitConfigEntry>, bool) {
    let Ok(text) = std::str::from_utf8(text) else { return (Vec::new(), false) };
    let mut entries = Vec::new();
    let mut complete = true;
    let mut section = None;
    let mut continued = false;
    for line in text.lines() {
        let (before, line) = (continued, line.trim_matches([' ', '\t']));
        continued = line.ends_with('\\');
        if !before && (line.is_empty() || line.starts_with(['#', ';'])) && !continued {
            continue;
        }
        if !before && line.starts_with('[') {
            section = parse_header(line);
            complete &= section.is_some();
            continue;
        }
        let entry = section.as_ref().filter(|_| !before).and_then(|section| parse_entry(section, line));
        complete &= entry.is_some();
        entries.extend(entry);
    }
    (entries, complete)
}

/// Parses `[section]` or `[section "subsection"]`.
fn parse_header(line: &str) -> Option<(String, Option<String>)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (section, subsection) = match inner.split_once(' ') {
        Some((section, rest)) => (section, Some(rest.strip_prefix('"')?.strip_suffix('"')?)),
        None => (inner, None),
    };
    let word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let plain = |text: &str| {
        !text.is_empty() && !text.contains(['"', '\\', '[', ']']) && !text.contains(char::is_control)
    };
    let fits = word(section) && subsection.is_none_or(plain);
    fits.then(|| (section.to_ascii_lowercase(), subsection.map(str::to_owned)))
}

fn parse_entry((section, subsection): &(String, Option<String>), line: &str) -> Option<GitConfigEntry> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim_matches([' ', '\t']), value.trim_matches([' ', '\t']));
    let word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let plain =
        !value.is_empty() && !value.contains(['"', '\\', '#', ';']) && !value.contains(char::is_control);
    (word && plain).then(|| GitConfigEntry {
        section: section.clone(),
        subsection: subsection.clone(),
        key: key.to_ascii_lowercase(),
        value: value.to_owned(),
    })
}

/// Returns true if a URL refers to a repository that commands may have created: `git push` runs its hooks. A relative
/// path counts from the user's current directory.
fn names_repository_near(entry: &GitConfigEntry, near: &impl Fn(&str) -> bool) -> bool {
    let value = entry.value.as_str();
    let is_path = !value.split('/').next().is_some_and(|first| first.contains(':'));
    entry.key == "url" && is_path && (!value.starts_with('/') || near(value))
}

/// Returns true unless the entry refers to a remote that is not in `remotes`. Git takes any other name for a path.
fn names_known_remote(entry: &GitConfigEntry, remotes: &[String]) -> bool {
    let is_known = |name: &str| remotes.iter().any(|known| known == name);
    match (entry.section.as_str(), entry.key.as_str()) {
        ("remote", _) => entry.subsection.as_deref().is_some_and(is_known),
        ("branch", "remote") => entry.value == "." || is_known(&entry.value),
        _ => true,
    }
}

/// The table of harmless keys.
fn harmless(entry: &GitConfigEntry, inside: &impl Fn(&str) -> bool) -> bool {
    let value = entry.value.as_str();
    match (entry.section.as_str(), entry.subsection.as_deref(), entry.key.as_str()) {
        ("core", None, "repositoryformatversion") => matches!(value, "0" | "1"),
        ("core", None, "filemode" | "bare" | "ignorecase" | "precomposeunicode" | "symlinks") => {
            is_bool(value)
        }
        ("core", None, "logallrefupdates") => is_bool(value) || value == "always",
        ("core", None, "worktree") => inside(value),
        ("extensions", None, "objectformat") => matches!(value, "sha1" | "sha256"),
        ("init", None, "defaultbranch") => is_branch(value),
        ("remote", Some(name), "url") => is_branch(name) && is_url(value),
        ("remote", Some(name), "fetch") => is_branch(name) && is_refspec(value),
        ("branch", Some(name), "remote") => is_branch(name) && (value == "." || is_branch(value)),
        ("branch", Some(name), "merge") => {
            is_branch(name) && value.strip_prefix("refs/").is_some_and(is_branch)
        }
        ("branch", Some(name), "rebase") => is_branch(name) && (is_bool(value) || value == "merges"),
        ("submodule", Some(name), "url") => is_submodule_name(name) && is_url(value),
        ("submodule", Some(name), "active") => is_submodule_name(name) && is_bool(value),
        _ => false,
    }
}

fn is_bool(value: &str) -> bool {
    matches!(value, "true" | "false")
}

/// Checks the name of a branch or of a remote.
fn is_branch(name: &str) -> bool {
    let parts: Vec<&[u8]> = name.as_bytes().split(|byte| *byte == b'/').collect();
    is_ref_name_parts(&parts)
}

/// Checks the name of a submodule: a path without `..`.
fn is_submodule_name(name: &str) -> bool {
    !name.starts_with(['-', '/']) && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Checks a refspec such as `+refs/heads/*:refs/remotes/origin/*`.
fn is_refspec(value: &str) -> bool {
    let side = |text: &str| {
        let stars = text.matches('*').count();
        stars <= 1 && text.strip_prefix("refs/").is_some_and(|name| is_branch(&name.replace('*', "x")))
    };
    let spec = value.strip_prefix(['+', '^']).unwrap_or(value);
    match spec.split_once(':') {
        Some((from, to)) => side(from) && side(to),
        None => side(spec),
    }
}

/// Checks a URL from which git fetches with its own transports only.
fn is_url(value: &str) -> bool {
    let plain = |letter: char| !letter.is_control() && !letter.is_whitespace();
    if value.starts_with('-') || value.contains("::") || !value.chars().all(plain) {
        return false;
    }
    let host = |text: &str| {
        let end = text.find(['/', ':']).unwrap_or(text.len());
        let name = text[..end].rsplit('@').next().unwrap_or_default();
        !text.starts_with('-') && !name.is_empty() && !name.starts_with('-')
    };
    match value.split_once("://") {
        Some(("https" | "http" | "ssh" | "git", rest)) => host(rest),
        Some(_) => false,
        None => match value.split_once(':') {
            // `git@example.org:path`, or a path with a colon further back.
            Some((before, path)) if !before.contains('/') => host(before) && !path.starts_with('-'),
            _ => true,
        },
    }
}
