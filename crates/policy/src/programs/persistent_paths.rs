//! Detects persistent paths: files of the system, and files that control later programs or logins.

use super::list_contains;

/// System directories of programs and their configuration.
const SYSTEM_DIRECTORIES: &str = "bin boot etc lib lib32 lib64 sbin usr";
/// Files and directories of a home that control started programs or logins.
const HOME_FILES: &str = "
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .cshrc .tcshrc .xinitrc .xprofile .xsession .inputrc .gitconfig .vimrc .npmrc .pypirc .netrc .ssh .gnupg
    .config/fish .config/systemd .config/autostart .config/git .config/environment.d .cargo/config.toml .cargo/env
    .curlrc .wgetrc .tmux.conf .emacs .emacs.d .pam_environment .xsessionrc .rhosts .forward .yarnrc .bunfig.toml .aws
    .cargo/config .docker/config.json .kube/config .m2/settings.xml .gradle/init.gradle .config/nvim .config/pip
    .pip/pip.conf .local/bin .bash_history .zsh_history Library/LaunchAgents";
/// Files of git that it runs or takes settings from.
const GIT_FILES: &str = "hooks config config.worktree";
/// A path with at least this many leading `..` is treated as absolute.
const MIN_PARENTS_FOR_ROOT: usize = 3;

/// Returns true if a write to `path`, given as in a script, outlasts the work at hand.
pub(crate) fn is_persistent_path(path: &str) -> bool {
    let mut path = normalize_path_text(path);
    let up = path.split('/').take_while(|part| *part == "..").count();
    if up >= MIN_PARENTS_FOR_ROOT {
        path = path[3 * up - 1..].to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let of_git = parts.iter().position(|part| *part == ".git").is_some_and(|at| match &parts[at + 1..] {
        ["modules" | "worktrees", rest @ ..] => rest.iter().any(|part| list_contains(GIT_FILES, part)),
        rest => rest.first().is_some_and(|part| list_contains(GIT_FILES, part)),
    });
    let of_home = |rest: &[&str]| {
        let one = rest.first().copied().unwrap_or_default();
        list_contains(HOME_FILES, one)
            || rest.get(1).is_some_and(|two| list_contains(HOME_FILES, &format!("{one}/{two}")))
    };
    of_git
        || match parts[..] {
            ["sys", ..] | ["proc", "sys", ..] => path.starts_with('/'),
            ["usr", "src", ..] | ["usr", "local", "src", ..] => false,
            ["var", "spool", "cron" | "at", ..] => path.starts_with('/'),
            [first, ..] if path.starts_with('/') && list_contains(SYSTEM_DIRECTORIES, first) => true,
            ["$HOME" | "${HOME}", ref rest @ ..] => of_home(rest),
            [home, ref rest @ ..] if home.starts_with('~') => of_home(rest),
            ["root", ref rest @ ..] | ["home" | "Users", _, ref rest @ ..] => {
                path.starts_with('/') && of_home(rest)
            }
            _ => false,
        }
}

/// Normalizes a path of a script: removes quotes and redundant components. A `..` after an unknown component stays.
pub(crate) fn normalize_path_text(path: &str) -> String {
    let path = path.replace(['"', '\''], "");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        let open = |last: &&str| *last == ".." || last.contains(['$', '~', '`', '*', '?']);
        match parts.last() {
            Some(last) if part == ".." && !open(last) => drop(parts.pop()),
            None if part == ".." && path.starts_with('/') => {}
            _ => parts.push(part),
        }
    }
    let end = if path.len() > 1 && path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    let begin = if path.starts_with('/') { "/" } else { "" };
    format!("{begin}{}{end}", parts.join("/"))
}

/// Returns true if `path` names one file below the working directory or in `/tmp`.
pub(super) fn is_workspace_path(path: &str) -> bool {
    let mut parts = path.split('/');
    let inside = !path.starts_with('/') || path.strip_prefix("/tmp/").is_some_and(|rest| !rest.is_empty());
    let odd = ['*', '?', '$', '~', '`'];
    inside && !path.is_empty() && !path.contains(odd) && !parts.any(|part| matches!(part, ".." | ".git"))
}
