//! Recognizes scripts that consist only of a program and its arguments: they can be started without a shell.
//!
//! A shell would replace itself with the program, so only the time differs: half a millisecond less.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::can_run;

/// Builtins and keywords of bash, zsh, ksh or sh. `true` and `false` are equivalent programs too.
const SHELL_BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "autoload", "bg", "bind", "bindkey", "break", "builtin", "bye", "caller", "case",
    "cd", "chdir", "command", "compadd", "compctl", "compgen", "complete", "compopt", "continue", "coproc",
    "declare", "dirs", "disable", "disown", "do", "done", "echo", "elif", "else", "emulate", "enable", "end",
    "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "float", "for", "foreach", "function",
    "functions", "getln", "getopts", "hash", "help", "history", "if", "in", "integer", "jobs", "kill", "let",
    "limit", "local", "log", "login", "logout", "mapfile", "newgrp", "nocorrect", "noglob", "nameref",
    "popd", "print", "printf", "private", "pushd", "pushln", "pwd", "r", "read", "readarray", "readonly",
    "rehash", "repeat", "return", "sched", "select", "set", "setopt", "shift", "shopt", "sleep", "source",
    "stat", "stop", "suspend", "test", "then", "time", "times", "trap", "ttyctl", "type", "typeset",
    "ulimit", "umask", "unalias", "unfunction", "unhash", "unlimit", "unset", "unsetopt", "until", "vared",
    "wait", "whence", "where", "which", "while", "zcompile", "zformat", "zle", "zmodload", "zparseopts",
    "zstyle",
];

/// Returns the words of `script`, if it has no special characters and its first word is not a builtin or keyword.
pub(super) fn simple_words(script: &str) -> Option<Vec<&str>> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:@%+=,- ".contains(letter);
    if !script.chars().all(plain) {
        return None;
    }
    let words: Vec<&str> = script.split(' ').filter(|word| !word.is_empty()).collect();
    let first = words.first()?;
    // `A=1 cmd` sets a variable; `=cmd` and `a=~` are special in zsh; `%1` is a job.
    let is_builtin =
        first.contains('=') || first.starts_with(['%', '-', '+']) || SHELL_BUILTINS.contains(first);
    let expands = words.iter().any(|word| word.starts_with('='));
    // The program behaves like the builtin if no argument could be an option.
    let is_plain_echo = *first == "echo" && !words[1..].iter().any(|word| word.starts_with('-'));
    ((is_plain_echo || !is_builtin) && !expands).then_some(words)
}

/// Returns true if `name` is a program, along `path` or at its own path, that the kernel can execute directly.
pub(super) fn is_program(name: &str, path: Option<&OsStr>) -> bool {
    if name.contains('/') {
        // A relative path depends on the directory, so the shell resolves it.
        return name.starts_with('/') && is_loadable(Path::new(name));
    }
    let directories = path.unwrap_or_default().as_bytes().split(|&byte| byte == b':');
    // ends: with the first directory that has it
    for directory in directories {
        if !directory.starts_with(b"/") {
            return false;
        }
        let candidate = Path::new(OsStr::from_bytes(directory)).join(name);
        if can_run(&candidate) {
            return is_loadable(&candidate);
        }
    }
    false
}

/// Returns true if a file is an ELF program, or has a valid `#!` line. A shell would run any other file as its own
/// script.
fn is_loadable(path: &Path) -> bool {
    let mut start = [0; 256];
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty());
    let Ok(read) = file.and_then(|file| rustix::io::read(&file, &mut start)) else { return false };
    match start[..read].strip_prefix(b"#!") {
        Some(line) => {
            let runner = line.trim_ascii_start().split(|byte| byte.is_ascii_whitespace()).next();
            runner.is_some_and(|runner| {
                runner.starts_with(b"/") && can_run(Path::new(OsStr::from_bytes(runner)))
            })
        }
        None => start.starts_with(b"\x7fELF"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scripts_are_recognized() {
        for (script, expected) in [
            ("true", Some(vec!["true"])),
            ("  git   status ", Some(vec!["git", "status"])),
            (
                "cargo test --all -p a@1.2 --x=y,z",
                Some(vec!["cargo", "test", "--all", "-p", "a@1.2", "--x=y,z"]),
            ),
            ("/bin/ls -la ./src", Some(vec!["/bin/ls", "-la", "./src"])),
            ("", None),
            ("   ", None),
            ("echo hi", Some(vec!["echo", "hi"])),
            ("echo a=b -n", None),
            ("echo =ls", None),
            ("cd x", None),
            ("A=1 env", None),
            ("ls *.rs", None),
            ("ls ~", None),
            ("ls a\\ b", None),
            ("ls 'a'", None),
            ("ls $HOME", None),
            ("ls; ls", None),
            ("ls\nls", None),
            ("ls\tx", None),
            ("ls # x", None),
            ("ls {a,b}", None),
            ("ls !x", None),
            ("ls é", None),
            ("time ls", None),
            ("env =ls", None),
            ("%1", None),
            ("-x", None),
        ] {
            assert_eq!(simple_words(script), expected, "{script:?}");
        }
    }

    #[test]
    fn programs_are_those_that_the_system_loads() {
        assert!(is_program("/bin/sh", None));
        assert!(is_program("sh", Some(OsStr::new("/nowhere:/bin"))));
        for (name, path) in [
            ("sh", "/nowhere"),
            ("sh", ".:/bin"),
            ("sh", ":/bin"),
            ("./sh", "/bin"),
            ("passwd", "/etc"),
            ("/etc/passwd", ""),
        ] {
            assert!(!is_program(name, Some(OsStr::new(path))), "{name} {path}");
        }
    }
}
