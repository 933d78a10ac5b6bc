//! The words of a command that a rule may be made of.

use super::{Known, known, last_part, lists};

/// Programs that run text as a program, with whatever number stands behind the name.
const INTERPRETERS: &str = "
    sh bash rbash dash ash zsh ksh mksh pdksh oksh yash fish csh tcsh elvish nu xonsh pwsh powershell cmd busybox
    toybox python pypy ipython bpython jython micropython perl raku ruby irb jruby node nodejs deno bun tsx ts-node
    php lua luajit R Rscript julia tclsh wish expect guile racket sbcl clisp ecl scheme chicken csi emacs clojure
    clj bb ghci runghc runhaskell ocaml utop erl escript elixir iex scala groovy groovysh kotlin jshell swift
    osascript awk gawk mawk nawk gdb lldb sqlite psql mysql mariadb mongo mongosh redis-cli ed ex vi vim nvim m4
    octave nix-shell";

/// Programs that run whatever their words say, or that a rule would let do too much.
const NEVER: &str = "
    env sudo doas pkexec su runuser xargs gxargs parallel find fd fdfind timeout gtimeout nice ionice chrt taskset
    nohup setsid time exec command builtin eval source . trap alias stdbuf watch strace ltrace entr flock script
    caffeinate fakeroot eatmydata noglob nocorrect docker podman nerdctl docker-compose kubectl oc helm ssh scp sftp
    mosh rsync unshare nsenter chroot setpriv bwrap firejail systemd-run capsh nc ncat netcat socat telnet curl wget
    rm dd chmod chown kill pkill killall shred sed perf valgrind rr tmux screen at batch crontab cmake gcc g++ cc
    c++ clang clang++ ld tar zip less more man ansible ansible-playbook vagrant gcloud az aws tee make gmake ninja
    npx bunx pnpx uvx pipx corepack git cargo npm pnpm yarn go gh rustup uv poetry pipenv pdm hatch bundle dotnet
    apply_patch applypatch just task rake invoke fab tox nox mix bazel buck nix direnv mise asdf rtx op doppler dotenv cross-env
    concurrently nodemon ssh-agent dbus-run-session xvfb-run export declare typeset local readonly set unset hash
    enable read mapfile coproc function pry open xdg-open";

/// Programs that are known by a sub-command, and those that take it only from a list or not at all.
const BY_SUB_COMMAND: &[(&str, Takes)] = &[
    (
        "git",
        Takes::AnyBut("config submodule bisect rebase difftool mergetool filter-branch credential daemon"),
    ),
    ("cargo", Takes::AnyBut("config install watch")),
    ("npm pnpm yarn", Takes::AnyBut("run run-script exec x dlx explore config set create init")),
    ("go", Takes::AnyBut("run tool generate env")),
    ("bun deno", Takes::Only("test install add build check lint fmt")),
    ("uv poetry pipenv pdm hatch bundle", Takes::AnyBut("run exec tool shell config x")),
    ("rustup mix dotnet bazel", Takes::AnyBut("run exec script eval")),
    (
        "pip pip3 gem composer mvn mvnw gradle gradlew brew apt apt-get terraform systemctl",
        Takes::AnyBut("exec config"),
    ),
    ("make gmake ninja just task rake tox nox invoke", Takes::AnyBut("")),
];

/// Which sub-commands say enough.
enum Takes {
    AnyBut(&'static str),
    Only(&'static str),
}

/// Programs and a first word behind which a second one says what is run.
const BY_TWO: &[(&str, &str)] = &[
    ("npm pnpm yarn", "run run-script"),
    ("gh", "pr issue repo release run workflow search label gist"),
    ("bazel", "run"),
    ("go", "run"),
];

/// Programs, and the first word if there is one, behind which another command stands.
const RUNNERS: &[(&str, &str)] =
    &[("npx bunx pnpx uvx", ""), ("uv poetry pipenv pdm hatch", "run"), ("bundle pnpm yarn", "exec")];

/// How many of them a command may stand behind.
const RUNNERS_DEEP: usize = 2;

/// The first words of `argv` that say what the command is, for a rule that a person may save: `cargo test`, `npm run
/// build`, `ls`. `None` if a rule of them would allow everything, or if the command is dangerous.
///
/// ```
/// use toolgate_policy::stem;
/// assert_eq!(stem(&["cargo", "test", "--all"]).unwrap(), ["cargo", "test"]);
/// assert_eq!(stem(&["python3", "x.py"]), None);
/// ```
pub fn stem(argv: &[&str]) -> Option<Vec<String>> {
    if matches!(known(argv), Known::Dangerous(_)) {
        return None;
    }
    let taken = words_taken(argv, RUNNERS_DEEP)?;
    Some(argv[..taken].iter().map(|word| (*word).to_owned()).collect())
}

/// Whether the program `name` runs what it is fed: a shell, a language, a debugger, a database's prompt.
pub fn is_interpreter(name: &str) -> bool {
    let name = last_part(name);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let bare = name.trim_end_matches(|end: char| end.is_ascii_digit() || matches!(end, '.' | '-'));
    lists(INTERPRETERS, name) || lists(INTERPRETERS, bare)
}

/// How many words of `argv` say what it is, if at most `deep` runners stand before the command.
fn words_taken(argv: &[&str], deep: usize) -> Option<usize> {
    let (program, words) = argv.split_first()?;
    let name = last_part(program);
    let first = words.first().copied().filter(|word| is_plain(word));
    let has = |table: &'static str| lists(table, name);
    if let Some((_, lead)) =
        RUNNERS.iter().find(|(names, lead)| has(names) && (lead.is_empty() || first == Some(*lead)))
    {
        let skip = 1 + usize::from(!lead.is_empty());
        let inner = argv.get(skip..).filter(|inner| inner.first().is_some_and(|word| is_plain(word)))?;
        return Some(skip + words_taken(inner, deep.checked_sub(1)?)?);
    }
    if BY_TWO.iter().any(|(names, firsts)| has(names) && first.is_some_and(|first| lists(firsts, first))) {
        return words.get(1).filter(|word| is_plain(word)).map(|_| 3);
    }
    if let Some((_, takes)) = BY_SUB_COMMAND.iter().find(|(names, _)| has(names)) {
        let says = match takes {
            Takes::AnyBut(list) => !lists(list, first?),
            Takes::Only(list) => lists(list, first?),
        };
        return says.then_some(2);
    }
    let never = has(NEVER) || is_interpreter(name) || !is_plain(name);
    (!never).then_some(1)
}

/// Whether `word` is a name: no option, no assignment, no path to somewhere else, no text.
fn is_plain(word: &str) -> bool {
    let begins = word
        .starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '_' | '.' | '@' | '['));
    begins && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:/@[".contains(letter))
}
