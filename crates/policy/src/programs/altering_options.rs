//! Options that change which program a command runs or where it writes.
//!
//! An allow-rule for the first words of a command does not cover them unless its words name them.

use super::{list_contains, program_name, rule_prefix};

/// Options of any program, with or without a value.
const COMMON_OPTIONS: &str = "
    --output --output-file --output-dir --output-directory --out --out-file --out-dir --outdir --outfile --outDir
    --outFile --outputFile --exec --execute --command --shell --shell-arg --script-shell --plugin --plugins
    --load-plugins --require --import --loader --config --config-file --configfile --conf --settings --rcfile
    --init-hook --init-script --eval --pager --editor --rsh --ssh-command --upload-pack --receive-pack
    --use-compress-program --to-command --wrapper --runner --run-under --interpreter --python-executable --makefile
    --directory --chdir --cwd --working-directory --workdir --prefix --root --rootdir --rootDir --root-dir
    --project-dir --manifest-path --target-dir --install-dir --destdir --dest --toolchain --registry --index-url
    --extra-index-url --proxy --node-options --log-file --logfile --report-file --junitxml --junit-xml --basetemp
    --cache-dir --cache-location --cacheDirectory --coverageDirectory --globalSetup --setupFiles --setupFilesAfterEnv
    --testRunner --transform --resolver --reporter --reporters --env-file --userconfig --globalconfig --hook
    --template --extension --library-path --sysroot --linker";

/// Options by program: a letter alone or combined, a letter alone with `$`, a name, a prefix with `*`, and `=` for an
/// assignment.
const OPTIONS_BY_PROGRAM: &[(&str, &str)] = &[
    ("make gmake", "= -f --file -C -I --include-dir -E -o --old-file -W"),
    ("ninja", "-C -f -t"),
    ("just", "= -f --justfile -d --set --dotenv-path --dotenv-filename -c --chooser"),
    ("task", "= -t --taskfile -d --dir -e --entrypoint"),
    ("rake", "= -f --rakefile -e -E -p -r -R --rakelibdir -I --libdir -C -g --system"),
    ("tox nox", "-c --workdir -x --override -f --noxfile --envdir"),
    ("invoke", "-c --collection -r --search-root -f"),
    (
        "npm pnpm yarn",
        "--dir -C --git --viewer --browser --init-module --onload-script -g --global --location --modules-folder
         --use-yarnrc --scripts-prepend-node-path --cache --config.* --store-dir --cafile --https-proxy --noproxy",
    ),
    ("cargo", "-Z --artifact-dir --path --git --index --lockfile-path -C --target-dir"),
    (
        "git",
        "-o --ext-diff --textconv --open-files-in-pager --separate-git-dir --git-dir --work-tree --exec-path
         --config-env --reference",
    ),
    (
        "go",
        "-exec -toolexec -vettool -o$ -C$ -modfile -overlay -ldflags -gcflags -asmflags -gccgoflags -compiler -pkgdir
         -outputdir -cpuprofile -memprofile -blockprofile -mutexprofile -trace -coverprofile -test.* -fuzzcachedir",
    ),
    ("bun deno", "-c -r --preload --import-map --cert -A --allow-* --lock --cert --coverage-dir"),
    (
        "uv poetry pipenv pdm hatch bundle composer gem pip pip3",
        "--project -P --python -p --index* -i -f --find-links --target -t --user -e --editable --config-setting*
         --install-option --global-option --src --log --trusted-host --cert --report -d --gemfile --path --source -s
         -C --working-dir --bindir --install-dir --post-install* --no-scripts",
    ),
    (
        "mvn mvnw gradle gradlew",
        "-D* -P* -f* --file -s$ -gs$ --global-settings -t$ --toolchains -I$ -b$ --build-file -c$ --settings-file -p$ -g$
         --gradle-user-home --include-build -l$ --init-script",
    ),
    (
        "dotnet",
        "-o -p* --property* /p:* -property:* --artifacts-path -s$ --results-directory --test-adapter-path --diag -d$ -l$
         --logger --collect @* -a$",
    ),
    ("mix", "-r -S -pa$ -pz$ -e --erl"),
    (
        "bazel",
        "--run_under* --override_repository* --action_env* --define* --workspace_status_command* --shell_executable*
         --package_path* --output_* --symlink_prefix* --bazelrc* --host* --repo_env*",
    ),
    ("brew apt apt-get", "-o --option -c --build-from-source --HEAD --allow-unauthenticated --force-yes"),
    (
        "terraform",
        "-chdir* -out* -state* -backup* -plugin-dir* -backend-config* -var-file* -generate-config-out* -from-module*",
    ),
    ("systemctl", "-H -M --host --machine --image"),
    ("gh", "-D --dir -O --hostname --body-file -F --clobber -o"),
    (
        "pytest py.test",
        "-p -c --confcutdir -o --override-ini --cov-config --cov-report --import-mode --debug --pdbcls --html
         --pyargs --result-log",
    ),
    ("eslint xo standard tslint", "-c --rulesdir --resolve-plugins-relative-to --parser -o -f --format --cache-file --rules-dir"),
    ("prettier biome oxlint stylelint dprint", "-c --plugin-search-dir --config-path --custom-syntax --custom-formatter -o -f --formatter"),
    (
        "jest vitest mocha ava",
        "-c -r --env --environment --dir --moduleLoader --snapshotResolver --watchPlugins --project --projects
         --testResultsProcessor --testSequencer --dependencyExtractor --file --ui --api --browser* -O --coverage.*",
    ),
    ("tsc vue-tsc", "-p --project --declarationDir --tsBuildInfoFile --generateTrace --build -b"),
    (
        "mypy pyright pylint ruff black isort flake8 bandit",
        "--config-path --custom-typeshed-dir --html-report --txt-report --xml-report --linecount-report
         --any-exprs-report --cobertura-xml-report --xslt-html-report --lineprecision-report -o --append-config --tee --enable-extensions --settings* -p
         --pythonpath --venv* --plugin-toml* -c -w --baseline --typeshedpath --cache-file",
    ),
    ("rspec rubocop standardrb brakeman phpunit pest phpstan psalm php-cs-fixer", "-r -I -O --options -o -f --format --default-path -c --bootstrap --configuration --log-* --coverage-* -a --autoload-file --rules"),
    ("golangci-lint staticcheck gofmt goimports revive shellcheck shfmt", "-c --out* -o -cpuprofile --path-prefix -formatter --source-path -P"),
    (
        "clang-format clang-tidy cppcheck ctest rustfmt",
        "-load* -p$ --extra-arg* --export-fixes* --vfsoverlay* -S$ -D$ --script -T$ --build-and-test --addon*
         --cppcheck-build-dir* --print-config --emit --style=file:*",
    ),
    ("sort shuf", "-o -T --temporary-directory --compress-program --files0-from --random-source"),
    ("tree", "-o -R"),
    ("file", "-C -m -f -z --compile --magic-file --files-from"),
    ("rg", "--pre* --hostname-bin* --search-zip -z"),
    ("date", "-s --set"),
];

/// Returns the first word of `argv` after `from` words that changes the program that runs, or the output path.
pub(crate) fn first_altering_word<'a>(argv: &[&'a str], from: usize) -> Option<&'a str> {
    let (named, more) = argv.split_at(from.min(argv.len()));
    // After a runner, options of another program follow: `uv run pytest`.
    let rows: Vec<&str> = named
        .iter()
        .flat_map(|word| {
            OPTIONS_BY_PROGRAM
                .iter()
                .filter(|(names, _)| list_contains(names, program_name(word)))
                .map(|(_, options)| *options)
        })
        .collect();
    // Options of an unknown program, or of a script that a rule names, have no known meaning.
    if rows.is_empty() && rule_prefix(named).is_none() {
        return None;
    }
    let is_listed = |word: &&&str| {
        let options = rows.iter().copied().chain([COMMON_OPTIONS]).flat_map(str::split_whitespace);
        options.into_iter().any(|option| matches_option(option, word))
    };
    more.iter().find(is_listed).copied()
}

/// Returns true if `word` is `option`: with a value, abbreviated, or combined with other letters.
fn matches_option(option: &str, word: &str) -> bool {
    if option == "=" {
        let name = word.split_once('=').map(|(name, _)| name.trim_end_matches([':', '+', '?', '!']));
        return name.is_some_and(|name| {
            !name.starts_with('-')
                && !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        });
    }
    if let Some(begin) = option.strip_suffix('*') {
        return word.starts_with(begin);
    }
    let name = word.split('=').next().unwrap_or(word);
    if let Some(whole) = option.strip_suffix('$') {
        return name == whole || name.strip_prefix('-') == Some(whole);
    }
    if let Some(letter) =
        option.strip_prefix('-').filter(|rest| rest.chars().count() == 1 && !rest.starts_with('-'))
    {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        let cluster = letters.find(|c: char| !c.is_ascii_alphabetic()).map_or(letters, |end| &letters[..end]);
        return cluster.contains(letter);
    }
    name == option
        || option.starts_with("--") && abbreviates(name, option)
        || !option.starts_with("--") && name.strip_prefix('-') == Some(option)
}

/// Minimum length of an abbreviated option.
const MIN_ABBREVIATION_BYTES: usize = 5;

fn abbreviates(word: &str, option: &str) -> bool {
    word.len() >= MIN_ABBREVIATION_BYTES && word.starts_with("--") && option.starts_with(word)
}
