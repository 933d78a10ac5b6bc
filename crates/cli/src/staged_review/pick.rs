//! Chooses staged changes one by one.

use std::path::PathBuf;

use staging::{Change, ChangeList, EntryKind, Selection, Stage, StagedChangeKind};

use super::change_diff::diff_of;
use super::change_table::shown;
use super::questions::{ask, is_interactive};
use config::OperationFault;

/// Asks about each change. Returns the selection, or `None` if nothing was chosen.
pub(crate) fn pick(stage: &mut Stage, list: &ChangeList) -> Result<Option<Selection>, OperationFault> {
    if !is_interactive() {
        return Err(OperationFault::usage("--pick asks about each change, and there is no terminal")
            .with_hint("`toolgate apply PATH…` names the changes"));
    }
    let directory = stage.working_directory();
    let mut chosen: Vec<PathBuf> = Vec::new();
    let mut rest = Rest::Ask;
    for change in &list.changes {
        if rest == Rest::Ask {
            terminal::print_diff(&diff_of(stage, change, &directory)?)?;
        }
        if decide(&shown(&change.path, &directory), question_of(change), &mut rest)? {
            chosen.push(change.path.clone());
        }
    }
    for folded in &list.folded {
        let files = folded.added + folded.modified + folded.removed;
        let what = format!("{files} files in this directory");
        if decide(&shown(&folded.path, &directory), &what, &mut rest)? {
            chosen.push(folded.path.clone());
        }
    }
    for (path, files) in &list.git {
        let what = format!("commits, branches, index: {files} files");
        if decide(&shown(path, &directory), &what, &mut rest)? {
            chosen.push(path.clone());
        }
    }
    if chosen.is_empty() {
        terminal::print_hint("nothing was chosen");
        return Ok(None);
    }
    Ok(Some(Selection::Paths(chosen)))
}

fn question_of(change: &Change) -> &'static str {
    match (change.kind, change.entry) {
        (StagedChangeKind::Removed, EntryKind::Directory) => "this directory is removed",
        (StagedChangeKind::Removed, _) => "it is removed",
        (StagedChangeKind::Replaced, _) => "it is replaced",
        (StagedChangeKind::Modified, _) => "it is modified",
        (StagedChangeKind::Permissions, _) => "its permissions change",
        (StagedChangeKind::Added, _) => "it is new",
    }
}

/// The answer for the changes that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Ask,
    Take,
    Leave,
}

fn decide(name: &str, what: &str, rest: &mut Rest) -> Result<bool, OperationFault> {
    match rest {
        Rest::Take => return Ok(true),
        Rest::Leave => return Ok(false),
        Rest::Ask => {}
    }
    // ends: with an answer, or at the end of the input
    loop {
        match ask(&format!(
            "{name}: {what}. Apply it? [y] yes  [n] no  [a] this and all others  [q] no more: "
        ))?
        .as_str()
        {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            "a" => {
                *rest = Rest::Take;
                return Ok(true);
            }
            "q" | "" => {
                *rest = Rest::Leave;
                return Ok(false);
            }
            _ => {}
        }
    }
}
