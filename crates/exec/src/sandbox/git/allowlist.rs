//! Allow-list of names that may go from a sandbox into the host's git directory. It considers names only.

use super::content_checks::{is_object_id, is_ref_name_parts, is_replace_ref};

/// The decision about a name below a git directory. To land means to be copied from the sandbox to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LandingVerdict {
    /// The file may land if its content has this form, and be removed within this scope.
    Land(ContentForm, RemovalScope),
    /// The directory of linked worktrees, or one of them: nothing to write, but a complete one may be removed.
    Worktree,
    /// A directory of an operation such as a rebase, or a file in it. It may contain commands, so it never lands. Its
    /// removal lands: the operation is finished.
    Operation,
    /// A lock or a partially written file, which is dropped silently.
    Junk,
    /// A file that `git init` copies from its templates. It stays in the sandbox, and is reported only if the host
    /// has one too.
    Template,
    /// It stays in the sandbox and is not reported.
    Private,
    /// It stays in the sandbox.
    Keep,
    /// It stays in the sandbox, because the name is unknown.
    Unknown,
}

/// The scope of a removal on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RemovalScope {
    /// Nothing.
    Never,
    /// A file of this name.
    File,
    /// A file of this name, or a directory with all its contents.
    Tree,
}

/// The required form of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentForm {
    /// A loose object.
    LooseObject,
    /// A pack.
    Pack,
    /// A marker that a pack was fetched from a remote which has the missing objects.
    Promisor,
    /// The index of a pack, which makes the pack visible to git.
    PackIndex,
    /// The configuration of a new repository.
    Config,
    /// A reflog.
    Reflog,
    /// Free text.
    Text,
    /// Conflicts recorded by `git rerere`.
    Rerere,
    /// Object ids, one per line.
    ObjectIds,
    /// The name of a branch, or an object id.
    BranchOrId,
    /// The path from a linked worktree to its repository.
    Commondir,
    /// The path from a linked worktree to its tree.
    Gitdir,
    /// All packed references.
    PackedRefs,
    /// One reference.
    Ref,
    /// The index.
    Index,
    /// The checked-out reference.
    Head,
}

/// A verdict, and the number of parts that name its repository: zero for the outermost.
type ScopedVerdict = (LandingVerdict, usize);

/// Judges the name made of `parts`.
pub(super) fn judge(parts: &[&[u8]]) -> LandingVerdict {
    judge_with_scope(parts).0
}

/// Returns the number of `parts` that name the repository of the rest: a submodule, or zero. A linked worktree has no
/// configuration, so it does not count as a repository.
pub(super) fn repository_depth(parts: &[&[u8]]) -> usize {
    judge_with_scope(parts).1
}

/// Judges all suffixes from the end, so that each is judged once. A name with `modules` forty times has too many
/// possible readings for a recursive search.
fn judge_with_scope(parts: &[&[u8]]) -> ScopedVerdict {
    let mut known = vec![(LandingVerdict::Unknown, 0); parts.len() + 1];
    for start in (0..=parts.len()).rev() {
        known[start] = judge_suffix(&parts[start..], &known[start..]);
    }
    known[0]
}

/// Judges `parts`; `known` holds the verdicts of their suffixes.
fn judge_suffix(parts: &[&[u8]], known: &[ScopedVerdict]) -> ScopedVerdict {
    match parts {
        _ if parts.iter().any(|part| part.ends_with(b".lock")) => (LandingVerdict::Junk, 0),
        [b"modules", rest @ ..] => judge_submodule(rest, known, 1),
        [b"worktrees", _, b"modules", rest @ ..] => judge_submodule(rest, known, 3),
        _ => (judge_outermost(parts), 0),
    }
}

/// Judges a name in a submodule. Its name may contain slashes, so the shortest name wins that gives the rest a
/// meaning. A wrong guess is harmless: every rule holds for any name. `rest` begins after the first `before` parts.
fn judge_submodule(rest: &[&[u8]], known: &[ScopedVerdict], before: usize) -> ScopedVerdict {
    (before + 1..before + rest.len())
        .map(|start| (known[start].0, start + known[start].1))
        .find(|(verdict, _)| *verdict != LandingVerdict::Unknown)
        .unwrap_or((LandingVerdict::Unknown, 0))
}

/// Judges a name outside submodules.
fn judge_outermost(parts: &[&[u8]]) -> LandingVerdict {
    match parts {
        [b"objects", rest @ ..] => judge_object(rest),
        [b"worktrees"] | [b"worktrees", _] => LandingVerdict::Worktree,
        [b"worktrees", _, rest @ ..] => judge_worktree(rest),
        [b"packed-refs"] => LandingVerdict::Land(ContentForm::PackedRefs, RemovalScope::Never),
        [b"config"] => LandingVerdict::Land(ContentForm::Config, RemovalScope::Never),
        [b"description"] => LandingVerdict::Land(ContentForm::Text, RemovalScope::Never),
        [b"shallow"] => LandingVerdict::Land(ContentForm::ObjectIds, RemovalScope::File),
        [b"gc.pid" | b"gc.log"] => LandingVerdict::Junk,
        // A list for web servers without git support; every repack writes it again.
        [b"info", b"refs"] => LandingVerdict::Junk,
        [b"hooks", name] if name.ends_with(b".sample") => LandingVerdict::Template,
        [b"info", b"exclude"] => LandingVerdict::Private,
        [b"hooks" | b"info", ..] | [b"commondir" | b"gitdir" | b"config.worktree"] => LandingVerdict::Keep,
        _ => judge_shared_name(parts),
    }
}

/// Returns true for a directory that git requires even if it is empty, to recognize the repository.
pub(super) fn is_required_directory(parts: &[&[u8]]) -> bool {
    let own = |parts: &[&[u8]]| {
        matches!(
            parts,
            [b"objects" | b"refs"] | [b"objects", b"info" | b"pack"] | [b"refs", b"heads" | b"tags"]
        )
    };
    match parts {
        [b"modules", rest @ ..] | [b"worktrees", _, b"modules", rest @ ..] => {
            (1..rest.len()).any(|name| own(&rest[name..]))
        }
        _ => own(parts),
    }
}

/// Returns true for the object store, of the repository or of a submodule.
pub(super) fn is_object_store(parts: &[&[u8]]) -> bool {
    parts.last() == Some(&b"objects".as_slice()) && is_required_directory(parts)
}

/// Returns true for the object store and everything in it.
pub(super) fn is_in_object_store(parts: &[&[u8]]) -> bool {
    (1..=parts.len()).any(|end| is_object_store(&parts[..end]))
}

/// Returns true if a directory that was deleted and re-created in the sandbox means that the host's contents are
/// removed. Git does so with branches that share a prefix and with linked worktrees. A larger one results from some
/// `rm -r`, and then the host keeps its branches.
pub(super) fn is_replaceable(parts: &[&[u8]]) -> bool {
    matches!(parts, [b"worktrees", ..]) || matches!(judge(parts), LandingVerdict::Land(_, RemovalScope::Tree))
}

/// Returns true for a directory in which git keeps an operation in progress.
pub(super) fn is_operation_directory(parts: &[&[u8]]) -> bool {
    matches!(parts.last(), Some(&(b"rebase-merge" | b"rebase-apply" | b"sequencer")))
        && judge(parts) == LandingVerdict::Operation
}

/// Judges names that a repository and a linked worktree have in common.
fn judge_shared_name(parts: &[&[u8]]) -> LandingVerdict {
    match parts {
        [b"refs", rest @ ..] => judge_reference(rest),
        [b"logs", b"HEAD"] => LandingVerdict::Land(ContentForm::Reflog, RemovalScope::File),
        // Exists while a branch is renamed.
        [b"logs", b"refs", b".tmp-renamed-log", ..] => LandingVerdict::Junk,
        [b"logs", b"refs", rest @ ..] => match judge_reference(rest) {
            LandingVerdict::Land(_, removal) => LandingVerdict::Land(ContentForm::Reflog, removal),
            other => other,
        },
        [b"rebase-merge" | b"rebase-apply" | b"sequencer", ..] => LandingVerdict::Operation,
        [b"rr-cache", ..] => LandingVerdict::Private,
        [b"HEAD"] => LandingVerdict::Land(ContentForm::Head, RemovalScope::Never),
        [b"index"] => LandingVerdict::Land(ContentForm::Index, RemovalScope::Never),
        [name] => judge_single_file(name),
        _ => LandingVerdict::Unknown,
    }
}

fn judge_single_file(name: &[u8]) -> LandingVerdict {
    let form = match name {
        b"ORIG_HEAD" | b"MERGE_HEAD" | b"CHERRY_PICK_HEAD" | b"REVERT_HEAD" | b"REBASE_HEAD" => {
            ContentForm::ObjectIds
        }
        b"AUTO_MERGE" | b"MERGE_AUTOSTASH" | b"BISECT_EXPECTED_REV" => ContentForm::ObjectIds,
        b"BISECT_START" => ContentForm::BranchOrId,
        b"MERGE_RR" => ContentForm::Rerere,
        b"FETCH_HEAD" | b"MERGE_MSG" | b"MERGE_MODE" | b"SQUASH_MSG" => ContentForm::Text,
        b"BISECT_LOG" | b"BISECT_TERMS" | b"BISECT_ANCESTORS_OK" | b"BISECT_NAMES" => ContentForm::Text,
        b"COMMIT_EDITMSG" | b"TAG_EDITMSG" | b"NOTES_EDITMSG" => ContentForm::Text,
        // The base of a split index: an index that has one does not land.
        _ if name.strip_prefix(b"sharedindex.").is_some_and(is_object_id) => return LandingVerdict::Private,
        _ if name.starts_with(b"sharedindex_") => return LandingVerdict::Junk,
        _ => return LandingVerdict::Unknown,
    };
    LandingVerdict::Land(form, RemovalScope::File)
}

fn judge_object(rest: &[&[u8]]) -> LandingVerdict {
    if rest.iter().any(|part| part.starts_with(b"tmp_") || part.starts_with(b".tmp-")) {
        return LandingVerdict::Junk;
    }
    let form = match rest {
        [name, ..] if name.starts_with(b"incoming-") => return LandingVerdict::Junk,
        [two, rest] if two.len() == 2 && is_hex(two) && matches!(rest.len(), 38 | 62) && is_hex(rest) => {
            ContentForm::LooseObject
        }
        // Data that git can compute itself, and would trust even if it is wrong.
        [b"info", b"commit-graph"] | [b"info", b"commit-graphs", _, ..] => return LandingVerdict::Junk,
        [b"pack", b"multi-pack-index.d"] => return LandingVerdict::Unknown,
        [b"pack", name, ..] if name.starts_with(b"multi-pack-index") => return LandingVerdict::Junk,
        [b"pack", name] => return judge_pack_file(name),
        [b"info", b"packs"] => ContentForm::Text,
        [b"info", b"alternates" | b"http-alternates"] => return LandingVerdict::Keep,
        _ => return LandingVerdict::Unknown,
    };
    LandingVerdict::Land(form, RemovalScope::Never)
}

fn judge_pack_file(name: &[u8]) -> LandingVerdict {
    let (stem, ending) = name.split_at(name.iter().rposition(|byte| *byte == b'.').unwrap_or(0));
    if !stem.strip_prefix(b"pack-").is_some_and(is_object_id) {
        return LandingVerdict::Unknown;
    }
    let form = match ending {
        b".pack" => ContentForm::Pack,
        b".promisor" => ContentForm::Promisor,
        b".idx" => ContentForm::PackIndex,
        // Data that git can compute itself, and would trust even if it is wrong.
        b".bitmap" | b".rev" | b".mtimes" => return LandingVerdict::Junk,
        // Exists while a pack is transferred.
        b".keep" => return LandingVerdict::Junk,
        _ => return LandingVerdict::Unknown,
    };
    LandingVerdict::Land(form, RemovalScope::Never)
}

fn judge_reference(rest: &[&[u8]]) -> LandingVerdict {
    match rest {
        [] => LandingVerdict::Unknown,
        // These are directories.
        [b"heads" | b"tags" | b"remotes" | b"notes" | b"bisect" | b"worktree" | b"rewritten"] => {
            LandingVerdict::Unknown
        }
        // A reference here substitutes another object for the requested one, like a graft.
        [first, ..] if is_replace_ref(first) => LandingVerdict::Keep,
        _ if !is_ref_name_parts(rest) => LandingVerdict::Keep,
        // Git removes an empty directory of references, except on the first level.
        [_] => LandingVerdict::Land(ContentForm::Ref, RemovalScope::File),
        _ => LandingVerdict::Land(ContentForm::Ref, RemovalScope::Tree),
    }
}

fn judge_worktree(rest: &[&[u8]]) -> LandingVerdict {
    match rest {
        [b"commondir"] => LandingVerdict::Land(ContentForm::Commondir, RemovalScope::Never),
        [b"gitdir"] => LandingVerdict::Land(ContentForm::Gitdir, RemovalScope::Never),
        [b"locked"] => LandingVerdict::Land(ContentForm::Text, RemovalScope::File),
        [b"config.worktree"] => LandingVerdict::Keep,
        _ => judge_shared_name(rest),
    }
}

fn is_hex(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The order of landing: no file may land before the files that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LandingPhase {
    /// The configuration of a new repository: it defines the object format.
    Config,
    /// Promisor markers, before their packs.
    PromisorMarkers,
    /// Objects, loose and packed.
    Objects,
    /// Pack indexes, which make packs visible.
    PackIndexes,
    /// Everything else.
    OtherFiles,
    /// Packed references, before any loose one that is now packed is removed.
    PackedRefs,
    /// Loose references.
    Refs,
    /// Removals.
    Removals,
    /// The index.
    Index,
    /// The checked-out reference.
    Head,
}

impl LandingPhase {
    /// Returns true if the phase brings objects.
    pub(super) fn brings_objects(self) -> bool {
        matches!(self, Self::Objects | Self::PackIndexes)
    }
}

impl ContentForm {
    /// Returns the phase in which the form lands.
    pub(super) fn phase(self) -> LandingPhase {
        match self {
            Self::Config => LandingPhase::Config,
            Self::Promisor => LandingPhase::PromisorMarkers,
            Self::LooseObject | Self::Pack => LandingPhase::Objects,
            Self::PackIndex => LandingPhase::PackIndexes,
            Self::Reflog | Self::Text | Self::Rerere | Self::ObjectIds | Self::BranchOrId => {
                LandingPhase::OtherFiles
            }
            Self::Commondir | Self::Gitdir => LandingPhase::OtherFiles,
            Self::PackedRefs => LandingPhase::PackedRefs,
            Self::Ref => LandingPhase::Refs,
            Self::Index => LandingPhase::Index,
            Self::Head => LandingPhase::Head,
        }
    }

    /// Returns true if the file is named by a hash: once it exists, it is never replaced.
    pub(super) fn is_content_addressed(self) -> bool {
        matches!(self, Self::LooseObject | Self::Pack | Self::PackIndex | Self::Promisor)
    }
}
