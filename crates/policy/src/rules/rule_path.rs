//! Parses, formats and matches the paths in rules: absolute paths, paths below the home, and globs.

use std::path::{Component, Path, PathBuf};

use super::{PathAccess, RuleDecision};
use crate::{DenyRead, normalize_path};

/// Characters that make a path a glob.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// A path in a rule. It includes everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePath {
    /// An absolute path.
    Absolute(PathBuf),
    /// A path relative to the user's home.
    Home(PathBuf),
    /// A glob as in `files.deny_read`; only for rules that forbid reading.
    Glob(String),
}

impl RulePath {
    /// Parses `text`; a relative path starts at `base`.
    pub(super) fn parse(
        text: &str,
        base: Option<&Path>,
        access: PathAccess,
        decision: RuleDecision,
    ) -> Result<Self, String> {
        let globs = access == PathAccess::Read && decision == RuleDecision::Forbid;
        if globs && text.contains(WILDCARDS) {
            // Any home is sufficient for validating the glob.
            let glob = DenyRead::new([text], Some(Path::new("/home")));
            return glob.map(|_| Self::Glob(text.to_owned())).map_err(|fault| fault.why);
        }
        let below = text.strip_prefix("~/").map(Path::new);
        let is_upwards = |path: &Path| path.components().any(|part| part == Component::ParentDir);
        let why = match text {
            _ if text.trim().is_empty() => "it is empty; write a path, e.g. `~/notes`",
            _ if text.trim() != text => "it begins or ends with a blank",
            _ if text.contains('\0') => "it holds a NUL, which no path can",
            _ if text.starts_with('$') => "variables are not expanded; write the path, or `~/…`",
            _ if text.starts_with('~') && below.is_none() => "only `~/…` is known, your own home",
            _ if text.contains(WILDCARDS) => {
                "only where reading is forbidden may a path have wildcards; name a directory, all below it is meant"
            }
            _ if below.is_some_and(is_upwards) => "behind `~/` there is no `..`; write the path from `/`",
            _ if below.is_none() && !text.starts_with('/') && base.is_none() => {
                "a relative path has no base directory in a file that is not a project's; write `/…` or \
                 `~/…`, or `**/…` where reading is forbidden"
            }
            _ => return Ok(Self::from_plain_path(text, below, base)),
        };
        Err(why.to_owned())
    }

    fn from_plain_path(text: &str, below: Option<&Path>, base: Option<&Path>) -> Self {
        let usual = |part: &Component<'_>| matches!(part, Component::Normal(_));
        match below {
            Some(below) => Self::Home(below.components().filter(usual).collect()),
            None => Self::Absolute(normalize_path(&base.unwrap_or(Path::new("/")).join(text))),
        }
    }

    /// Returns the absolute path; `None` for a glob, or below an unknown home.
    pub fn path(&self, home: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::Absolute(path) => Some(path.clone()),
            Self::Home(below) => Some(home?.join(below)),
            Self::Glob(_) => None,
        }
    }

    /// Returns the path as a pattern for [`DenyRead::new`].
    pub fn deny_read_pattern(&self) -> String {
        let escaped = |path: &Path| globset::escape(&path.to_string_lossy());
        match self {
            Self::Absolute(path) => escaped(path),
            Self::Home(below) => format!("~/{}", escaped(below)),
            Self::Glob(glob) => glob.clone(),
        }
    }

    /// Formats the path for a rule file.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Absolute(path) => path.to_string_lossy().into_owned(),
            Self::Home(below) => format!("~/{}", below.to_string_lossy()),
            Self::Glob(glob) => glob.clone(),
        }
    }

    /// Returns true if the rule path covers `path`, which is absolute or starts with `~/`.
    pub(super) fn covers(&self, path: &str) -> bool {
        let home = Path::new("/home/of the user");
        let path = match path.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => PathBuf::from(path),
        };
        let path = normalize_path(&path);
        match self {
            Self::Absolute(at) => path.starts_with(at),
            Self::Home(below) => path.starts_with(home.join(below)),
            Self::Glob(glob) => {
                DenyRead::new([glob], Some(home)).is_ok_and(|deny| deny.denying_pattern(&path).is_some())
            }
        }
    }
}
