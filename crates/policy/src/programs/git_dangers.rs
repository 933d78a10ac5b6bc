//! The table of dangerous `git` commands, and its predicates about configuration keys, URLs and lost commits.
//!
//! No git command is read-only by its words, since the repository's configuration can run programs.

use super::danger_matcher::{self, DangerRow, option_values};
use super::danger_predicates::operands;
use super::{MaybeWord, list_contains};

const LOSES_WORK: &str = "loses work that is not committed";
const LOSES_COMMITS: &str = "loses commits";
const OVERWRITES_SHARED: &str = "overwrites or removes what others have";
const RUNS_PROGRAM: &str = "makes git run a program";
const CHANGES_REMOTE: &str = "changes where git fetches from or sends to";

/// The rows for git; the format is described in `danger_matcher`.
pub(super) const ROWS: &[DangerRow] = &[
    ("git", "{keys}", RUNS_PROGRAM),
    ("git", "--exec-path", RUNS_PROGRAM),
    ("git", "{remote}", RUNS_PROGRAM),
    ("git", "config {config}", "changes how git works, or what it runs"),
    ("git", "remote set-url,remove,rm,rename", CHANGES_REMOTE),
    ("git", "submodule set-url", CHANGES_REMOTE),
    ("git", "push {url}", "sends commits to an address that is not a remote"),
    ("git", "read-tree -u,--reset", LOSES_WORK),
    ("git", "checkout-index -f,--force", LOSES_WORK),
    ("git", "submodule deinit -f,--force", LOSES_WORK),
    ("git", "clean -f,--force", "removes files that git does not keep"),
    ("git", "reset --hard,--merge", LOSES_WORK),
    ("git", "checkout --", LOSES_WORK),
    ("git", "checkout -f,--force", LOSES_WORK),
    ("git", "checkout %.,./,:/", LOSES_WORK),
    ("git", "switch -f,--force,--discard-changes", LOSES_WORK),
    ("git", "restore {worktree}", LOSES_WORK),
    ("git", "stash drop,clear", LOSES_WORK),
    ("git", "rm -f,--force", LOSES_WORK),
    ("git", "worktree remove,prune -f,--force", LOSES_WORK),
    ("git", "branch -D,-M,-C", LOSES_COMMITS),
    ("git", "branch -f,--force", LOSES_COMMITS),
    ("git", "checkout -B", LOSES_COMMITS),
    ("git", "switch -C,--force-create", LOSES_COMMITS),
    ("git", "fetch,pull {lands}", LOSES_COMMITS),
    ("git", "{expires}", LOSES_COMMITS),
    ("git", "update-ref -d,--stdin", LOSES_COMMITS),
    ("git", "update-ref {reference}", LOSES_COMMITS),
    ("git", "replace,fast-import -f,--force", LOSES_COMMITS),
    ("git", "prune", LOSES_COMMITS),
    ("git", "reflog expire,delete", LOSES_COMMITS),
    ("git", "gc --prune", LOSES_COMMITS),
    ("git", "filter-branch,filter-repo", "rewrites the history"),
    ("git", "push,send-pack -f,--force,--force-with-lease,--force-if-includes", OVERWRITES_SHARED),
    ("git", "push,send-pack -d,--delete,--mirror,--prune", OVERWRITES_SHARED),
    ("git", "push,send-pack {refs}", OVERWRITES_SHARED),
    ("git", "svn,p4 dcommit,submit", OVERWRITES_SHARED),
    ("git", "maintenance start,register", "runs something later"),
    ("git", "push --receive-pack,--exec", RUNS_PROGRAM),
    (
        "git",
        "fetch,pull,clone,ls-remote,fetch-pack,archive,send-pack,remote --upload-pack,--exec",
        RUNS_PROGRAM,
    ),
    ("git", "clone,ls-remote -u", RUNS_PROGRAM),
    ("git", "clone,init --template", "installs hooks, which git runs"),
    ("git", "rebase -x,--exec", RUNS_PROGRAM),
    ("git", "bisect run", RUNS_PROGRAM),
    ("git", "remote-ext,remote-fd,shell", RUNS_PROGRAM),
    ("git", "submodule foreach", RUNS_PROGRAM),
    ("git", "difftool -x,--extcmd", RUNS_PROGRAM),
    ("git", "grep -O,--open-files-in-pager", RUNS_PROGRAM),
    ("git", "send-email,imap-send,daemon,instaweb,http-push", "sends or serves what is in the repository"),
    ("git", "credential,credential-store,credential-cache", "handles credentials"),
];

/// Evaluates the predicate `name` if it is one of these.
pub(super) fn matches_predicate(name: &str, words: &[MaybeWord<'_>]) -> bool {
    let has = |option: &str| danger_matcher::has_option("git", option, words);
    let any = |fits: fn(&str) -> bool| words.iter().flatten().any(|word| fits(word));
    match name {
        "{config}" => sets_dangerous_config(words),
        "{keys}" => sets_program_key(words),
        "{lands}" => overwrites_branch(words),
        "{expires}" => expires_commits(words),
        "{worktree}" => !has("-S") && !has("--staged") || has("-W") || has("--worktree"),
        "{remote}" => {
            any(|word| ["ext::", "fd::"].iter().any(|vcs| word.starts_with(vcs)) || url_runs_program(word))
        }
        "{reference}" => operands(words).count() > 1,
        "{refs}" => any(|word| word.starts_with('+') || word.starts_with(':')),
        _ => false,
    }
}

/// Returns true if a URL makes git run a program: by a helper, or by an option in place of a host.
fn url_runs_program(word: &str) -> bool {
    word.contains("=ext::") || word.contains("://-")
}

/// Configuration keys whose value git runs or that lead it to a program. `*` is any part between dots. In lower case.
const PROGRAM_KEYS: &str = "
    core.pager core.editor core.sshcommand core.fsmonitor core.hookspath core.gitproxy core.askpass
    core.alternaterefscommand core.worktree core.attributesfile core.virtualfilesystem clean.requireforce pager.* sequence.editor
    diff.external diff.*.command diff.*.textconv merge.*.driver mergetool.*.cmd mergetool.*.path difftool.*.cmd
    difftool.*.path guitool.*.cmd interactive.difffilter filter.*.clean filter.*.smudge filter.*.process
    credential.helper credential.*.helper gpg.program gpg.*.program gpg.ssh.defaultkeycommand
    uploadpack.packobjectshook remote.*.uploadpack remote.*.receivepack remote.*.vcs remote.*.proxy remote.*.push remote.*.mirror remote.*.url remote.*.pushurl
    remote.pushdefault submodule.*.url protocol.allow
    protocol.*.allow url.*.insteadof url.*.pushinsteadof include.path includeif.*.path submodule.*.update
    sendemail.* sendemail.*.* web.browser browser.*.cmd browser.*.path man.*.cmd man.*.path help.browser
    init.templatedir trailer.*.command trailer.*.cmd tar.*.command imap.tunnel instaweb.httpd instaweb.browser
    gc.recentobjectshook hook.*.command hook.*.event http.proxy http.*.proxy http.sslverify http.*.sslverify
    http.sslcainfo lfs.customtransfer.*.path lfs.extension.*.clean lfs.extension.*.smudge extensions.worktreeconfig
    safe.directory safe.barerepository receive.procreceiverefs transfer.credentialsinurl";

/// Returns true if git runs a program when `key` is `value`; an unknown value counts.
fn key_runs_program(key: &str, value: Option<&str>) -> bool {
    let key = key.to_ascii_lowercase();
    if key.starts_with("alias.") {
        // An alias that is a shell command, begins with options of git, or is dangerous itself.
        return value.is_none_or(|value| {
            let words: Vec<MaybeWord<'_>> =
                std::iter::once("git").chain(value.split_whitespace()).map(Some).collect();
            value.trim_start().starts_with(['!', '-']) || danger_matcher::danger_reason(&words).is_some()
        });
    }
    PROGRAM_KEYS.split_whitespace().any(|listed| match listed.split_once('*') {
        Some((begin, end)) => {
            let rest = key.strip_prefix(begin).filter(|rest| rest.len() > end.len());
            rest.is_some_and(|rest| end.contains('*') || rest.ends_with(end))
        }
        None => listed == key,
    })
}

/// Returns true if an option of git, or of `git clone`, sets a key that runs a program.
fn sets_program_key(words: &[MaybeWord<'_>]) -> bool {
    let set = |text: &str| match text.split_once('=') {
        Some((key, value)) => key_runs_program(key, Some(value)),
        None => key_runs_program(text, Some("true")),
    };
    // The value is the name of a variable with unknown content.
    let named = |text: &str| key_runs_program(text.split('=').next().unwrap_or(text), None);
    option_values("git", "-c --config", words).into_iter().any(set)
        || option_values("git", "--config-env", words).into_iter().any(named)
}

/// Returns true if an option makes git expire unreachable commits.
fn expires_commits(words: &[MaybeWord<'_>]) -> bool {
    let set = |text: &str| {
        let key = text.split('=').next().unwrap_or(text).to_ascii_lowercase();
        key.starts_with("gc.") && key.contains("expire")
    };
    option_values("git", "-c --config --config-env", words).into_iter().any(set)
}

/// Returns true if the arguments of `git fetch` overwrite a local branch.
fn overwrites_branch(words: &[MaybeWord<'_>]) -> bool {
    let forced =
        danger_matcher::has_option("git", "-f", words) || danger_matcher::has_option("git", "--force", words);
    let mut refs = words.iter().flatten().filter(|word| !word.starts_with('-')).skip(1);
    refs.any(|word| {
        let (from, to) = word.rsplit_once(':').unwrap_or_default();
        (forced || from.starts_with('+')) && !to.is_empty() && !to.starts_with("refs/remotes/")
    })
}

/// Options of `git config` that take the next word.
const CONFIG_VALUE_OPTIONS: &str = "-f --file --blob --type --default --value --comment";
/// Words that make `git config` read.
const CONFIG_READ_WORDS: &str =
    "get list -l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool";
/// Words that make `git config` write in any case.
const CONFIG_WRITE_WORDS: &str = "
    set unset edit rename-section remove-section -e --edit --add --replace-all --unset --unset-all --rename-section
    --remove-section";

/// Returns true if the arguments of `git config` set a key that runs a program, or any key for all repositories.
fn sets_dangerous_config(words: &[MaybeWord<'_>]) -> bool {
    let known: Vec<&str> = words.iter().copied().flatten().collect();
    let mut operands = Vec::new();
    let mut before = "";
    for &word in &known {
        if !word.starts_with('-') && !list_contains(CONFIG_VALUE_OPTIONS, before) {
            operands.push(word);
        }
        before = word;
    }
    let verb = operands
        .first()
        .copied()
        .filter(|word| list_contains(CONFIG_WRITE_WORDS, word) || list_contains(CONFIG_READ_WORDS, word));
    if known.iter().any(|word| word.starts_with('-') && list_contains(CONFIG_READ_WORDS, word))
        || verb.is_some_and(|verb| list_contains(CONFIG_READ_WORDS, verb))
    {
        return false;
    }
    let operands = &operands[usize::from(verb.is_some())..];
    let writes = operands.len() > 1
        || words.contains(&None)
        || known.iter().any(|word| list_contains(CONFIG_WRITE_WORDS, word));
    let everywhere = known.iter().any(|word| {
        let name = |full: &str| word.len() > 3 && word.starts_with("--") && full.starts_with(word);
        name("--global") || name("--system")
    });
    let key = operands.first().copied().unwrap_or_default();
    writes && (everywhere || key_runs_program(key, operands.get(1).copied()))
}
