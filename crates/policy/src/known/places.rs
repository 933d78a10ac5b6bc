//! Places where what is written lasts: it belongs to the system, or it says what runs later or who may come in.

use super::lists;

/// Directories of the system that programs and their configuration lie in.
const SYSTEM: &str = "bin boot etc lib lib32 lib64 sbin usr";
/// Files and directories of a home that say what runs, or who may come in.
const HOME: &str = "
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .cshrc .tcshrc .xinitrc .xprofile .xsession .inputrc .gitconfig .vimrc .npmrc .pypirc .netrc .ssh .gnupg
    .config/fish .config/systemd .config/autostart .config/git .config/environment.d .cargo/config.toml .cargo/env
    .curlrc .wgetrc .tmux.conf .emacs .emacs.d .pam_environment .xsessionrc .rhosts .forward .yarnrc .bunfig.toml .aws
    .cargo/config .docker/config.json .kube/config .m2/settings.xml .gradle/init.gradle .config/nvim .config/pip
    .pip/pip.conf .local/bin .bash_history .zsh_history Library/LaunchAgents";
/// What git runs, or takes its settings from.
const GIT: &str = "hooks config config.worktree";
/// From so many steps up on, a path may be one from the root.
const FAR_UP: usize = 3;

/// Whether what is written to `path` lasts beyond the work at hand. The path is as it stands in a script.
pub(crate) fn is_lasting(path: &str) -> bool {
    let mut path = plain(path);
    let up = path.split('/').take_while(|part| *part == "..").count();
    if up >= FAR_UP {
        path = path[3 * up - 1..].to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let of_git = parts.iter().position(|part| *part == ".git").is_some_and(|at| match &parts[at + 1..] {
        ["modules" | "worktrees", rest @ ..] => rest.iter().any(|part| lists(GIT, part)),
        rest => rest.first().is_some_and(|part| lists(GIT, part)),
    });
    let of_home = |rest: &[&str]| {
        let one = rest.first().copied().unwrap_or_default();
        lists(HOME, one) || rest.get(1).is_some_and(|two| lists(HOME, &format!("{one}/{two}")))
    };
    of_git
        || match parts[..] {
            ["sys", ..] | ["proc", "sys", ..] => path.starts_with('/'),
            ["usr", "src", ..] | ["usr", "local", "src", ..] => false,
            ["var", "spool", "cron" | "at", ..] => path.starts_with('/'),
            [first, ..] if path.starts_with('/') && lists(SYSTEM, first) => true,
            ["$HOME" | "${HOME}", ref rest @ ..] => of_home(rest),
            [home, ref rest @ ..] if home.starts_with('~') => of_home(rest),
            ["root", ref rest @ ..] | ["home" | "Users", _, ref rest @ ..] => {
                path.starts_with('/') && of_home(rest)
            }
            _ => false,
        }
}

/// A path as it is written, without quotes and without what changes nothing. Where a `..` leads behind something that is
/// not known stays open.
pub(crate) fn plain(path: &str) -> String {
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

/// Whether `path` names one thing below where the command runs, or in a scratch place.
pub(super) fn is_named(path: &str) -> bool {
    let mut parts = path.split('/');
    let inside = !path.starts_with('/') || path.strip_prefix("/tmp/").is_some_and(|rest| !rest.is_empty());
    let odd = ['*', '?', '$', '~', '`'];
    inside && !path.is_empty() && !path.contains(odd) && !parts.any(|part| matches!(part, ".." | ".git"))
}
