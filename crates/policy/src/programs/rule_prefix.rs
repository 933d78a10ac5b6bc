//! Finds the first words of a command that a saved rule may consist of.

use super::{
    CommandRisk, RUNNERS, Runner, Starter, classify_command, is_interpreter, list_contains, program_name,
    read_only,
};

/// Programs, besides interpreters and starters, for which a rule would allow too much.
const NEVER_ALONE: &str = "
    find fd fdfind eval source . trap alias docker podman nerdctl docker-compose kubectl oc helm ssh scp sftp mosh
    rsync nc ncat netcat socat telnet curl wget rm dd chmod chown kill pkill killall shred sed rr crontab cmake gcc
    g++ cc c++ clang clang++ ld tar zip less more man ansible ansible-playbook vagrant gcloud az aws tee make gmake
    ninja pipx corepack git cargo npm pnpm yarn go gh uv poetry pipenv pdm hatch bundle dotnet apply_patch
    applypatch just task rake invoke fab tox nox mix bazel buck rtx op nodemon export declare typeset local readonly
    set unset hash enable read mapfile coproc function pry open xdg-open javac jar jarsigner jdb jcmd jlink jpackage
    appletviewer rmic groff nroff troff grops gropdf eqn pic tbl tex latex pdftex pdflatex xetex xelatex luatex
    lualatex context latexmk gs ghostscript ps2pdf dvips convert magick mogrify composite montage display animate
    import conjure stream identify gm ffmpeg ffprobe sox openssl certtool gpg gpg2 rustc rustdoc swiftc scalac
    gfortran f77 f95 as nasm yasm objcopy objdump strip ar dpkg rpm apt-key dnf yum zypper apk pacman snap flatpak
    cp mv ln install truncate split csplit patch ssh-keygen ssh-add meson ant sbt scons waf lein cabal stack ghcup
    dune opam zig skaffold tilt packer vault consul nomad mosquitto_sub lftp aria2c yt-dlp rclone restic borg
    logrotate systemd-analyze busctl dbus-send gdbus xdotool wmctrl pm2 forever supervisorctl foreman overmind
    honcho lerna nx turbo rush gulp grunt webpack vite rollup parcel esbuild storybook cypress wrangler vercel
    netlify firebase heroku fly serverless sls cdk sam pulumi ansible-galaxy pre-commit husky lint-staged act skopeo
    buildah minikube kind k3d argocd flux gpgv gpgconf watchexec watchman cscope ctags etags indent sponge pv dialog
    whiptail fzf sk peco pandoc asciidoctor sphinx-build mkdocs hugo jekyll protoc flatc thrift swig bison yacc flex
    lex ragel gperf cython mypyc nuitka pyinstaller zipapp pip-compile ld.gold lld mold wild gold emcc em++ clang-cl
    nvcc icc ifort dmd ldc2 gdc gnat gprbuild fpc ocamlopt ocamlc uniq xxd";

/// Programs with one purpose, apart from the options listed in `altering_options`. For other programs a rule names
/// every word.
const SINGLE_PURPOSE: &str = "
    mkdir touch rmdir pytest py.test eslint prettier ruff black isort flake8 mypy pyright pylint bandit tsc vue-tsc
    jest vitest mocha ava phpunit pest rspec rubocop standardrb brakeman golangci-lint staticcheck gofmt goimports revive
    rustfmt clang-format clang-tidy cppcheck shellcheck shfmt yamllint markdownlint markdownlint-cli2 actionlint hadolint
    stylelint biome oxlint xo standard tslint ctest swiftlint ktlint detekt phpstan psalm php-cs-fixer credo dialyzer
    hlint ormolu fourmolu cmake-format taplo dprint typos codespell vale sqlfluff buf tflint ansible-lint helm-docs";

/// Programs identified by a sub-command, with the accepted or the excluded sub-commands.
const BY_SUB_COMMAND: &[(&str, SubcommandRule)] = &[
    (
        "git",
        SubcommandRule::AnyBut(
            "config submodule bisect rebase difftool mergetool filter-branch credential daemon",
        ),
    ),
    ("cargo", SubcommandRule::AnyBut("config install watch")),
    ("npm pnpm yarn", SubcommandRule::AnyBut("run run-script exec x dlx explore config set create init")),
    ("go", SubcommandRule::AnyBut("run tool generate env")),
    ("bun deno", SubcommandRule::Only("test install add build check lint fmt")),
    ("uv poetry pipenv pdm hatch bundle", SubcommandRule::AnyBut("run exec tool shell config x")),
    ("rustup mix dotnet bazel", SubcommandRule::AnyBut("run exec script eval")),
    (
        "pip pip3 gem composer mvn mvnw gradle gradlew brew apt apt-get terraform systemctl",
        SubcommandRule::AnyBut("exec config"),
    ),
    ("make gmake ninja just task rake tox nox invoke", SubcommandRule::AnyBut("")),
];

/// The sub-commands that identify a command.
enum SubcommandRule {
    AnyBut(&'static str),
    Only(&'static str),
}

/// Programs and first words after which a second word identifies the command.
const BY_SECOND_WORD: &[(&str, &str)] = &[
    ("npm pnpm yarn", "run run-script"),
    ("gh", "pr issue repo release run workflow search label gist"),
    ("bazel", "run"),
    ("go", "run"),
];

/// Maximum number of nested runners.
const MAX_NESTED_RUNNERS: usize = 2;

/// Returns the first words of `argv` that identify the command, for a rule that a person may save: `cargo test`,
/// `npm run build`, `ls`. Returns `None` if such a rule would allow everything, or if the command is dangerous.
///
/// ```
/// use toolgate_policy::rule_prefix;
/// assert_eq!(rule_prefix(&["cargo", "test", "--all"]).unwrap(), ["cargo", "test"]);
/// assert_eq!(rule_prefix(&["python3", "x.py"]), None);
/// ```
pub fn rule_prefix(argv: &[&str]) -> Option<Vec<String>> {
    if matches!(classify_command(argv), CommandRisk::Dangerous(_) | CommandRisk::Risky(_)) {
        return None;
    }
    let taken = prefix_length(argv, MAX_NESTED_RUNNERS)?;
    Some(argv[..taken].iter().map(|word| (*word).to_owned()).collect())
}

/// Returns the number of words of `argv` that identify it, with at most `deep` runners before the command.
fn prefix_length(argv: &[&str], deep: usize) -> Option<usize> {
    let (program, words) = argv.split_first()?;
    let name = program_name(program);
    let first = words.first().copied().filter(|word| is_plain_name(word));
    let has = |table: &'static str| list_contains(table, name);
    let is_runner = |one: &&Runner| one.subcommands.is_empty() || first == Some(one.subcommands);
    if let Some(runner) = runners_in_rules(name).find(is_runner) {
        let skip = 1 + usize::from(!runner.subcommands.is_empty());
        let inner = argv.get(skip..).filter(|inner| inner.first().is_some_and(|word| is_plain_name(word)))?;
        return Some(skip + prefix_length(inner, deep.checked_sub(1)?)?);
    }
    if BY_SECOND_WORD
        .iter()
        .any(|(names, firsts)| has(names) && first.is_some_and(|first| list_contains(firsts, first)))
    {
        return words.get(1).filter(|word| is_plain_name(word)).map(|_| 3);
    }
    if let Some((_, takes)) = BY_SUB_COMMAND.iter().find(|(names, _)| has(names)) {
        let says = match takes {
            SubcommandRule::AnyBut(list) => !list_contains(list, first?),
            SubcommandRule::Only(list) => list_contains(list, first?),
        };
        return says.then_some(2);
    }
    let alone = has(SINGLE_PURPOSE) || read_only::lists_program(name);
    (alone && !is_never_alone(name)).then_some(1)
}

/// Returns true if a rule must never consist of the program `name` alone.
fn is_never_alone(name: &str) -> bool {
    list_contains(NEVER_ALONE, name)
        || is_interpreter(name)
        || Starter::of(name).is_some()
        || !is_plain_name(name)
}

/// Returns true if the program `name` is unknown: a rule for it should name all words of the command.
pub(crate) fn is_unknown_program(name: &str) -> bool {
    let by_words = BY_SUB_COMMAND.iter().any(|(names, _)| list_contains(names, name))
        || BY_SECOND_WORD.iter().any(|(names, _)| list_contains(names, name))
        || runners_in_rules(name).next().is_some();
    !by_words
        && !is_never_alone(name)
        && !list_contains(SINGLE_PURPOSE, name)
        && !read_only::lists_program(name)
}

/// Returns the runners called `name` that a rule may begin with.
fn runners_in_rules(name: &str) -> impl Iterator<Item = &'static Runner> {
    RUNNERS.iter().filter(move |runner| runner.may_be_in_rule && runner.has_name(name))
}

/// Returns true if `word` is a name: not an option, an assignment or free text.
fn is_plain_name(word: &str) -> bool {
    let begins = word
        .starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '_' | '.' | '@' | '['));
    begins && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:/@[".contains(letter))
}
