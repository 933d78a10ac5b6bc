//! Finds the patch in a command that only applies a patch.

use crate::shell::ScriptRedirect;
use crate::shell::syntax_tree::{ParsedWord, ScriptTree, SimpleCommand, StepConnector, SyntaxNode};

/// Command names that apply a patch.
const PATCH_COMMANDS: &[&str] = &["apply_patch", "applypatch"];

/// A patch that a command would apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchCommand {
    /// The target directory, if the command gives one.
    pub directory: Option<String>,
    /// The text of the patch.
    pub text: String,
}

/// Returns the patch of `apply_patch TEXT`.
pub(crate) fn find_in_argv(argv: &[String]) -> Option<PatchCommand> {
    match argv {
        [name, text] if PATCH_COMMANDS.contains(&name.as_str()) => {
            Some(PatchCommand { directory: None, text: text.clone() })
        }
        _ => None,
    }
}

/// Returns the patch that `script` applies, if that is its only effect: it runs `apply_patch` with a here-document
/// without expansions, optionally after `cd DIR &&`.
pub(crate) fn find_in_script(script: &ScriptTree) -> Option<PatchCommand> {
    let (directory, last) = match script.0.as_slice() {
        [last] => (None, last),
        [first, last] if first.connector == StepConnector::And => (Some(cd_directory(&first.node)?), last),
        _ => return None,
    };
    // A patch in the background is not supported: its result would be lost.
    let text = match (&last.node, last.connector) {
        (SyntaxNode::Simple(simple), StepConnector::Then) => patch_text(simple)?,
        _ => return None,
    };
    Some(PatchCommand { directory, text })
}

/// Returns the `DIR` of `cd DIR`.
fn cd_directory(node: &SyntaxNode) -> Option<String> {
    let SyntaxNode::Simple(SimpleCommand { assignments, words, targets, .. }) = node else { return None };
    match words.as_slice() {
        [cd, directory] if cd.known_text() == Some("cd") && assignments.is_empty() && targets.is_empty() => {
            directory
                .known_text()
                .filter(|directory| !directory.is_empty() && !directory.starts_with('-'))
                .map(str::to_owned)
        }
        _ => None,
    }
}

/// Returns the text of the patch, which is the only argument or the only redirection.
fn patch_text(simple: &SimpleCommand) -> Option<String> {
    if !simple.assignments.is_empty()
        || simple
            .words
            .first()
            .and_then(ParsedWord::known_text)
            .is_none_or(|name| !PATCH_COMMANDS.contains(&name))
    {
        return None;
    }
    match (simple.words.as_slice(), simple.targets.as_slice()) {
        ([_, text], []) => text.known_text().map(str::to_owned),
        ([_], [target]) if target.is_stdin && matches!(target.redirect, Some(ScriptRedirect::Text(_))) => {
            target.verbatim.clone()
        }
        _ => None,
    }
}
