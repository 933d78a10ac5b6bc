//! Classifies a value of git's configuration: it is run, it is plain data, or its use is unknown.

use super::git_settings::GitValue;

/// The use of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueUse {
    /// The value names a program, a hook, or a file that determines which program runs.
    Program,
    /// The use is unknown: a file of the tree that it names may be run or obeyed.
    Unknown,
    /// Data: a URL, a branch, a name, a list that commands write in ordinary work.
    PlainData,
}

/// Sections in which every value may name a program.
const PROGRAM_SECTIONS: &[&str] = &[
    "alias", "pager", "credential", "gpg", "filter", "diff", "merge", "difftool", "mergetool", "hook",
    "browser", "man", "guitool", "trailer", "sendemail", "instaweb", "tar",
];
/// Suffixes of keys that name a program in any section.
const PROGRAM_KEY_SUFFIXES: &[&str] =
    &["hook", "command", "cmd", "program", "helper", "editor", "pager", "askpass", "browser", "tunnel"];
/// Sections of plain data.
const PLAIN_SECTIONS: &[&str] = &[
    "advice", "author", "branch", "color", "column", "committer", "extensions", "include", "includeif",
    "init", "remote", "safe", "submodule", "url", "user",
];
/// Keys of plain data in other sections: lists of names, messages and commits, for which nothing is run.
const PLAIN_KEYS: &[(&str, &str)] = &[
    ("blame", "ignorerevsfile"),
    ("commit", "template"),
    ("core", "excludesfile"),
    ("core", "hookspath"),
    ("core", "worktree"),
    ("fsck", "skiplist"),
    ("lfs", "access"),
    ("lfs", "fetchexclude"),
    ("lfs", "fetchinclude"),
    ("lfs", "pushurl"),
    ("lfs", "storage"),
    ("lfs", "url"),
    ("mailmap", "file"),
];

/// Returns the use of one value.
pub(super) fn value_use(GitValue { section, key, value }: &GitValue) -> ValueUse {
    let (section, key) = (section.as_str(), key.as_str());
    let runs = value.starts_with(b"!")
        || value.starts_with(b"ext::")
        || PROGRAM_SECTIONS.contains(&section)
        || PROGRAM_KEY_SUFFIXES.iter().any(|end| key.ends_with(end))
        || match section {
            "core" => matches!(key, "fsmonitor" | "attributesfile" | "gitproxy"),
            "remote" => matches!(key, "uploadpack" | "receivepack" | "vcs"),
            "interactive" => key == "difffilter",
            "lfs" => matches!(key, "path" | "args" | "clean" | "smudge" | "process"),
            _ => false,
        };
    if runs {
        ValueUse::Program
    } else if PLAIN_SECTIONS.contains(&section) || PLAIN_KEYS.contains(&(section, key)) {
        ValueUse::PlainData
    } else {
        ValueUse::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_classified_by_use() {
        for (expected, names) in [
            (
                ValueUse::Program,
                "core.fsmonitor core.sshcommand core.editor core.pager core.attributesfile core.askpass core.gitproxy \
                 core.alternaterefscommand alias.x pager.log credential.helper gpg.program filter.clean diff.textconv \
                 merge.driver difftool.cmd mergetool.path hook.command browser.cmd man.cmd guitool.cmd trailer.command \
                 sendemail.smtpserver instaweb.httpd tar.command remote.uploadpack remote.receivepack remote.vcs \
                 sequence.editor interactive.difffilter uploadpack.packobjectshook imap.tunnel lfs.path lfs.args \
                 lfs.clean lfs.smudge web.browser help.browser gc.recentobjectshook gui.editor http.cookiehelper",
            ),
            (ValueUse::Unknown, "http.sslcert gc.x format.signaturefile core.x new.thing clangformat.style"),
            (
                ValueUse::PlainData,
                "remote.url remote.fetch remote.push branch.merge branch.remote user.name user.signingkey submodule.path \
                 submodule.url core.worktree core.excludesfile commit.template blame.ignorerevsfile mailmap.file \
                 include.path url.insteadof init.defaultbranch lfs.fetchexclude safe.directory",
            ),
        ] {
            for name in names.split_whitespace() {
                let (section, key) = name.split_once('.').unwrap();
                let value = GitValue { section: section.into(), key: key.into(), value: b"x".to_vec() };
                assert_eq!(value_use(&value), expected, "{name}");
            }
        }
        for (section, value) in [("submodule", "!x"), ("url", "ext::x"), ("remote", "ext::x")] {
            let value = GitValue { section: section.into(), key: "update".into(), value: value.into() };
            assert_eq!(value_use(&value), ValueUse::Program, "{section}");
        }
    }
}
