//! Tests of the content of files of an operation in progress.

use proptest::prelude::*;

use crate::sandbox::git::operation_files::check_file;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

fn fits(path: &str, text: &str) -> bool {
    let (dir, name) = path.split_once('/').unwrap();
    check_file(dir.as_bytes(), name.as_bytes(), text.as_bytes()).is_ok()
}

#[test]
fn todo_lines_are_accepted_as_git_writes_them() {
    for good in [
        "",
        "\n",
        "# comment exec x\n\n  # indented\n",
        "pick 0123456 subject with exec x\np 0123456\n\tpick 0123456 # subject",
        "fixup -C 0123456 x\nf -c 0123456\nsquash 0123456\ndrop 0123456\nrevert 0123456 x",
        "label onto\nreset onto\nreset onto # text\nt [new root]\nl a/b",
        "merge -C 0123456 topic # Merge x\nm topic other\nmerge -c 0123456 a b c # x",
        "break\nb\nnoop\nupdate-ref refs/heads/x/y\n",
    ] {
        assert!(fits("rebase-merge/git-rebase-todo", good), "{good}");
    }
    for bad in [
        "exec x",
        "x x",
        " x x",
        "\tx\tx",
        "x",
        "exec",
        "pickle 0123456",
        "picka\n",
        "pick",
        "pick HEAD",
        "pick 012",
        "pick 0123456\rx x",
        "merge -C onto x",
        "merge",
        "merge --x",
        "merge -C 0123456",
        "label",
        "label -x",
        "label a b",
        "label a..b",
        "reset",
        "reset HEAD^",
        "break x",
        "noop x",
        "update-ref refs/tags/x",
        "update-ref HEAD",
        "; x",
        "Exec x",
        "fixup -x 0123456",
        "\u{b}x x",
        "pick 0123456 \u{1b}[0m",
        "\0exec x",
    ] {
        assert!(!fits("rebase-merge/git-rebase-todo", bad), "{bad}");
        assert!(
            !fits("rebase-merge/done", bad) && !fits("sequencer/todo", &format!("pick 0123456\n{bad}")),
            "{bad}"
        );
    }
}

#[test]
fn operation_files_are_accepted_as_git_writes_them() {
    for (path, text) in [
        ("rebase-merge/update-refs", format!("refs/heads/a\n{ID}\n{ID}\nrefs/heads/b\n{ID}\n{ID}\n")),
        ("rebase-merge/rewritten-list", format!("{ID} {ID}\n{ID} {ID}\n")),
        ("rebase-merge/current-fixups", format!("fixup {ID}\nsquash {ID}")),
        ("rebase-merge/head-name", "detached HEAD\n".to_owned()),
        ("rebase-merge/strategy_opts", " --theirs --diff-algorithm=histogram\n".to_owned()),
        ("rebase-merge/strategy_opts", "\"theirs\" \"find-renames=50\"\n".to_owned()),
        ("rebase-merge/gpg_sign_opt", "-S\n".to_owned()),
        ("rebase-apply/0001", "From x\n\0anything".to_owned()),
        (
            "sequencer/opts",
            "[options]\n\tedit = true\n\tmainline = 1\n\tstrategy = ort\n\tstrategy-option = ours\n"
                .to_owned(),
        ),
    ] {
        assert!(fits(path, &text), "{path} {text}");
    }
    for (path, text) in [
        ("rebase-merge/update-refs", format!("refs/tags/a\n{ID}\n{ID}\n")),
        ("rebase-merge/rewritten-list", format!("{ID} x\n")),
        ("rebase-merge/onto", format!("{ID}\n{ID}\n")),
        ("rebase-merge/head-name", "refs/tags/x\n".to_owned()),
        ("rebase-merge/head-name", "refs/heads/x\nrefs/heads/y\n".to_owned()),
        ("rebase-merge/strategy_opts", " --theirs --exec=x\n".to_owned()),
        ("rebase-merge/end", "-1\n".to_owned()),
        ("rebase-merge/interactive", "x".to_owned()),
        ("rebase-merge/sub/message", String::new()),
        ("rebase-apply/apply-opt", "'--directory=../x'\n".to_owned()),
        ("rebase-apply/01", String::new()),
        ("rebase-apply/patch-merge-index", "x".to_owned()),
        ("sequencer/opts", "[options]\n\tgpg-sign = x\n".to_owned()),
        ("sequencer/opts", "[include]\n\tpath = x\n".to_owned()),
        ("sequencer/opts", "[options]\n\tedit = true ; \\\n".to_owned()),
        ("sequencer/opts", "[options]\n\tstrategy = evil\n".to_owned()),
        ("sequencer/unheard-of", String::new()),
    ] {
        assert!(!fits(path, &text), "{path} {text}");
    }
}

#[test]
fn an_author_is_no_script() {
    let script =
        |name: &str| format!("GIT_AUTHOR_NAME={name}\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0000'\n");
    for good in ["''", "'a b'", r"'o'\''x'", r"''\'''", r"'x'\!''", "'$(x) `x`'", "'ü'"] {
        assert!(fits("rebase-merge/author-script", &script(good)), "{good}");
    }
    for bad in [
        "",
        "a",
        "'",
        "'a'b'",
        "''$(x)''",
        "'a' touch",
        r"'a'\'",
        r"'a'\\''",
        "'a'; x; 'b'",
        "'a'\nX='b'",
        "\"a\"",
    ] {
        assert!(!fits("rebase-merge/author-script", &script(bad)), "{bad}");
        assert!(!fits("rebase-apply/author-script", &script(bad)), "{bad}");
    }
    assert!(!fits("rebase-merge/author-script", "GIT_AUTHOR_NAME='x'\n"));
}

proptest! {
    /// Law: a line that git reads as `exec` is rejected, with any blanks and any preceding lines.
    #[test]
    fn no_command_passes(before in "(pick 0123456 x\n|# y\n|\n){0,3}", blanks in "[ \t]{0,4}", command in "(exec|x)[ \t\r\n]?", rest in ".{0,9}") {
        let text = format!("{before}{blanks}{command}{rest}");
        let word = text[before.len()..].lines().next().unwrap_or("").trim_start_matches([' ', '\t']);
        let word = word.split([' ', '\t', '\r']).next().unwrap_or("");
        if matches!(word, "exec" | "x") {
            prop_assert!(!fits("rebase-merge/git-rebase-todo", &text), "{:?}", text);
        }
    }

    /// Law: a shell reads an accepted author as three variables and nothing else.
    #[test]
    fn an_author_that_passes_is_quoted(name in "['\\\\!$a ;]{0,12}") {
        if fits("rebase-merge/author-script", &format!("GIT_AUTHOR_NAME={name}\nGIT_AUTHOR_EMAIL=''\nGIT_AUTHOR_DATE=''\n")) {
            let mut open = false;
            let mut letters = name.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\'' => open = !open,
                    '\\' if !open => { letters.next(); }
                    _ => prop_assert!(open, "{}", name),
                }
            }
            prop_assert!(!open);
        }
    }
}
