//! Fuzzes the orchestrator with random policies, rules and answers: no attempt leaves the sandbox unapproved.
//!
//! No attempt leaves the sandbox without permission or gets more than it was granted. Every call has one answer, and
//! every call ends.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use policy::rules::{RuleLayer, RuleSet};
use policy::{
    ApprovalPolicy, ApprovalQuestion, Confinement, Denial, DenyRead, Effect, Escalation, ExecEffect,
    ForeignToolCall, Gate, Grant, Grants, Intent, MAX_WIDENINGS, MachineLookup, NetworkPolicy, Permit,
    ProgramInput, ReadRoot, ReadScope, ResolvedProgram, ReviewDecision, SandboxPolicy, ToolTrust,
};
use tokio_util::sync::CancellationToken;
use tool::{
    AnyTool, CallAttempt, CallId, Cx, FunctionSpec, JsonSchema, Lane, StrictMode, ToolCall, ToolError,
    ToolErrorKind, ToolOutput, ToolSpec, WorkingDir,
};
use toolgate_engine::{Approver, ToolRegistry, ToolRouter};

/// The default number of calls. `TOOLGATE_FUZZ_ROUNDS=1000000` makes a million.
const ROUNDS: u64 = 20_000;
/// The number of calls through one gate, which remembers decisions.
const PER_GATE: u64 = 20;

/// A deterministic pseudo-random generator (xorshift).
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const SCRIPTS: &[&str] = &[
    "ls", "make", "rm -rf x", "docker ps", "git push", "ls && make", "docker ps; rm -rf x", "docker ps; ls",
    "$x", "ls )", "docker $x", "sudo docker ps", "X=1 docker ps", "docker ps > f", "git $x", "eval ls",
    "curl x | sh",
];

/// Rules, each of which may be in force.
const RULES: &[&str] = &[
    "pattern = [\"docker\", \"ps\"]\ndecision = \"allow\"\nunsandboxed = true",
    "pattern = [\"docker\"]\ndecision = \"allow\"",
    "pattern = [\"git\", \"push\"]\ndecision = \"ask\"",
    "pattern = [\"git\", \"push\"]\ndecision = \"forbid\"",
    "pattern = [\"make\"]\ndecision = \"allow\"",
    "pattern = [\"rm\", \"-rf\"]\ndecision = \"allow\"",
    "path = \"/out/closed\"\ndecision = \"forbid\"",
    "host = \"closed.example\"\ndecision = \"forbid\"",
    "tool = \"act\"\ndecision = \"ask\"",
    "tool = \"act\"\ndecision = \"allow\"",
];

struct StandardMachine;

impl MachineLookup for StandardMachine {
    fn resolve_program(&self, name: &str, _: &Path, _: bool) -> Option<ResolvedProgram> {
        Some(ResolvedProgram { path: Path::new("/usr/bin").join(name), trusted: !name.contains('/') })
    }

    fn nearest_existing(&self, path: &Path) -> std::path::PathBuf {
        path.to_owned()
    }

    fn may_write(&self, path: &Path) -> bool {
        !path.starts_with("/usr")
    }
}

fn effect(random: &mut SeededRandom) -> Effect {
    let script = random.one(SCRIPTS);
    let argv = match random.chance(50) {
        true => vec!["/bin/bash".to_owned(), "-lc".to_owned(), script.to_owned()],
        false => script.split(' ').map(str::to_owned).collect(),
    };
    match random.below(10) {
        0 => Effect::Read(random.one(&["/w/a", "/etc/a"]).into()),
        1 => Effect::Write(random.one(&["/w/a", "/out/a", "/out/closed/a", "/proc/a"]).into()),
        2 => Effect::Network(random.one(&["a.example:443", "closed.example:443", "no host"]).into()),
        3 => Effect::SendInput(ProgramInput {
            command_line: "sh".into(),
            text: "x".into(),
            confined: random.chance(50),
        }),
        4 => Effect::Foreign(ForeignToolCall {
            server: "s".into(),
            tool: "t".into(),
            definition: random.one(&["1", "2"]).into(),
            trust: random.one(&[
                ToolTrust::Unknown,
                ToolTrust::ReadOnly,
                ToolTrust::Trusted,
                ToolTrust::Changed,
            ]),
        }),
        _ => {
            let mut exec = ExecEffect::new(argv, "/w");
            exec.terminal = random.chance(20);
            Effect::Exec(exec)
        }
    }
}

fn intent(random: &mut SeededRandom) -> Intent {
    let effects = (0..random.one(&[0, 1, 1, 1, 1, 2, 3])).map(|_| effect(random)).collect();
    let escalation = if random.chance(25) { Escalation::Required } else { Escalation::None };
    Intent::from_effects(effects).with_escalation(escalation, Some("because".to_owned()))
}

fn denial(random: &mut SeededRandom) -> Denial {
    let path = random.one(&["/out/a", "/out/b", "/out/closed/a", "/etc", "/", "/w", "/usr/x", "/proc/x"]);
    match random.below(4) {
        0 => Denial::MayNotReach { name: "/run/x.sock".into() },
        1 => {
            let target = random.one(&["a.example:443", "closed.example:443", "192.0.2.1:80", "no host"]);
            Denial::MayNotConnect { target: target.into(), network: NetworkPolicy::Loopback }
        }
        2 => Denial::DenyRead { path: "/w/.env".into(), rule: "**/.env".into() },
        _ => Denial::MayNotWrite { path: path.into(), roots: vec!["/w".into()] },
    }
}

fn outcome(random: &mut SeededRandom) -> Result<ToolOutput, ToolError> {
    if random.chance(5) {
        return Err(ToolError::Blocked(denial(random)));
    }
    if random.chance(5) {
        return Err(ToolError::io("no luck"));
    }
    let mut output = if random.chance(40) { ToolOutput::text("done") } else { ToolOutput::failure("no") };
    output.facts.denials = (0..random.below(3)).map(|_| denial(random)).collect();
    output.facts.suspected_denial = random.chance(30).then(|| denial(random));
    Ok(output)
}

fn decision(random: &mut SeededRandom) -> ReviewDecision {
    match random.below(10) {
        0..=3 => ReviewDecision::Approved,
        4 | 5 => ReviewDecision::ApprovedForSession,
        6 | 7 => ReviewDecision::Denied { note: None },
        8 => ReviewDecision::Abort,
        _ => ReviewDecision::Denied { note: Some("no".to_owned()) },
    }
}

/// The attempts and questions of one call.
#[derive(Default)]
struct CallRecord {
    /// For each attempt: true if it was confined, and its grants.
    attempts: Vec<(bool, Grants)>,
    /// For each question: the requested grants and the decision.
    asked: Vec<(Grants, ReviewDecision)>,
}

struct FuzzWorld {
    random: Mutex<SeededRandom>,
    intent: Mutex<Intent>,
    seen: Mutex<CallRecord>,
    spec: ToolSpec,
}

struct FuzzTool(Arc<FuzzWorld>);

impl AnyTool for FuzzTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn lane(&self) -> Lane {
        Lane::Exclusive
    }

    fn plan(&self, _: &ToolCall, _: &WorkingDir) -> Result<Box<dyn CallAttempt>, ToolError> {
        let intent = self.0.intent.lock().clone();
        Ok(Box::new(FuzzAttempt { world: Arc::clone(&self.0), intent }))
    }
}

struct FuzzAttempt {
    world: Arc<FuzzWorld>,
    intent: Intent,
}

impl CallAttempt for FuzzAttempt {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn run<'a>(&'a self, permit: &'a Permit, _: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let attempt = (permit.confinement().is_some(), permit.grants().clone());
        self.world.seen.lock().attempts.push(attempt);
        let outcome = outcome(&mut self.world.random.lock());
        Box::pin(std::future::ready(outcome))
    }
}

struct RandomApprover(Arc<FuzzWorld>);

impl Approver for RandomApprover {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        assert!(!question.reasons.is_empty());
        let decision = decision(&mut self.0.random.lock());
        self.0.seen.lock().asked.push((question.grants.clone(), decision.clone()));
        Box::pin(std::future::ready(decision))
    }
}

/// One gate, and the grants that it holds for the session so far.
struct FuzzSession {
    router: ToolRouter,
    sandbox: SandboxPolicy,
    approval: ApprovalPolicy,
    has_approver: bool,
    rules: Vec<&'static str>,
    given: HashMap<String, Grants>,
}

impl FuzzSession {
    fn new(world: &Arc<FuzzWorld>) -> Self {
        let mut random = world.random.lock();
        let sandbox = random.one(&[
            SandboxPolicy::ReadOnly,
            SandboxPolicy::WorkspaceWrite,
            SandboxPolicy::WorkspaceWrite,
            SandboxPolicy::External,
            SandboxPolicy::FullAccess,
        ]);
        let approval = random.one(&ApprovalPolicy::ALL);
        let rules: Vec<&str> = RULES.iter().copied().filter(|_| random.chance(25)).collect();
        let text: String = rules.iter().map(|rule| format!("[[rule]]\n{rule}\n")).collect();
        let confinement =
            Confinement { writable: vec!["/w".into()], home: Some("/w".into()), ..Confinement::default() };
        let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
        let gate = Gate::new(reach, sandbox)
            .with_confinement(confinement)
            .with_approval(approval)
            .with_rules(RuleSet::parse(&text, Path::new("/rules.toml"), RuleLayer::User).unwrap())
            .with_machine(Arc::new(StandardMachine));
        let registry = ToolRegistry::builder().erased(Arc::new(FuzzTool(Arc::clone(world)))).build().unwrap();
        let mut router = ToolRouter::new(registry, gate, WorkingDir { cwd: "/w".into() });
        let has_approver = random.chance(90);
        if has_approver {
            router = router.with_approver(Arc::new(RandomApprover(Arc::clone(world))));
        }
        Self { router, sandbox, approval, has_approver, rules, given: HashMap::new() }
    }

    /// Returns true if a rule lets a command of `intent` leave the sandbox.
    fn leaves_by_rule(&self, intent: &Intent) -> bool {
        let docker = intent.effects.iter().any(|effect| {
            matches!(effect, Effect::Exec(line) if line.line().argv().iter().any(|word| word.contains("docker")))
        });
        docker && self.rules.iter().any(|rule| rule.contains("unsandboxed"))
    }

    fn check(&mut self, intent: &Intent, seen: &CallRecord, error: Option<ToolErrorKind>) {
        // A grant for the session belongs to the command, file or host that it was given for.
        let takes =
            |effect: &&Effect| matches!(effect, Effect::Exec(_) | Effect::Write(_) | Effect::Network(_));
        let keys: Vec<String> =
            intent.effects.iter().filter(takes).map(|effect| format!("{effect:?}")).collect();
        let mut given: Grants =
            keys.iter().filter_map(|key| self.given.get(key)).flatten().cloned().collect();
        if self.leaves_by_rule(intent) {
            given.insert(Grant::Unconfined);
        }
        for (grants, decision) in &seen.asked {
            if matches!(decision, ReviewDecision::Approved | ReviewDecision::ApprovedForSession) {
                given.extend(grants.iter().cloned());
            }
            if *decision == ReviewDecision::ApprovedForSession {
                for key in &keys {
                    self.given.entry(key.clone()).or_default().extend(grants.iter().cloned());
                }
            }
        }
        for (confined, grants) in &seen.attempts {
            assert!(grants.is_subset(&given), "{intent:?} had {grants:?}, and was given {given:?}");
            let leaves = grants.contains(&Grant::Unconfined);
            assert_eq!(*confined, self.sandbox.confines() && !leaves, "{intent:?}");
        }
        let no = |decision: &ReviewDecision| {
            matches!(decision, ReviewDecision::Denied { .. } | ReviewDecision::Abort)
        };
        let noes = seen.asked.iter().filter(|(_, decision)| no(decision)).count();
        assert!(noes <= 1 && (noes == 0 || no(&seen.asked.last().unwrap().1)), "it asked on after a no");
        assert!(seen.attempts.len() <= 1 + MAX_WIDENINGS && seen.asked.len() <= 1 + MAX_WIDENINGS);
        assert!(seen.asked.is_empty() || (self.has_approver && self.approval != ApprovalPolicy::Never));
        let forbidden = matches!(error, Some(ToolErrorKind::Forbidden | ToolErrorKind::Denied));
        assert!(!forbidden || seen.attempts.is_empty(), "{error:?} after it ran");
        assert!(error.is_some() || !seen.attempts.is_empty(), "an answer without an attempt");
    }
}

#[test]
fn nothing_leaves_the_sandbox_without_approval() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let rounds = number("TOOLGATE_FUZZ_ROUNDS").unwrap_or(ROUNDS);
    let seed = number("TOOLGATE_FUZZ_SEED").unwrap_or(0x9e37_79b9_7f4a_7c15);
    let schema = JsonSchema::from_foreign(&serde_json::json!({}), 1000).unwrap();
    let spec = FunctionSpec {
        name: "act".into(),
        description: "Acts.".into(),
        parameters: schema,
        strict: StrictMode::No,
    };
    let world = Arc::new(FuzzWorld {
        random: Mutex::new(SeededRandom(seed)),
        intent: Mutex::default(),
        seen: Mutex::default(),
        spec: ToolSpec::Function(Box::new(spec)),
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut unconfined, mut climbed, mut asked) = (0_u64, 0_u64, 0_u64);
    runtime.block_on(async {
        let mut session = FuzzSession::new(&world);
        for round in 0..rounds {
            if round % PER_GATE == 0 {
                session = FuzzSession::new(&world);
            }
            let intent = intent(&mut world.random.lock());
            *world.intent.lock() = intent.clone();
            let call = ToolCall::function("1", "act", "{}");
            let answer = session.router.dispatch(call, CancellationToken::new()).await;
            let seen = std::mem::take(&mut *world.seen.lock());
            session.check(&intent, &seen, answer.facts.error);
            assert!(!answer.joined_text().is_empty());
            unconfined +=
                u64::from(seen.attempts.iter().any(|(_, grants)| grants.contains(&Grant::Unconfined)));
            climbed += u64::from(seen.attempts.len() > 1);
            asked += u64::from(!seen.asked.is_empty());
        }
    });
    // A test in which nothing happens proves nothing.
    assert!(unconfined > rounds / 200 && climbed > rounds / 200 && asked > rounds / 10);
}
