//! What rules do to commands, tools, paths and hosts.

use std::path::Path;

use toolgate_policy::rules::{Layer, Rules};
use toolgate_policy::{ApprovalPolicy, Effect, Gate, Intent, SandboxPolicy, Verdict};

use super::{gate, says, script};

fn ruled(approval: ApprovalPolicy, rules: &[&str]) -> Gate {
    let text: String = rules.iter().map(|rule| format!("[[rule]]\n{rule}\n")).collect();
    let rules = Rules::parse(&text, Path::new("/rules.toml"), Layer::User).unwrap();
    gate(approval, SandboxPolicy::WorkspaceWrite).ruled_by(rules)
}

const TEST: &str = "pattern = [\"cargo\", [\"test\", \"check\"]]\ndecision = \"allow\"";
const PUSH: &str = "pattern = [\"git\", \"push\"]\ndecision = \"allow\"";
const NO_PUSH: &str = "pattern = [\"git\", \"push\"]\ndecision = \"forbid\"\nreason = \"a person does that\"";
const ASK_GIT: &str = "pattern = [\"git\"]\ndecision = \"ask\"";
const GIT: &str = "pattern = [\"git\"]\ndecision = \"allow\"";
const RM: &str = "pattern = [\"rm\", \"-rf\", \"target\"]\nexact = true\ndecision = \"allow\"";
const DOCKER: &str = "pattern = [\"docker\", \"ps\"]\ndecision = \"allow\"\nunsandboxed = true";
const TOOL: &str = "tool = \"shell_*\"\ndecision = \"allow\"";
const NO_TOOL: &str = "tool = \"shell_command\"\ndecision = \"forbid\"";

#[test]
fn the_strictest_rule_wins_and_covers_no_more_than_it_says() {
    // Rules, a script, and what is said under untrusted and under on-request.
    for (rules, line, expected) in [
        (&[TEST][..], "cargo test --all", ["allow", "allow"]),
        (&[TEST], "cargo check", ["allow", "allow"]),
        (&[TEST], "cargo build", ["ask", "allow"]),
        (&[TEST], "cd src && cargo test | tail -5", ["allow", "allow"]),
        (&[TEST], "cargo test && make", ["ask", "allow"]),
        // What is forbidden is so behind whatever starts it.
        (&[NO_PUSH], "choom -n 0 -- git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "bash <<< 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "fish -c 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "bash -ic 'git push'", ["forbid", "forbid"]),
        (&[NO_PUSH], "/usr/lib/git-core/git-push", ["forbid", "forbid"]),
        (&[NO_PUSH], "git -c alias.p=push p", ["forbid", "forbid"]),
        (&[NO_PUSH], "g=git; $g push", ["forbid", "forbid"]),
        (&[NO_PUSH], "f() { \"$@\"; }; f git push", ["forbid", "forbid"]),
        (&[NO_PUSH], "$g push", ["ask", "ask"]),
        // What is beside, around or inside the command is not the command.
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
        // A danger that the rule does not name is one.
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
        // It may be what is forbidden.
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
fn rules_for_paths_and_hosts() {
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
        assert_eq!(says(&gate.decide("tool", &Intent::of(vec![effect.clone()]))), expected, "{effect:?}");
    }
}
