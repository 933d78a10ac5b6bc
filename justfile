# List the recipes.
default:
    @just --list

# Run all checks of CI: formatting, lints, all tests, doc tests, examples.
check:
    scripts/check

# Run the subset that catches most mistakes: formatting, unit tests, tidy, stories, commands and policy.
quick:
    cargo fmt --all --check
    scripts/run-tests --quick

# Run the tests whose names contain NAME.
test NAME="":
    cargo test --workspace -- {{NAME}}

# Accept changed texts: inline snapshots (needs cargo-insta), docs/tools.md, the wire's error messages and specs.
bless:
    TOOLGATE_BLESS=1 cargo insta test --workspace --accept

# Run one story, e.g. `just story responses/first-minute` or `just story chat/interleaved`.
story NAME:
    cargo run --quiet --package toolgate-cli -- pipe --wire {{parent_directory(NAME)}} --cwd crates/cli/tests/workspace < crates/cli/tests/stories/{{NAME}}.jsonl

# Build everything that people can install into target/dist: .deb, wheel, npm package, tarball, checksums.
dist:
    scripts/dist

# Install what `just dist` built into clean Debian roots, and use it there. Needs root.
test-packages:
    scripts/test-packages

# Measure Toolgate and its peers, and print the table of docs/benchmarks.md.
bench:
    scripts/bench

# Run a small real model and check that its calls are handled. The first run builds a server in about six minutes.
real-model:
    scripts/real-model

# Check licences, bans and sources of every dependency, offline.
deny:
    cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
    cargo deny --offline check licenses bans sources

# List the longest files and the most-touched files.
tail:
    @git ls-files 'crates/*/src/*.rs' | xargs wc -l | sort -rn | sed -n '2,11p'
    @git log --format= --name-only -- '*.rs' | sort | uniq -c | sort -rn | head

# Build the manual as a book in target/site, and check its links.
site:
    scripts/build-site
