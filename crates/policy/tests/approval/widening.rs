//! Tests the questions after a denial, and the proposed rules.

use toolgate_policy::{
    ApprovalPolicy, ApprovalQuestion, Confinement, Denial, Effect, Escalation, Gate, Grant, Grants, Intent,
    MAX_WIDENINGS, NetworkPolicy, Permit, ProgramInput, ReviewDecision, ReviewOutcome, SandboxPolicy,
    Verdict,
};

use super::{gate, script};

fn permit(gate: &Gate, intent: &Intent) -> Permit {
    match gate.decide("shell_command", intent) {
        Verdict::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn may_not_write(path: &str) -> Denial {
    Denial::MayNotWrite { path: path.into(), roots: vec!["/w".into()] }
}

fn may_not_connect(target: &str) -> Denial {
    Denial::MayNotConnect { target: target.into(), network: NetworkPolicy::Loopback }
}

/// A removed file needs the right to change its directory, which one question asks for.
#[test]
fn a_removal_offers_the_directory() {
    let gate =
        gate(ApprovalPolicy::OnRequest, SandboxPolicy::ReadOnly).with_confinement(Confinement::default());
    for (line, refused, expected) in [
        ("rm sub/a", "/w/sub/a", "change `/w/sub`"),
        ("mv sub/a sub/b", "/w/sub/a", "change `/w/sub`"),
        // The refusal is about a file in the renamed directory.
        ("mv sub/d sub/e", "/w/sub/d/deep/x", "change `/w/sub`"),
        ("rm sub/a", "/w/other/x", "change `/w/other/x`"),
        ("touch sub/a", "/w/sub/a", "change `/w/sub/a`"),
    ] {
        let intent = script(line);
        let permit = permit(&gate, &intent);
        let offered = asked(gate.widen("t", &intent, &permit, &[], Some(&may_not_write(refused))));
        assert_eq!(offered, expected, "{line}");
    }
    for (line, expected) in [("rm -rf sub/d", "change `/w/sub`"), ("rm -rf sub/d/.git/hooks/x", "")] {
        let Verdict::Ask(question) = gate.decide("shell_command", &script(line)) else { panic!("{line}") };
        assert_eq!(asked(Some(question)), expected, "{line}");
    }
}

/// Formats the offered grants; empty if no question is asked.
fn asked(question: Option<Box<ApprovalQuestion>>) -> String {
    let grants = question.map(|question| question.grants).unwrap_or_default();
    grants.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn widening_offers_the_smallest_grant() {
    let gate = gate(ApprovalPolicy::OnRequest, SandboxPolicy::WorkspaceWrite);
    let intent = script("make");
    let permit = permit(&gate, &intent);
    let told = |denial: Denial| asked(gate.widen("t", &intent, &permit, &[denial], None));
    let guessed = |denial: Denial| asked(gate.widen("t", &intent, &permit, &[], Some(&denial)));
    for (denial, by_kernel, by_output) in [
        (may_not_write("/out/a"), "change `/out/a`", "change `/out/a`"),
        (may_not_write("/etc/hosts"), "change `/etc/hosts`", "change `/etc/hosts`"),
        // Too broad for a grant: only leaving the sandbox helps, and program output alone must not suggest that.
        (may_not_write("/"), "run without the sandbox", ""),
        (may_not_write("/etc"), "run without the sandbox", ""),
        (may_not_write("/home/me"), "run without the sandbox", ""),
        (may_not_write("/proc/sys/x"), "run without the sandbox", ""),
        // Without the sandbox the user could not write this either.
        (may_not_write("/usr/bin/x"), "", ""),
        (may_not_connect("a.example:443"), "connect to `a.example:443`", "connect to `a.example:443`"),
        (may_not_connect("not a host"), "", ""),
        (
            Denial::MayNotReach { name: "@x".into() },
            "connect to the socket `@x`",
            "connect to the socket `@x`",
        ),
        (Denial::DenyRead { path: "/w/.env".into(), rule: "**/.env".into() }, "", ""),
    ] {
        assert_eq!(told(denial.clone()), by_kernel, "{denial}");
        assert_eq!(guessed(denial.clone()), by_output, "{denial}");
    }
}

#[test]
fn each_round_gives_something_new_and_there_are_few() {
    let gate = gate(ApprovalPolicy::OnRequest, SandboxPolicy::WorkspaceWrite);
    let intent = script("make");
    let mut permit = permit(&gate, &intent);
    for round in 0..MAX_WIDENINGS {
        let denial = may_not_write(&format!("/out/{round}"));
        let question = gate.widen("t", &intent, &permit, std::slice::from_ref(&denial), None).unwrap();
        assert!(question.is_retry && question.grants.len() == round + 1);
        let ReviewOutcome::Allow(wider) = gate.settle(*question, &ReviewDecision::Approved) else {
            panic!("it was approved")
        };
        // A repeated denial is no reason to ask again.
        assert!(gate.widen("t", &intent, &wider, &[denial], None).is_none());
        permit = wider;
    }
    assert!(gate.widen("t", &intent, &permit, &[may_not_write("/out/more")], None).is_none());
}

#[test]
fn approval_policy_decides_who_is_asked_after_a_denial() {
    let denials = [may_not_write("/out/a")];
    for (approval, expected) in [
        (ApprovalPolicy::Untrusted, true),
        (ApprovalPolicy::OnFailure, true),
        (ApprovalPolicy::OnRequest, true),
        (ApprovalPolicy::Never, false),
    ] {
        let gate = gate(approval, SandboxPolicy::WorkspaceWrite);
        let intent = script("ls");
        let permit = permit(&gate, &intent);
        assert_eq!(gate.widen("t", &intent, &permit, &denials, None).is_some(), expected, "{approval}");
    }
    // An unconfined command needs no grants.
    let gate = gate(ApprovalPolicy::OnRequest, SandboxPolicy::FullAccess);
    let intent = script("ls");
    assert!(gate.widen("t", &intent, &permit(&gate, &intent), &denials, None).is_none());
}

/// A poll of an ended program has nothing to run again, and input cannot be typed twice.
#[test]
fn a_call_that_cannot_run_again_is_not_widened() {
    let gate = gate(ApprovalPolicy::OnRequest, SandboxPolicy::WorkspaceWrite);
    let input = ProgramInput { command_line: "python3".to_owned(), text: "1\n".to_owned(), confined: true };
    for intent in [Intent::nothing(), Intent::from_effects(vec![Effect::SendInput(input)])] {
        for intent in [intent.clone(), intent.with_escalation(Escalation::Required, None)] {
            let allowed = permit(&gate, &script("make"));
            assert!(
                gate.widen("t", &intent, &allowed, &[may_not_connect("a.org")], None).is_none(),
                "{intent:?}"
            );
        }
    }
}

#[test]
fn a_plea_is_heard_when_it_failed_inside() {
    let gate = gate(ApprovalPolicy::OnFailure, SandboxPolicy::WorkspaceWrite);
    let intent = script("make").with_escalation(Escalation::Required, Some("why".to_owned()));
    let permit = permit(&gate, &intent);
    assert!(permit.confinement().is_some());
    let asked = gate.widen("t", &intent, &permit, &[], None).unwrap();
    assert_eq!(asked.grants, Grants::from([Grant::Unconfined]));
    assert!(asked.confinement.is_none());
}

#[test]
fn proposed_rules_are_narrow() {
    for (line, rule) in [
        ("cargo test --all", Some("[\"cargo\", \"test\"]")),
        ("npm run build -- --prod", Some("[\"npm\", \"run\", \"build\"]")),
        ("cd src && make test", Some("[\"make\", \"test\"]")),
        ("git push origin main", Some("[\"git\", \"push\"]")),
        ("tree-sitter generate | head", Some("[\"tree-sitter\", \"generate\"]")),
        // No rule for interpreters, for several commands, or for unknown words.
        ("python3 x.py", None),
        ("bash x.sh", None),
        ("git -C x status", None),
        ("make a && make b", None),
        ("cargo test > log", None),
        ("cargo $x", None),
        ("FOO=1 cargo test", None),
        ("./run.sh", None),
        ("rm -rf x", None),
        ("env cargo test", Some("[\"cargo\", \"test\"]")),
        ("java -jar x", None),
        ("javac X.java", None),
        ("groff x", None),
        ("convert a b", None),
        ("openssl version -a", None),
        ("make test", Some("[\"make\", \"test\"]")),
        // The rule would not cover the command itself.
        ("make test -f x.mk", None),
        ("git log --output=x", None),
        // For an unknown program, every word.
        ("frobnicate -x y", Some("[\"frobnicate\", \"-x\", \"y\"]")),
    ] {
        let gate = gate(ApprovalPolicy::Untrusted, SandboxPolicy::WorkspaceWrite);
        let Verdict::Ask(question) = gate.decide("shell_command", &script(line)) else {
            panic!("{line} is asked about")
        };
        let expected = rule.map(|pattern| format!("pattern = {pattern}"));
        let saved = question.proposal.map(|proposal| proposal.rule.to_string());
        let saved = saved.and_then(|text| text.lines().nth(1).map(str::to_owned));
        assert_eq!(saved, expected, "{line}");
    }
    // The model's proposal counts if it is a prefix of this command and at least as specific as the default.
    for (line, proposed, rule) in [
        ("cargo test --all", &["cargo", "test", "--all"][..], "[\"cargo\", \"test\", \"--all\"]"),
        ("cargo test --all", &["cargo"], "[\"cargo\", \"test\"]"),
        ("cargo test --all", &["cargo", "build"], "[\"cargo\", \"test\"]"),
        ("cargo test", &["cargo", "test", "--all"], "[\"cargo\", \"test\"]"),
    ] {
        let gate = gate(ApprovalPolicy::Untrusted, SandboxPolicy::WorkspaceWrite);
        let proposed: Vec<String> = proposed.iter().map(|&word| word.to_owned()).collect();
        let intent = script(line).with_prefix_rule(Some(proposed.clone()));
        let Verdict::Ask(question) = gate.decide("shell_command", &intent) else {
            panic!("{line} is asked about, whatever a model proposes")
        };
        let proposal = question.proposal.unwrap();
        assert!(proposal.rule.to_string().contains(&format!("pattern = {rule}\n")), "{line} {proposed:?}");
        assert_eq!(proposal.chosen_by_model, proposed.len() == 3 && line.ends_with("--all"));
    }
    for (line, proposed) in [("python3 x.py", "python3"), ("rm -rf x", "rm"), ("make a && make b", "make")] {
        let gate = gate(ApprovalPolicy::Untrusted, SandboxPolicy::WorkspaceWrite);
        let intent = script(line).with_prefix_rule(Some(vec![proposed.to_owned()]));
        let Verdict::Ask(question) = gate.decide("shell_command", &intent) else {
            panic!("{line} is asked about")
        };
        assert_eq!(question.proposal, None, "{line}");
    }
    // Paths and hosts are saved as such.
    let gate = gate(ApprovalPolicy::OnRequest, SandboxPolicy::WorkspaceWrite);
    let intent = script("make");
    let permit = permit(&gate, &intent);
    let rule = |denial| {
        let question = gate.widen("t", &intent, &permit, &[denial], None).unwrap();
        question.proposal.unwrap().rule.to_string()
    };
    assert_eq!(rule(may_not_write("/out/a")), "[[rule]]\npath = \"/out/a\"\ndecision = \"allow\"\n");
    assert_eq!(
        rule(may_not_connect("a.example:443")),
        "[[rule]]\nhost = \"a.example:443\"\ndecision = \"allow\"\n"
    );
}

#[test]
fn a_yes_for_the_session_is_for_that_program() {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use toolgate_policy::{MachineLookup, ResolvedProgram};

    /// A machine on which `tool` becomes another program later.
    struct ChangingMachine(AtomicBool);
    impl MachineLookup for ChangingMachine {
        fn resolve_program(&self, name: &str, _: &std::path::Path, _: bool) -> Option<ResolvedProgram> {
            let place = if self.0.load(Ordering::Relaxed) { "/w/bin" } else { "/usr/bin" };
            Some(ResolvedProgram { path: PathBuf::from(place).join(name), trusted: true })
        }

        fn nearest_existing(&self, path: &std::path::Path) -> PathBuf {
            path.to_owned()
        }

        fn may_write(&self, _: &std::path::Path) -> bool {
            true
        }
    }
    let machine = std::sync::Arc::new(ChangingMachine(AtomicBool::new(false)));
    let gate = gate(ApprovalPolicy::OnRequest, SandboxPolicy::WorkspaceWrite).with_machine(machine.clone());
    let (danger, plain) = (script("sudo ls"), script("make"));
    let Verdict::Ask(question) = gate.decide("t", &danger) else { panic!("it is asked about") };
    gate.settle(*question, &ReviewDecision::ApprovedForSession);
    let first = permit(&gate, &plain);
    let question = gate.widen("t", &plain, &first, &[may_not_write("/out/a")], None).unwrap();
    gate.settle(*question, &ReviewDecision::ApprovedForSession);
    let given = |intent: &Intent| match gate.decide("t", intent) {
        Verdict::Allow(permit) => Some(permit.grants().len()),
        _ => None,
    };
    assert_eq!((given(&danger), given(&plain)), (Some(0), Some(1)));
    machine.0.store(true, Ordering::Relaxed);
    assert_eq!((given(&danger), given(&plain)), (None, Some(0)));
}
