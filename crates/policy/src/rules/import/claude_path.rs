//! Converts Claude Code's paths, which are gitignore patterns, to paths and globs of rules.

use crate::rules::{PathAccess, RuleDecision};

/// A converted path, and a note about differences.
pub(super) struct ConvertedPath {
    pub(super) path: String,
    pub(super) note: Option<String>,
}

/// Converts `what`: `//x` is absolute, `~/x` is in the home, and `/x`, `./x` and `x` are in the project.
pub(super) fn convert_path(
    what: &str,
    access: PathAccess,
    decision: RuleDecision,
) -> Result<ConvertedPath, String> {
    if what.contains(['{', '}', '\\', '!', '\0']) || what.split('/').any(|part| part == "..") {
        return Err("its path is none that rules can name".to_owned());
    }
    // A rule path includes everything below it anyway.
    let whole = what.strip_suffix("/**").or_else(|| what.strip_suffix('/')).unwrap_or(what);
    if let Some(path) = whole.strip_prefix('/').filter(|path| path.starts_with('/')) {
        return Ok(ConvertedPath { path: path.to_owned(), note: None });
    }
    if whole.starts_with("~/") {
        return Ok(ConvertedPath { path: whole.to_owned(), note: None });
    }
    let inner = whole.strip_prefix("./").or_else(|| whole.strip_prefix('/')).unwrap_or(whole);
    match (access, decision) {
        (PathAccess::Read, RuleDecision::Allow) => {
            Err("what lies in the working directory is read without a question".to_owned())
        }
        (PathAccess::Read, RuleDecision::Ask | RuleDecision::Forbid) => {
            let inner = inner.strip_prefix("**/").unwrap_or(inner);
            if inner.is_empty() || inner.chars().all(|letter| matches!(letter, '*' | '/' | '.')) {
                return Err("it would forbid to read everything".to_owned());
            }
            let note = (!whole.starts_with("**/"))
                .then(|| "holds at any depth here, not only in one project".to_owned());
            Ok(ConvertedPath { path: format!("**/{inner}"), note })
        }
        (PathAccess::Write, RuleDecision::Allow) => {
            Err("the sandbox policy says whether a project may be written, not a rule".to_owned())
        }
        (PathAccess::Write, RuleDecision::Ask | RuleDecision::Forbid) => {
            let own = "only a project's own rules can name a path of the project";
            Err(own.to_owned())
        }
    }
}
