//! Allow-list of names that may go from a sandbox into the host's git directory. It considers names only.

use super::content::{hex, is_replacing, reference_name};

/// The decision about a name below a git directory. To land means to be copied from the sandbox to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The file may land if its content has this form, and be removed within this scope.
    Land(Form, Removal),
    /// The directory of linked worktrees, or one of them: nothing to write, but a complete one may be removed.
    Worktree,
    /// A file of an operation in progress such as a rebase. It may contain commands, so the operation is judged as a
    /// whole elsewhere.
    State,
    /// A lock or a partially written file, which is dropped silently.
    Junk,
    /// A file that `git init` copies from its templates. It stays in the sandbox, and is reported only if the host
    /// has one too.
    Template,
    /// It stays in the sandbox and is not reported: Toolgate put it there.
    Private,
    /// It stays in the sandbox.
    Keep,
    /// It stays in the sandbox, because the name is unknown.
    Unknown,
}

/// The scope of a removal on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Removal {
    /// Nothing.
    Never,
    /// A file of this name.
    File,
    /// A file of this name, or a directory with all its contents.
    Tree,
}

/// The required form of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A loose object.
    Loose,
    /// A pack.
    Pack,
    /// A marker that a pack was fetched from a remote which has the missing objects.
    Promisor,
    /// The index of a pack, which makes the pack visible to git.
    PackIndex,
    /// The configuration of a new repository.
    Config,
    /// A reflog.
    Log,
    /// A file of an operation in progress.
    State,
    /// Free text.
    Text,
    /// Conflicts recorded by `git rerere`.
    Rerere,
    /// Object ids, one per line.
    Ids,
    /// The name of a branch, or an object id.
    Name,
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
type Judged = (Verdict, usize);

/// Judges the name made of `parts`.
pub(super) fn judge(parts: &[&[u8]]) -> Verdict {
    judged(parts).0
}

/// Returns the number of `parts` that name the repository of the rest: a submodule, or zero. A linked worktree has no
/// configuration, so it does not count as a repository.
pub(super) fn repository(parts: &[&[u8]]) -> usize {
    judged(parts).1
}

/// Judges all suffixes from the end, so that each is judged once. A name with `modules` forty times has too many
/// possible readings for a recursive search.
fn judged(parts: &[&[u8]]) -> Judged {
    let mut known = vec![(Verdict::Unknown, 0); parts.len() + 1];
    for start in (0..=parts.len()).rev() {
        known[start] = ending(&parts[start..], &known[start..]);
    }
    known[0]
}

/// Judges `parts`; `known` holds the verdicts of their suffixes.
fn ending(parts: &[&[u8]], known: &[Judged]) -> Judged {
    match parts {
        _ if parts.iter().any(|part| part.ends_with(b".lock")) => (Verdict::Junk, 0),
        [b"modules", rest @ ..] => module(rest, known, 1),
        [b"worktrees", _, b"modules", rest @ ..] => module(rest, known, 3),
        _ => (plain(parts), 0),
    }
}

/// Judges a name in a submodule. Its name may contain slashes, so the shortest name wins that gives the rest a
/// meaning. A wrong guess is harmless: every rule holds for any name. `rest` begins after the first `before` parts.
fn module(rest: &[&[u8]], known: &[Judged], before: usize) -> Judged {
    (before + 1..before + rest.len())
        .map(|start| (known[start].0, start + known[start].1))
        .find(|(verdict, _)| *verdict != Verdict::Unknown)
        .unwrap_or((Verdict::Unknown, 0))
}

/// Judges a name outside submodules.
fn plain(parts: &[&[u8]]) -> Verdict {
    match parts {
        [b"objects", rest @ ..] => object(rest),
        [b"worktrees"] | [b"worktrees", _] => Verdict::Worktree,
        [b"worktrees", _, rest @ ..] => worktree(rest),
        [b"packed-refs"] => Verdict::Land(Form::PackedRefs, Removal::Never),
        [b"config"] => Verdict::Land(Form::Config, Removal::Never),
        [b"description"] => Verdict::Land(Form::Text, Removal::Never),
        [b"shallow"] => Verdict::Land(Form::Ids, Removal::File),
        [b"gc.pid" | b"gc.log"] => Verdict::Junk,
        // A list for web servers without git support; every repack writes it again.
        [b"info", b"refs"] => Verdict::Junk,
        [b"hooks", name] if name.ends_with(b".sample") => Verdict::Template,
        [b"info", b"exclude"] => Verdict::Private,
        [b"hooks" | b"info", ..] | [b"commondir" | b"gitdir" | b"config.worktree"] => Verdict::Keep,
        _ => either(parts),
    }
}

/// Returns true for a directory that git requires even if it is empty, to recognize the repository.
pub(super) fn wanted(parts: &[&[u8]]) -> bool {
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
pub(super) fn is_store(parts: &[&[u8]]) -> bool {
    parts.last() == Some(&b"objects".as_slice()) && wanted(parts)
}

/// Returns true for the object store and everything in it.
pub(super) fn in_store(parts: &[&[u8]]) -> bool {
    (1..=parts.len()).any(|end| is_store(&parts[..end]))
}

/// Returns true if a directory that was deleted and re-created in the sandbox means that the host's contents are
/// removed. Git does so with branches that share a prefix and with linked worktrees. A larger one results from some
/// `rm -r`, and then the host keeps its branches.
pub(super) fn is_replaceable(parts: &[&[u8]]) -> bool {
    matches!(parts, [b"worktrees", ..]) || matches!(judge(parts), Verdict::Land(_, Removal::Tree))
}

/// Returns true for a directory in which git keeps an operation in progress.
pub(super) fn is_operation(parts: &[&[u8]]) -> bool {
    matches!(parts.last(), Some(&(b"rebase-merge" | b"rebase-apply" | b"sequencer")))
        && judge(parts) == Verdict::State
}

/// Judges names that a repository and a linked worktree have in common.
fn either(parts: &[&[u8]]) -> Verdict {
    match parts {
        [b"refs", rest @ ..] => reference(rest),
        [b"logs", b"HEAD"] => Verdict::Land(Form::Log, Removal::File),
        // Exists while a branch is renamed.
        [b"logs", b"refs", b".tmp-renamed-log", ..] => Verdict::Junk,
        [b"logs", b"refs", rest @ ..] => match reference(rest) {
            Verdict::Land(_, removal) => Verdict::Land(Form::Log, removal),
            other => other,
        },
        [b"rebase-merge" | b"rebase-apply" | b"sequencer" | b"rr-cache", ..] => Verdict::State,
        [b"HEAD"] => Verdict::Land(Form::Head, Removal::Never),
        [b"index"] => Verdict::Land(Form::Index, Removal::Never),
        [name] => single(name),
        _ => Verdict::Unknown,
    }
}

fn single(name: &[u8]) -> Verdict {
    let form = match name {
        b"ORIG_HEAD" | b"MERGE_HEAD" | b"CHERRY_PICK_HEAD" | b"REVERT_HEAD" | b"REBASE_HEAD" => Form::Ids,
        b"AUTO_MERGE" | b"MERGE_AUTOSTASH" | b"BISECT_EXPECTED_REV" => Form::Ids,
        b"BISECT_START" => Form::Name,
        b"MERGE_RR" => Form::Rerere,
        b"FETCH_HEAD" | b"MERGE_MSG" | b"MERGE_MODE" | b"SQUASH_MSG" => Form::Text,
        b"BISECT_LOG" | b"BISECT_TERMS" | b"BISECT_ANCESTORS_OK" | b"BISECT_NAMES" => Form::Text,
        b"COMMIT_EDITMSG" | b"TAG_EDITMSG" | b"NOTES_EDITMSG" => Form::Text,
        // The base of a split index: an index that has one does not land.
        _ if name.strip_prefix(b"sharedindex.").is_some_and(hex) => return Verdict::Private,
        _ if name.starts_with(b"sharedindex_") => return Verdict::Junk,
        _ => return Verdict::Unknown,
    };
    Verdict::Land(form, Removal::File)
}

fn object(rest: &[&[u8]]) -> Verdict {
    if rest.iter().any(|part| part.starts_with(b"tmp_") || part.starts_with(b".tmp-")) {
        return Verdict::Junk;
    }
    let form = match rest {
        [name, ..] if name.starts_with(b"incoming-") => return Verdict::Junk,
        [two, rest]
            if two.len() == 2 && hex_digits(two) && matches!(rest.len(), 38 | 62) && hex_digits(rest) =>
        {
            Form::Loose
        }
        // Data that git can compute itself, and would trust even if it is wrong.
        [b"info", b"commit-graph"] | [b"info", b"commit-graphs", _, ..] => return Verdict::Junk,
        [b"pack", b"multi-pack-index.d"] => return Verdict::Unknown,
        [b"pack", name, ..] if name.starts_with(b"multi-pack-index") => return Verdict::Junk,
        [b"pack", name] => return pack(name),
        [b"info", b"packs"] => Form::Text,
        [b"info", b"alternates" | b"http-alternates"] => return Verdict::Keep,
        _ => return Verdict::Unknown,
    };
    Verdict::Land(form, Removal::Never)
}

fn pack(name: &[u8]) -> Verdict {
    let (stem, ending) = name.split_at(name.iter().rposition(|byte| *byte == b'.').unwrap_or(0));
    if !stem.strip_prefix(b"pack-").is_some_and(hex) {
        return Verdict::Unknown;
    }
    let form = match ending {
        b".pack" => Form::Pack,
        b".promisor" => Form::Promisor,
        b".idx" => Form::PackIndex,
        // Data that git can compute itself, and would trust even if it is wrong.
        b".bitmap" | b".rev" | b".mtimes" => return Verdict::Junk,
        // Exists while a pack is transferred.
        b".keep" => return Verdict::Junk,
        _ => return Verdict::Unknown,
    };
    Verdict::Land(form, Removal::Never)
}

fn reference(rest: &[&[u8]]) -> Verdict {
    match rest {
        [] => Verdict::Unknown,
        // These are directories.
        [b"heads" | b"tags" | b"remotes" | b"notes" | b"bisect" | b"worktree" | b"rewritten"] => {
            Verdict::Unknown
        }
        // A reference here substitutes another object for the requested one, like a graft.
        [first, ..] if is_replacing(first) => Verdict::Keep,
        _ if !reference_name(rest) => Verdict::Keep,
        // Git removes an empty directory of references, except on the first level.
        [_] => Verdict::Land(Form::Ref, Removal::File),
        _ => Verdict::Land(Form::Ref, Removal::Tree),
    }
}

fn worktree(rest: &[&[u8]]) -> Verdict {
    match rest {
        [b"commondir"] => Verdict::Land(Form::Commondir, Removal::Never),
        [b"gitdir"] => Verdict::Land(Form::Gitdir, Removal::Never),
        [b"locked"] => Verdict::Land(Form::Text, Removal::File),
        [b"config.worktree"] => Verdict::Keep,
        _ => either(rest),
    }
}

fn hex_digits(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The order of landing: no file may land before the files that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The configuration of a new repository: it defines the object format.
    Config,
    /// Promisor markers, before their packs.
    Promises,
    /// Objects, loose and packed.
    Objects,
    /// Pack indexes, which make packs visible.
    PackIndexes,
    /// Everything else.
    Rest,
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

impl Phase {
    /// Returns true if the phase brings objects.
    pub(super) fn is_objects(self) -> bool {
        matches!(self, Self::Objects | Self::PackIndexes)
    }
}

impl Form {
    /// Returns the phase in which the form lands.
    pub(super) fn phase(self) -> Phase {
        match self {
            Self::Config => Phase::Config,
            Self::Promisor => Phase::Promises,
            Self::Loose | Self::Pack => Phase::Objects,
            Self::PackIndex => Phase::PackIndexes,
            Self::State | Self::Log | Self::Text | Self::Rerere | Self::Ids | Self::Name => Phase::Rest,
            Self::Commondir | Self::Gitdir => Phase::Rest,
            Self::PackedRefs => Phase::PackedRefs,
            Self::Ref => Phase::Refs,
            Self::Index => Phase::Index,
            Self::Head => Phase::Head,
        }
    }

    /// Returns true if the file is named by a hash: once it exists, it is never replaced.
    pub(super) fn is_forever(self) -> bool {
        matches!(self, Self::Loose | Self::Pack | Self::PackIndex | Self::Promisor)
    }
}
