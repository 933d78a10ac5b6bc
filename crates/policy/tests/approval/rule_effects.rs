//! Tests the effect of rules on commands, tools, paths and hosts.

use std::path::Path;

use toolgate_policy::rules::{RuleLayer, RuleSet};
use toolgate_policy::{ApprovalPolicy, Effect, Gate, Intent, SandboxPolicy, Verdict};

use super::{gate, says, script};

fn ruled(approval: ApprovalPolicy, rules: &[&str]) -> Gate {
    let text: String = rules.iter().map(|rule| format!("[[rule]]\n{rule}\n")).collect();
    let rules = RuleSet::parse(&text, Path::new("/rules.toml"), RuleLayer::User).unwrap();
    gate(approval, SandboxPolicy::WorkspaceWrite).with_rules(rules)
}

const TEST: &str = "pattern = [\"cargo\", [\"test\", \"check\"]]\ndecision = \"allow\"";
const PUSH: &str = "pattern = [\"git\", \"push\"]\ndecision = \"allow\"";
const NO_PUSH: &str = "pattern = [\"git\", \"push\"]\ndecision = \"forbid\"\nreason = \"a person does that\"";
const ASK_GIT: &str = "pattern = [\"git\"]\ndecision = \"ask\"";
const GIT: &str = "pattern = [\"git\"]\ndecision = \"allow\"";
const RM: &str = "pattern = [\"rm\", \"-rf\", \"target\"]\nexact = true\ndecision = \"allow\"";
const DOCKER: &str = "pattern = [\"docker\", \"ps\"]\ndecision = \"allow\"\nunsandboxed = true";
const NO_DEPLOY: &str = "pattern = [\"make\", \"deploy\"]\ndecision = \"forbid\"";
const ASK_DEPLOY: &str = "pattern = [\"npm\", \"run\", \"deploy\"]\ndecision = \"ask\"";
const NO_WC: &str = "pattern = [\"/usr/bin/wc\"]\ndecision = \"forbid\"";
const ASK_GET: &str = "pattern = [\"kubectl\", \"get\"]\ndecision = \"ask\"";
const MAKE: &str = "pattern = [\"make\"]\ndecision = \"allow\"";
const SED: &str = "pattern = [\"sed\"]\ndecision = \"allow\"";
const SCRIPT: &str = "pattern = [\"python3\", \"x.py\"]\ndecision = \"allow\"";
const TOOL: &str = "tool = \"shell_*\"\ndecision = \"allow\"";
const NO_TOOL: &str = "tool = \"shell_command\"\ndecision = \"forbid\"";

#[test]
fn the_strictest_rule_wins_and_covers_no_more_than_it_says() {
    // The rules, a script, and the decisions under untrusted and on-request.
    for (rules, line, expected) in [
        (&[TEST][..], "cargo test --all", ["allow", "allow"]),
        (&[TEST], "cargo check", ["allow", "allow"]),
        (&[TEST], "cargo build", ["ask", "allow"]),
        (&[TEST], "cd src && cargo test | tail -5", ["allow", "allow"]),
        (&[TEST], "cargo test && make", ["ask", "allow"]),
        // A forbidden command is forbidden behind any wrapper.
        (&[NO_PUSH], "choom -n 0 -- git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "bash <<< 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "fish -c 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "bash -ic 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "/usr/lib/git-core/git-push", ["forbid", "forbid"]),
        (&[NO_PUSH], "git -c alias.p=push p", ["forbid", "forbid"]),
        (&[NO_PUSH], "g=git; $g push", ["forbid", "forbid"]),
        (&[NO_PUSH], "f() { \"$@\"; }; f git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "$g push", ["ask", "ask"]),
        // A rule does not cover variables, redirections, other paths or nested commands.
        (&[TEST], "FOO=1 cargo test", ["ask", "allow"]),
        (&[TEST], "cargo test > log", ["ask", "allow"]),
        (&[TEST], "cargo test $x", ["ask", "allow"]),
        (&[TEST], "cargo $x", ["ask", "allow"]),
        (&[TEST], "./cargo test", ["ask", "allow"]),
        (&[TEST], "/tmp/cargo test", ["ask", "allow"]),
        (&[TEST], "/usr/bin/cargo test", ["allow", "allow"]),
        (&[TEST], "sudo cargo test", ["ask", "ask"]),
        (&[TEST], "echo $(cargo test)", ["ask", "allow"]),
        (&[TEST], "cargo test; rm -rf x", ["ask", "ask"]),
        (&[TEST], "cargo() { make; }; cargo test", ["ask", "allow"]),
        (&[TEST], "PATH=. ; cargo test", ["ask", "ask"]),
        (&[TEST], "LD_PRELOAD=./x cargo test", ["ask", "ask"]),
        (&[PUSH], "git push origin main", ["allow", "allow"]),
        // A danger that the rule does not name still counts.
        (&[PUSH], "git push --force", ["ask", "ask"]),
        (&[GIT], "git -c alias.x='!touch PWN' x", ["ask", "ask"]),
        (&[GIT], "git status", ["allow", "allow"]),
        (&[RM], "rm -rf target", ["allow", "allow"]),
        (&[RM], "rm -rf target > /dev/sda", ["ask", "ask"]),
        (&[RM], "rm -rf target /", ["ask", "ask"]),
        (&[PUSH, NO_PUSH], "git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "cd x && git push origin main", ["forbid", "forbid"]),
        (&[NO_PUSH], "bash -c 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "timeout 5 git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "/tmp/x/git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "git -C . push", ["forbid", "forbid"]),
        (&[NO_PUSH], "git --no-pager -c a.b=c push", ["forbid", "forbid"]),
        (&[NO_PUSH], "git-push origin", ["forbid", "forbid"]),
        // The command may be the forbidden one.
        (&[NO_PUSH], "git $x", ["ask", "ask"]),
        (&[NO_PUSH], "$x", ["ask", "ask"]),
        (&[NO_PUSH], "git pull", ["ask", "allow"]),
        (&[ASK_GIT, GIT], "git status", ["ask", "ask"]),
        (&[DOCKER], "docker ps", ["allow", "allow"]),
        (&[TOOL], "make", ["allow", "allow"]),
        (&[TOOL], "rm -rf x", ["allow", "allow"]),
        (&[TOOL, NO_PUSH], "git push", ["forbid", "forbid"]),
        (&[TOOL, ASK_GIT], "git status", ["ask", "ask"]),
        (&[TOOL, NO_TOOL], "ls", ["forbid", "forbid"]),
    ] {
        let policies = [ApprovalPolicy::Untrusted, ApprovalPolicy::OnRequest];
        let said =
            policies.map(|approval| says(&ruled(approval, rules).decide("shell_command", &script(line))));
        assert_eq!(said, expected, "{rules:?} {line}");
    }
}

/// A command that may be the subject of an ask- or forbid-rule is asked about.
#[test]
fn a_rule_also_covers_other_spellings_of_a_command() {
    for (rule, lines, expected) in [
        (NO_PUSH, "git --attr-source HEAD push|git -c ALIAS.p=push p|git -c Alias.P=push P", "forbid"),
        (NO_PUSH, "git -c alias.a=b -c alias.b=push a|env -a x git push|alias g=git; g push", "forbid"),
        (
            NO_PUSH,
            "hash -p /usr/bin/git g; g push|mapfile -C 'git push' a|X='git push'; sh -c \"$X\"",
            "forbid",
        ),
        (NO_PUSH, "env -S '\"git\" push'|env --spl='git push'|fd -x git push|parallel git push ::: x", "ask"),
        (NO_PUSH, "parallel git ::: push|tmux new -d 'git push'|poetry run git push|npx git push", "ask"),
        (NO_PUSH, "mise x -- git push|perf stat git push|ltrace git push|gdb --args git push", "ask"),
        (NO_PUSH, "valgrind git push|hyperfine 'git push'|entr git push|uv run git -C . push", "ask"),
        (NO_PUSH, "npm exec -c 'git push'|conda run git push|nix-shell --run 'git push'", "ask"),
        (
            NO_PUSH,
            "rustup run stable git push|dumb-init git push|toybox nice git push|torify git push",
            "ask",
        ),
        (NO_PUSH, "git for-each-repo --config=x push|bash -c \"git $X\"", "ask"),
        (NO_PUSH, "git --no-pager log push|git commit -m push|tmux ls|poetry run pytest push", "allow"),
        (NO_DEPLOY, "make -k deploy|make -j4 deploy|make -j 4 deploy|make -- deploy|make X=1 deploy", "ask"),
        (
            NO_DEPLOY,
            "make all deploy|make -ks deploy|make -j$(nproc) deploy|make -k $x|npx make -k deploy",
            "ask",
        ),
        (NO_DEPLOY, "make -k test|make -j $(nproc) test|make X=deploy|make", "allow"),
        (
            ASK_DEPLOY,
            "npm run -s deploy|npm run-script deploy|npm --silent run deploy|npm -w x rum deploy",
            "ask",
        ),
        (ASK_DEPLOY, "npm run build|npm run build deploy|npm run-script test|npm test", "allow"),
        (ASK_GET, "kubectl -A get x|kubectl --insecure-skip-tls-verify get x", "ask"),
        (NO_WC, "wc f|/bin/wc f|/usr/./bin/wc f|//usr/bin/wc f|/usr/bin/../bin/wc f|env wc f", "ask"),
        (NO_WC, "/usr/bin/wc f", "forbid"),
    ] {
        for line in lines.split('|') {
            let said = ruled(ApprovalPolicy::OnRequest, &[rule]).decide("shell_command", &script(line));
            assert_eq!(says(&said), expected, "{rule} {line}");
        }
    }
}

#[test]
fn a_rule_that_allows_does_not_cover_what_it_cannot_know() {
    for (rule, line, expected) in [
        (MAKE, "make -f /dev/stdin <<< x", "ask"),
        (MAKE, "make -f - <<< x", "ask"),
        (MAKE, "make test", "allow"),
        (SED, "sed --expr=1etouch f", "ask"),
        (SED, "sed -i s/a/b/ f", "allow"),
        (SCRIPT, "cd sub; python3 x.py", "ask"),
        (SCRIPT, "cd sub && python3 x.py", "ask"),
        (SCRIPT, "python3 x.py", "allow"),
        (TEST, "cd sub && cargo test", "allow"),
    ] {
        let said = ruled(ApprovalPolicy::Untrusted, &[rule]).decide("shell_command", &script(line));
        assert_eq!(says(&said), expected, "{rule} {line}");
    }
}

/// A prefix rule, commands that it covers, and commands with a word that it does not cover.
#[test]
fn a_rule_that_allows_does_not_cover_options_that_change_what_runs_or_where_it_writes() {
    for (pattern, covered, beyond) in [
        (
            "make test",
            "make test|make test -j4|make test -k|make test lint|make test --no-print-directory",
            "make test SHELL=./evil|make test -f evil.mk|make test -fevil.mk|make test --file=x|make test --makefile x|make test -C x|\
             make test --eval=x|make test -kf x|make test CC=x|make test V:=1|make test -E x|make test --direct=x|make test -I x",
        ),
        (
            "npm test",
            "npm test|npm test -- --watch|npm test --silent",
            "npm test --script-shell=./evil|npm test --script-shell ./evil|npm test --script-sh=x|npm test --prefix x|\
             npm test --node-options=x|npm test --userconfig x|npm test -C x|npm test -- --config=x",
        ),
        (
            "git log",
            "git log|git log --oneline -5|git log -p|git log --format=%h|git log --stat -- src|git log -S x",
            "git log --output=x|git log --output x|git log --ext-diff|git log --textconv",
        ),
        (
            "git format-patch",
            "git format-patch HEAD~1",
            "git format-patch -o x|git format-patch --output-directory=x",
        ),
        (
            "cargo test",
            "cargo test|cargo test --all -- --nocapture|cargo test -p x --features y|cargo test --release",
            "cargo test --manifest-path x|cargo test --target-dir=x|cargo test --config x",
        ),
        (
            "go test",
            "go test ./...|go test -v -run X ./...|go test -count=1 ./...",
            "go test -exec ./evil|go test -exec=./evil|go test --exec ./evil|go test -toolexec x|go test -o x|go test -ldflags=x|\
             go test -coverprofile=x",
        ),
        (
            "pytest",
            "pytest|pytest -x -q|pytest -k a tests",
            "pytest -p evil|pytest -c x|pytest --rootdir=x|pytest -o a=b|pytest --junitxml=x",
        ),
        (
            "eslint",
            "eslint .|eslint --fix src",
            "eslint -c x .|eslint --config x|eslint --rulesdir x|eslint -o x|eslint --plugin x",
        ),
        ("uv run pytest", "uv run pytest -x", "uv run pytest -p evil|uv run pytest --rootdir x"),
        ("npx eslint", "npx eslint .", "npx eslint -c x"),
        ("npm run build", "npm run build|npm run build -- --watch", "npm run build --script-shell=x"),
        (
            "mvn test",
            "mvn test|mvn test -pl a -am -q",
            "mvn test -Dexec.executable=x|mvn test -f x|mvn test -s x",
        ),
        (
            "gradle test",
            "gradle test|gradle test --info",
            "gradle test -I x|gradle test --init-script x|gradle test -Px=y|gradle test -b x",
        ),
        ("just lint", "just lint|just lint x", "just lint -f x|just lint --shell x|just lint A=b"),
        (
            "pip install",
            "pip install x|pip install -r requirements.txt",
            "pip install --index-url x y|pip install --target x y|pip install --prefix=x y",
        ),
        ("apt-get update", "apt-get update|apt-get update -q", "apt-get update -o x=y"),
        ("terraform plan", "terraform plan", "terraform plan -out=x|terraform plan -chdir=x"),
        ("sort", "sort f|sort -rn f", "sort -o x f|sort --output=x f"),
        // The rule names the option.
        ("make test -f x.mk", "make test -f x.mk|make test -f x.mk -k", "make test -f x.mk SHELL=y"),
        ("git log --output=x", "git log --output=x|git log --output=x -5", "git log --output=y"),
        // The program in the rule defines the meaning of its own options.
        ("python3 x.py", "python3 x.py --output y|python3 x.py --config z", ""),
        ("my-tool", "my-tool --output y", ""),
        ("docker ps", "docker ps -a", ""),
    ] {
        let words: Vec<String> = pattern.split(' ').map(|word| format!("{word:?}")).collect();
        let rule = format!("pattern = [{}]\ndecision = \"allow\"", words.join(", "));
        let said = |line: &str| {
            says(&ruled(ApprovalPolicy::Untrusted, &[&rule]).decide("shell_command", &script(line)))
        };
        for line in covered.split('|').filter(|line| !line.is_empty()) {
            assert_eq!(said(line), "allow", "{pattern}: {line}");
        }
        for line in beyond.split('|').filter(|line| !line.is_empty()) {
            assert_eq!(said(line), "ask", "{pattern}: {line}");
        }
    }
}

/// A command that an unsandboxed rule does not cover stays in the sandbox.
#[test]
fn what_a_rule_does_not_cover_stays_confined() {
    let rule = "pattern = [\"make\", \"test\"]\ndecision = \"allow\"\nunsandboxed = true";
    for (line, leaves) in [("make test", true), ("make test SHELL=./evil", false), ("make test -f x", false)]
    {
        match ruled(ApprovalPolicy::OnRequest, &[rule]).decide("shell_command", &script(line)) {
            Verdict::Allow(permit) => assert_eq!(permit.confinement().is_none(), leaves, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn only_a_rule_that_says_so_lets_a_command_leave() {
    for (rules, line, leaves) in [
        (&[DOCKER][..], "docker ps", true),
        (&[DOCKER], "docker ps -a && echo done", true),
        (&[DOCKER], "docker ps; cat /root/.ssh/id_rsa", false),
        (&[DOCKER], "docker ps; bash evil.sh; bash -c true", false),
        (&[DOCKER], "cd sub && docker ps", false),
        (&[DOCKER], "docker ps < f", false),
        (&[DOCKER], "docker ps && make", false),
        (&[DOCKER], "docker ps > f", false),
        (&[DOCKER], "docker ps $x", false),
        (&[DOCKER], "X=1 docker ps", false),
        (&[DOCKER], "./docker ps", false),
        (&[DOCKER], "docker ps; ls ./x > /etc/y", false),
        (&[TEST], "cargo test", false),
        (&[TOOL], "make", false),
    ] {
        match ruled(ApprovalPolicy::OnRequest, rules).decide("shell_command", &script(line)) {
            Verdict::Allow(permit) => assert_eq!(permit.confinement().is_none(), leaves, "{line}"),
            other => assert!(!leaves, "{line}: {other:?}"),
        }
    }
}

#[test]
fn path_and_host_rules_decide_effects() {
    let rules = &[
        "path = \"/out/open\"\ndecision = \"allow\"",
        "path = \"/out/open/closed\"\ndecision = \"forbid\"",
        "path = \"/w/asked\"\ndecision = \"ask\"",
        "host = \"*.example.org\"\ndecision = \"allow\"",
        "host = \"bad.example.org:443\"\ndecision = \"forbid\"",
    ];
    let gate = ruled(ApprovalPolicy::OnRequest, rules);
    for (effect, expected) in [
        (Effect::Write("/out/open/a".into()), "allow"),
        (Effect::Write("/out/open/closed/a".into()), "forbid"),
        (Effect::Write("/out/other".into()), "ask"),
        (Effect::Write("/w/a".into()), "allow"),
        (Effect::Write("/w/asked/a".into()), "ask"),
        (Effect::Network("a.example.org:443".into()), "allow"),
        (Effect::Network("bad.example.org:443".into()), "forbid"),
        (Effect::Network("bad.example.org:80".into()), "allow"),
        (Effect::Network("example.com:443".into()), "ask"),
    ] {
        assert_eq!(
            says(&gate.decide("tool", &Intent::from_effects(vec![effect.clone()]))),
            expected,
            "{effect:?}"
        );
    }
}
