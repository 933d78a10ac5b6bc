//! Tests the classification of literal commands, and the prefixes that saved rules may consist of.

use toolgate_policy::{
    CommandRisk, classify_command, classify_words, dangerous_variable, is_interpreter, rule_prefix,
};

use super::{DANGEROUS, ORDINARY, READ_ONLY, RISKY, commands, refs};

fn check(table: &str, fits: fn(CommandRisk) -> bool) {
    let rows = commands(table);
    let wrong: Vec<_> =
        rows.iter().map(|row| (row, classify_command(&refs(row)))).filter(|(_, is)| !fits(*is)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn read_only_commands_are_classified() {
    check(READ_ONLY, |is| is == CommandRisk::ReadOnly);
}

#[test]
fn ordinary_commands_are_classified() {
    check(ORDINARY, |is| is == CommandRisk::Ordinary);
}

#[test]
fn risky_commands_are_classified() {
    check(RISKY, |is| matches!(is, CommandRisk::Risky(_)));
}

#[test]
fn dangerous_commands_are_classified() {
    check(DANGEROUS, |is| matches!(is, CommandRisk::Dangerous(_)));
}

#[test]
fn no_row_is_there_twice() {
    let mut rows: Vec<_> = [READ_ONLY, ORDINARY, RISKY, DANGEROUS].into_iter().flat_map(commands).collect();
    let all = rows.len();
    rows.sort();
    rows.dedup();
    assert_eq!(rows.len(), all);
}

#[test]
fn a_path_counts_by_its_last_part() {
    assert_eq!(classify_command(&["/usr/bin/ls"]), CommandRisk::ReadOnly);
    assert_eq!(
        classify_command(&["./x/rm", "-rf", "y"]),
        CommandRisk::Dangerous("removes files without asking")
    );
    assert_eq!(classify_command(&["ls/"]), CommandRisk::Ordinary);
    assert_eq!(classify_command(&[]), CommandRisk::Ordinary);
    assert_eq!(classify_command(&[""]), CommandRisk::Ordinary);
}

#[test]
fn characters_that_do_not_show_are_dangerous() {
    for word in ["a\u{1b}[2K", "ls\r", "\u{202e}x", "a\u{200b}", "\u{7}", "\u{0}", "\u{feff}"] {
        assert!(matches!(classify_command(&["echo", word]), CommandRisk::Dangerous(_)), "{word:?}");
        assert!(matches!(classify_command(&[word]), CommandRisk::Dangerous(_)), "{word:?}");
    }
    assert_eq!(classify_command(&["echo", "a\n\tb", "ä日"]), CommandRisk::ReadOnly);
}

#[test]
fn a_text_of_sed_over_several_lines_is_no_command() {
    assert_eq!(classify_command(&["sed", "-i", "1i\\\nexport A=1", "f"]), CommandRisk::Ordinary);
    assert!(matches!(classify_command(&["sed", "w x\\\ne touch PWN", "f"]), CommandRisk::Dangerous(_)));
    assert_eq!(classify_command(&["sed", "-n", "1p\n3p", "f"]), CommandRisk::ReadOnly);
}

/// `?` is an unknown word.
#[test]
fn commands_with_unknown_words_are_classified() {
    let read_only = "echo ?|echo a ?|printf %s ?|printf -- %s ? ?|[ -f ? ]|[ ? = x ]|test -n ?|basename -- ?|ls -- ?|ls -l -- ? a|stat -- ?|which -- ?|type -- ?|command -v -- ?|grep -- ? f|tr -- ? ?|true ?|expr ? + 1|test ! -d ?";
    let ordinary = "?|? -rf x|ls ?|ls ? --|cat ?|cat -- ?|head -n ? f|grep ? f|grep -- x ?|rg -- x ?|find ?|find . -name ?|sed -n ? f|sed -n -- ? f|jq -- ? f|uniq -- f ?|uniq -- ?|sort -- ?|printf ?|printf %d ?|test ?|test ? x|test -f ? -a|[ 1 -eq ? ]|[ ? ]|[ -f x ?|date -- ?|xxd ?|awk ? f|git ?|rm ?|docker ?|cp ? ?|make ?|cargo ?|env ? rm -rf x|sudoedit-not ?|tac -- ?|tail -- ?|seq -- ?|cd -- ?";
    let dangerous = "rm -rf ?|rm ? -r|sudo ?|git push ? -f|git clean -f ?|git reset ? --hard|timeout 5 rm -rf ?|xargs rm -rf ?|curl -d ? x|chmod 777 ?|ssh ?|. ?|eval ?|find ? -delete|find ? -exec rm -f ? ;|git -c core.pager=x ?|git config --global x ?|git config core.pager ?|npm publish ?|sed 1ex ?|dd of=/dev/sda ?|env A=1 ? |kill -9 -1 ?";
    for (rows, expected) in [(read_only, "ReadOnly"), (ordinary, "Ordinary"), (dangerous, "Dangerous")] {
        for row in rows.split('|').filter(|row| *row != "env A=1 ? ") {
            let words: Vec<_> = row.split_whitespace().map(|word| (word != "?").then_some(word)).collect();
            let is = format!("{:?}", classify_words(&words));
            assert!(is.starts_with(expected), "{row}: {is}");
        }
    }
}

#[test]
fn rule_prefix_is_the_meaningful_first_words() {
    for (command, expected) in [
        ("cargo test --all", "cargo test"),
        ("cargo build", "cargo build"),
        ("git status -s", "git status"),
        ("git commit -m x", "git commit"),
        ("npm run build", "npm run build"),
        ("npm run build:prod -- x", "npm run build:prod"),
        ("npm test", "npm test"),
        ("npm install x", "npm install"),
        ("yarn build", "yarn build"),
        ("ls -la", "ls"),
        ("pytest -x", "pytest"),
        ("eslint .", "eslint"),
        ("go test ./...", "go test"),
        ("go run ./cmd/x", "go run ./cmd/x"),
        ("make test", "make test"),
        ("just lint", "just lint"),
        ("npx eslint .", "npx eslint"),
        ("uv run pytest -x", "uv run pytest"),
        ("bundle exec rspec", "bundle exec rspec"),
        ("uv sync", "uv sync"),
        ("gh pr view 1", "gh pr view"),
        ("./gradlew build", "./gradlew build"),
        ("/usr/bin/cargo test", "/usr/bin/cargo test"),
        ("bun test x", "bun test"),
        ("deno lint", "deno lint"),
        ("pip install x", "pip install"),
        ("mkdir a", "mkdir"),
        ("terraform plan", "terraform plan"),
        ("[ -f x ]", "["),
        ("mypy .", "mypy"),
        ("tsc --noEmit", "tsc"),
        ("touch f", "touch"),
        ("shellcheck x.sh", "shellcheck"),
    ] {
        let words: Vec<_> = command.split(' ').collect();
        assert_eq!(rule_prefix(&words).map(|stem| stem.join(" ")).as_deref(), Some(expected), "{command}");
    }
    for command in [
        "", "python3 x.py", "python3.11 x.py", "bash -c ls", "sh x", "env ls", "sudo ls", "xargs ls",
        "find .", "git", "npx", "docker ps", "ssh x", "make", "make -f x", "make SHELL=x",
        "git -c a=b status", "git -C x status", "git --git-dir=x status", "cargo --config x test",
        "cargo +nightly test", "cargo", "npm", "npm run", "npm --prefix x test", "npm exec x", "npx -p x y",
        "npx bash", "npx -y x", "node x.js", "perl x", "ruby x", "awk 1 f", "sed 1p f", "uv run python x",
        "uv run bash", "uv run --with x y", "timeout 5 ls", "nohup ls", "git config x y", "git bisect start",
        "git push --force", "rm f", "rm -rf x", "bun x.ts", "deno run x", "go run -exec x y", "gh api x",
        "kubectl get x", "time ls", "command ls", "eval x", ". x", "a=b ls", "vim x",
        "git submodule foreach x", "cargo publish", "busybox ls", "gdb x", "parallel ls", "curl x", "-x",
        "go tool x", "poetry run env x", "pnpm exec sh", "less x", "tar xf a", "ksh93 x", "lua5.4 x",
        "java -jar x", "java -cp . X", "javac X.java", "jshell x", "groff -man x", "troff x", "convert a b",
        "magick a b", "mogrify x", "gm convert a b", "openssl enc -in a -out b", "gpg -o a b", "pdflatex x",
        "latexmk x", "gs x", "ffmpeg -i a b", "gnuplot x", "rustc x.rs", "ghc -e x", "swipl x", "wine x",
        "wasmtime x", "duckdb x", "gulp build", "webpack", "pandoc a -o b", "cp a b", "mv a b", "ant test",
        "sbt test", "dc -e x", "frobnicate x", "my-own-tool",
    ] {
        let words: Vec<_> = command.split_whitespace().collect();
        assert_eq!(rule_prefix(&words), None, "{command}");
    }
}

#[test]
fn recognizes_interpreters() {
    for name in [
        "bash", "sh", "/bin/sh", "python3", "python3.11", "perl", "perl5.36", "node", "ruby3.1", "php8.2",
        "lua5.4", "fish", "pwsh", "awk", "psql", "Rscript", "pwsh.exe",
    ] {
        assert!(is_interpreter(name), "{name}");
    }
    for name in ["cat", "ls", "grep", "cargo", "git", "", "3", "shasum", "bashful", "jq", "sort"] {
        assert!(!is_interpreter(name), "{name}");
    }
}

#[test]
fn recognizes_dangerous_variables() {
    let dangerous = "
        LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_CONFIG_KEY_0
        GIT_CONFIG_VALUE_0 GIT_CONFIG_GLOBAL GIT_EXEC_PATH GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_TRACE GIT_TEMPLATE_DIR
        BASH_ENV ENV PATH PATH+ PYTHONSTARTUP NODE_OPTIONS PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS
        LESSOPEN GCONV_PATH IFS PS4 PROMPT_COMMAND
        SHELLOPTS BASHOPTS BASH_FUNC_ls%% RUSTC_WRAPPER RUSTC CARGO_BUILD_RUSTC_WRAPPER CARGO_TARGET_X_RUNNER MAKEFLAGS
        npm_config_script_shell NPM_CONFIG_REGISTRY Npm_Config_x HOME POSIXLY_CORRECT TAR_OPTIONS SSH_ASKPASS http_proxy";
    for name in dangerous.split_whitespace() {
        assert!(dangerous_variable(name).is_some(), "{name}");
    }
    for name in "GIT_EDITOR EDITOR GIT_PAGER PAGER AWS_PAGER GIT_DIR RIPGREP_CONFIG_PATH CI DEBUG RUST_LOG RUST_BACKTRACE FOO NODE_ENV LANG LC_ALL TZ GIT_AUTHOR_NAME CARGO_TERM_COLOR PATHS X_ENV".split(' ') {
        assert_eq!(dangerous_variable(name), None, "{name}");
    }
}
