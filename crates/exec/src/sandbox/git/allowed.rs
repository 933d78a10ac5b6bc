//! What may go from a sandbox into a git directory: a table over names, nothing else is looked at.

use super::content::{hex, is_replacing, reference_name};

/// What may happen with a name below a git directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may land if its content has this form, and be removed as far as said.
    Land(Form, Removal),
    /// The linked worktrees, or one of them: nothing to write, but a whole one may be removed.
    Worktree,
    /// Of a longer work such as a rebase: it may hold commands, so it is judged as a whole elsewhere.
    State,
    /// Locks and half-written things: nobody misses them.
    Junk,
    /// What `git init` copies from its templates. It stays, and is worth a word only if the host has one too.
    Template,
    /// It stays, and nobody hears of it: we put it there ourselves.
    Private,
    /// It stays.
    Keep,
    /// It stays, because nothing is known of it.
    Unknown,
}

/// How much of the host's may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Removal {
    /// Nothing.
    Never,
    /// A file of this name.
    File,
    /// A file of this name, or a directory with all it holds.
    Tree,
}

/// What the content of a file must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A loose object.
    Loose,
    /// A pack.
    Pack,
    /// Says that a pack was fetched from somebody who has what it lacks.
    Promisor,
    /// The index of a pack: with it, the pack counts.
    PackIndex,
    /// The configuration of a new repository.
    Config,
    /// A history of a reference.
    Log,
    /// A file of a longer work.
    State,
    /// Free text.
    Text,
    /// What git notes of conflicts, to solve them the next time.
    Rerere,
    /// Object ids, one to a line.
    Ids,
    /// The name of a branch, or an object id.
    Name,
    /// The way from a linked worktree to its repository.
    Commondir,
    /// The way from a linked worktree to its tree.
    Gitdir,
    /// All references that are packed.
    PackedRefs,
    /// One reference.
    Ref,
    /// The index.
    Index,
    /// What is checked out.
    Head,
}

/// A verdict, and how many parts name the repository that it is about: none for the outermost.
type Judged = (Verdict, usize);

/// Judges the name made of `parts`.
pub(super) fn judge(parts: &[&[u8]]) -> Verdict {
    judged(parts).0
}

/// How many of `parts` name the repository that the rest belongs to: a submodule, or none. A linked worktree has no
/// configuration, so it is none of its own.
pub(super) fn repository(parts: &[&[u8]]) -> usize {
    judged(parts).1
}

/// From the end, so that every ending is judged once: a name of forty times `modules` has more ways to be read than
/// anybody has time for.
fn judged(parts: &[&[u8]]) -> Judged {
    let mut known = vec![(Verdict::Unknown, 0); parts.len() + 1];
    for start in (0..=parts.len()).rev() {
        known[start] = ending(&parts[start..], &known[start..]);
    }
    known[0]
}

/// Judges `parts`; `known` is what their endings were judged to be.
fn ending(parts: &[&[u8]], known: &[Judged]) -> Judged {
    match parts {
        _ if parts.iter().any(|part| part.ends_with(b".lock")) => (Verdict::Junk, 0),
        [b"modules", rest @ ..] => module(rest, known, 1),
        [b"worktrees", _, b"modules", rest @ ..] => module(rest, known, 3),
        _ => (plain(parts), 0),
    }
}

/// The name of a submodule may have slashes, so the shortest name counts that makes sense of what follows it. A wrong
/// guess does no harm: every rule holds whatever the name is. `rest` begins behind the first `before` parts.
fn module(rest: &[&[u8]], known: &[Judged], before: usize) -> Judged {
    (before + 1..before + rest.len())
        .map(|start| (known[start].0, start + known[start].1))
        .find(|(verdict, _)| *verdict != Verdict::Unknown)
        .unwrap_or((Verdict::Unknown, 0))
}

/// A name that is in no submodule.
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
        // A list for web servers that know nothing of git; every repack makes it anew.
        [b"info", b"refs"] => Verdict::Junk,
        [b"hooks", name] if name.ends_with(b".sample") => Verdict::Template,
        [b"info", b"exclude"] => Verdict::Private,
        [b"hooks" | b"info", ..] | [b"commondir" | b"gitdir" | b"config.worktree"] => Verdict::Keep,
        _ => either(parts),
    }
}

/// A directory that git wants to see even if it is empty, or else it does not take the whole for a repository.
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

/// The place of objects, here or in a submodule.
pub(super) fn is_store(parts: &[&[u8]]) -> bool {
    parts.last() == Some(&b"objects".as_slice()) && wanted(parts)
}

/// The place of objects, or something in it.
pub(super) fn in_store(parts: &[&[u8]]) -> bool {
    (1..=parts.len()).any(|end| is_store(&parts[..end]))
}

/// Whether a directory that was deleted and made anew in the sandbox means that the host's content of it is to go. git
/// does so with branches that share a beginning and with linked worktrees. Anything larger is some `rm -r`, and it is
/// better that the host keeps its branches.
pub(super) fn is_replaceable(parts: &[&[u8]]) -> bool {
    matches!(parts, [b"worktrees", ..]) || matches!(judge(parts), Verdict::Land(_, Removal::Tree))
}

/// A directory in which git keeps a longer work.
pub(super) fn is_operation(parts: &[&[u8]]) -> bool {
    matches!(parts.last(), Some(&(b"rebase-merge" | b"rebase-apply" | b"sequencer")))
        && judge(parts) == Verdict::State
}

/// Names that a repository and a linked worktree have in common.
fn either(parts: &[&[u8]]) -> Verdict {
    match parts {
        [b"refs", rest @ ..] => reference(rest),
        [b"logs", b"HEAD"] => Verdict::Land(Form::Log, Removal::File),
        // While a branch is renamed.
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
        // What git could work out itself, and would believe although it is wrong.
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
        // What git could work out itself, and would believe although it is wrong.
        b".bitmap" | b".rev" | b".mtimes" => return Verdict::Junk,
        // Made while a pack is on its way.
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
        // A reference here shows another object in place of the one that was asked for, like a graft.
        [first, ..] if is_replacing(first) => Verdict::Keep,
        _ if !reference_name(rest) => Verdict::Keep,
        // git removes a directory of references once it is empty, but none of the first level.
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

/// When a thing lands: nothing may land before what it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The configuration of a new repository: it says how objects are named.
    Config,
    /// What packs are promised, before there are any.
    Promises,
    /// Objects, loose and packed.
    Objects,
    /// What makes packs count.
    PackIndexes,
    /// Everything else.
    Rest,
    /// Packed references, before any loose one that is now packed is removed.
    PackedRefs,
    /// Loose references.
    Refs,
    /// What is to be removed.
    Removals,
    /// The index.
    Index,
    /// What is checked out.
    Head,
}

impl Phase {
    /// It brings objects.
    pub(super) fn is_objects(self) -> bool {
        matches!(self, Self::Objects | Self::PackIndexes)
    }
}

impl Form {
    /// When it lands.
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

    /// Named by a hash: once it is there, it is never replaced.
    pub(super) fn is_forever(self) -> bool {
        matches!(self, Self::Loose | Self::Pack | Self::PackIndex | Self::Promisor)
    }
}
