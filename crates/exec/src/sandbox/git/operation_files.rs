//! Checks the files in which git keeps a rebase, or a series of picks or patches, before they land.
//!
//! On the host, `git rebase --continue` executes these files. So they must not name a program, and only content that
//! git itself writes is accepted.

use super::content_checks::{is_object_id, is_ref_name, lines};

/// A fault of a file, as a clause that follows its name.
pub(super) type ContentFault = &'static str;

const NOT_WRITTEN_BY_GIT: ContentFault = "is not as git writes it";
const MERGE_STRATEGIES: &[&[u8]] = &[b"ort", b"recursive", b"resolve", b"octopus", b"ours", b"subtree"];
const MERGE_OPTIONS: &[&[u8]] = &[
    b"ours",
    b"theirs",
    b"patience",
    b"histogram",
    b"minimal",
    b"no-renames",
    b"find-renames",
    b"renormalize",
    b"no-renormalize",
    b"ignore-space-change",
    b"ignore-all-space",
    b"ignore-space-at-eol",
    b"ignore-cr-at-eol",
    b"diff-algorithm=histogram",
    b"diff-algorithm=minimal",
    b"diff-algorithm=myers",
    b"diff-algorithm=patience",
];

/// Checks the file `name` in the directory `dir` of an operation in progress.
pub(super) fn check_file(dir: &[u8], name: &[u8], text: &[u8]) -> Result<(), ContentFault> {
    let fits = match dir {
        b"rebase-merge" => check_rebase_merge_file(name, text),
        b"rebase-apply" => check_rebase_apply_file(name, text),
        b"sequencer" => match name {
            b"todo" => Some(check_todo(text)),
            b"head" | b"abort-safety" => Some(accept_if(is_id_line(text))),
            b"opts" => Some(accept_if(lines(text).all(is_sequencer_option))),
            _ => None,
        },
        _ => None,
    };
    fits.unwrap_or(Err("is not known"))
}

/// Returns the files that git requires to recognize the operation.
pub(super) fn required_files(dir: &[u8]) -> &'static [&'static str] {
    match dir {
        b"rebase-merge" => &["head-name", "onto", "orig-head"],
        b"rebase-apply" => &["next", "last"],
        _ => &["todo", "head"],
    }
}

fn accept_if(fits: bool) -> Result<(), ContentFault> {
    if fits { Ok(()) } else { Err(NOT_WRITTEN_BY_GIT) }
}

fn check_rebase_merge_file(name: &[u8], text: &[u8]) -> Option<Result<(), ContentFault>> {
    let fits = match name {
        b"git-rebase-todo" | b"git-rebase-todo.backup" | b"done" | b"dropped" => {
            return Some(check_todo(text));
        }
        b"stopped-sha" | b"amend" | b"squash-onto" => is_id_line(text),
        b"msgnum" | b"end" => is_number(text),
        b"message" | b"message-squash" | b"message-fixup" | b"fixup-message" | b"patch" => true,
        b"interactive" | b"keep_redundant_commits" | b"drop_redundant_commits" | b"allow_empty" => {
            one_of(text, &[b""])
        }
        b"reschedule-failed-exec" | b"no-reschedule-failed-exec" => one_of(text, &[b""]),
        b"cdate_is_adate" | b"ignore_date" => one_of(text, &[b""]),
        b"rewritten-list" => lines(text).all(is_pair),
        b"rewritten-pending" => lines(text).all(is_object_id),
        b"current-fixups" => lines(text).all(|line| {
            line.strip_prefix(b"fixup ").or_else(|| line.strip_prefix(b"squash ")).is_some_and(is_object_id)
        }),
        b"refs-to-delete" => {
            lines(text).all(|line| line.strip_prefix(b"refs/rewritten/").is_some_and(is_ref_name))
        }
        b"update-refs" => lines(text)
            .enumerate()
            .all(|(number, line)| if number % 3 == 0 { is_branch(line) } else { is_object_id(line) }),
        _ => return check_common_rebase_file(name, text),
    };
    Some(accept_if(fits))
}

fn check_rebase_apply_file(name: &[u8], text: &[u8]) -> Option<Result<(), ContentFault>> {
    let fits = match name {
        // The mails, and the files made from the current one.
        _ if name.len() >= 4 && name.iter().all(u8::is_ascii_digit) => true,
        b"final-commit" | b"info" | b"msg" | b"patch" => true,
        b"patch-merge-index" => text.starts_with(b"DIRC"),
        b"abort-safety" | b"original-commit" => is_id_line(text),
        b"apply-opt" | b"applying" | b"rebasing" => one_of(text, &[b""]),
        b"next" | b"last" => is_number(text),
        b"keep" => one_of(text, &[b"t", b"f", b"b"]),
        b"messageid" | b"sign" | b"threeway" | b"utf8" => one_of(text, &[b"t", b"f"]),
        b"scissors" | b"rerere-autoupdate" => one_of(text, &[b"", b"t", b"f"]),
        b"quoted-cr" => one_of(text, &[b"", b"nowarn", b"warn", b"strip"]),
        b"rewritten" => lines(text).all(is_pair),
        _ => return check_common_rebase_file(name, text),
    };
    Some(accept_if(fits))
}

/// Checks files that both kinds of rebase have.
fn check_common_rebase_file(name: &[u8], text: &[u8]) -> Option<Result<(), ContentFault>> {
    let fits = match name {
        b"onto" | b"orig-head" | b"autostash" => is_id_line(text),
        b"head-name" => single_line(text).is_some_and(|name| name == b"detached HEAD" || is_branch(name)),
        b"author-script" => is_author_script(text),
        b"quiet" | b"verbose" => one_of(text, &[b"", b"t", b"f"]),
        b"signoff" => one_of(text, &[b"", b"--signoff"]),
        b"allow_rerere_autoupdate" => one_of(text, &[b"", b"--rerere-autoupdate", b"--no-rerere-autoupdate"]),
        // Any other value names a key.
        b"gpg_sign_opt" => one_of(text, &[b"", b"-S"]),
        // Any other value is the name of a program.
        b"strategy" => one_of(text, MERGE_STRATEGIES),
        b"strategy_opts" => single_line(text).is_some_and(|line| words(line).all(is_merge_option)),
        _ => return None,
    };
    Some(accept_if(fits))
}

fn single_line(text: &[u8]) -> Option<&[u8]> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    (!line.contains(&b'\n')).then_some(line)
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

fn one_of(text: &[u8], known: &[&[u8]]) -> bool {
    single_line(text).is_some_and(|line| known.contains(&line))
}

fn is_id_line(text: &[u8]) -> bool {
    single_line(text).is_some_and(|line| line.is_empty() || is_object_id(line))
}

fn is_number(text: &[u8]) -> bool {
    single_line(text).is_some_and(|line| (1..10).contains(&line.len()) && line.iter().all(u8::is_ascii_digit))
}

fn is_pair(line: &[u8]) -> bool {
    let mut ids = line.split(|byte| *byte == b' ');
    ids.next().is_some_and(is_object_id) && ids.next().is_some_and(is_object_id) && ids.next().is_none()
}

fn is_branch(name: &[u8]) -> bool {
    name.strip_prefix(b"refs/heads/").is_some_and(is_ref_name)
}

/// Checks an option of a merge as git stores it: formerly with two dashes, now in quotes.
fn is_merge_option(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\"")).unwrap_or(word);
    let word = word.strip_prefix(b"--").unwrap_or(word);
    MERGE_OPTIONS.contains(&word) || word.strip_prefix(b"find-renames=").is_some_and(is_number)
}

/// Checks a line of the options of a series of picks, which are a configuration file.
fn is_sequencer_option(line: &[u8]) -> bool {
    if line == b"[options]" {
        return true;
    }
    let Some(line) = line.strip_prefix(b"\t") else { return false };
    let Some(middle) = line.windows(3).position(|three| three == b" = ") else { return false };
    let (name, value) = (&line[..middle], &line[middle + 3..]);
    match name {
        b"no-commit" | b"edit" | b"allow-empty" | b"allow-empty-message" | b"drop-redundant-commits" => {
            matches!(value, b"true" | b"false")
        }
        b"keep-redundant-commits" | b"signoff" | b"record-origin" | b"allow-ff" | b"allow-rerere-auto" => {
            matches!(value, b"true" | b"false")
        }
        b"mainline" => is_number(value),
        b"strategy" => MERGE_STRATEGIES.contains(&value),
        b"strategy-option" => is_merge_option(value),
        b"gpg-sign" => matches!(value, b"" | b"\"\""),
        b"default-msg-cleanup" => {
            matches!(value, b"verbatim" | b"whitespace" | b"strip" | b"scissors" | b"default")
        }
        _ => false,
    }
}

/// Checks the author script: three variables in shell quotes. An old git runs it with a shell.
fn is_author_script(text: &[u8]) -> bool {
    let names = [b"GIT_AUTHOR_NAME=".as_slice(), b"GIT_AUTHOR_EMAIL=", b"GIT_AUTHOR_DATE="];
    let mut lines = lines(text);
    let all = names
        .into_iter()
        .all(|name| lines.next().and_then(|line| line.strip_prefix(name)).is_some_and(is_quoted));
    all && lines.next().is_none()
}

/// Checks one word in single quotes, with git's escapes of quotes and exclamation marks.
fn is_quoted(word: &[u8]) -> bool {
    let Some(mut rest) = word.strip_prefix(b"'").and_then(|word| word.strip_suffix(b"'")) else {
        return false;
    };
    // ends: `rest` becomes shorter
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'\'' => match after.strip_prefix(b"\\''").or_else(|| after.strip_prefix(b"\\!'")) {
                Some(after) => after,
                None => return false,
            },
            b'\r' | 0 => return false,
            _ => after,
        };
    }
    true
}

fn check_todo(text: &[u8]) -> Result<(), ContentFault> {
    lines(text).try_for_each(check_todo_line)
}

/// Checks one line of the todo list. Git skips leading blanks, then reads the command; the rest belongs to this line.
/// A zero byte ends the text for git, and a carriage return may end the line.
fn check_todo_line(line: &[u8]) -> Result<(), ContentFault> {
    if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(NOT_WRITTEN_BY_GIT);
    }
    let mut parts = words(line);
    let Some(command) = parts.next().filter(|word| !word.starts_with(b"#")) else { return Ok(()) };
    let mut parts = parts.take_while(|word| *word != b"#").peekable();
    let commit = |word: Option<&[u8]>| word.is_some_and(is_abbreviated_id);
    let label = |word: &[u8]| is_ref_name(word) || is_abbreviated_id(word);
    let fits = match command {
        b"exec" | b"x" => return Err("holds `exec`"),
        b"pick" | b"p" | b"edit" | b"e" | b"reword" | b"r" | b"squash" | b"s" | b"drop" | b"d"
        | b"revert" => commit(parts.next()),
        b"fixup" | b"f" => {
            let _ = parts.next_if(|word| matches!(*word, b"-C" | b"-c"));
            commit(parts.next())
        }
        b"merge" | b"m" => {
            let known =
                parts.next_if(|word| matches!(*word, b"-C" | b"-c")).is_none() || commit(parts.next());
            known && parts.peek().is_some() && parts.all(label)
        }
        b"label" | b"l" => parts.next().is_some_and(is_ref_name) && parts.next().is_none(),
        b"reset" | b"t" => match parts.next() {
            Some(b"[new") => parts.next() == Some(b"root]".as_slice()),
            first => first.is_some_and(label) && parts.next().is_none(),
        },
        b"update-ref" | b"u" => parts.next().is_some_and(is_branch) && parts.next().is_none(),
        b"break" | b"b" | b"noop" => parts.next().is_none(),
        _ => return Err("holds a command that is not known"),
    };
    accept_if(fits)
}

/// Returns true for an abbreviated or complete id.
fn is_abbreviated_id(word: &[u8]) -> bool {
    (4..=64).contains(&word.len()) && word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
