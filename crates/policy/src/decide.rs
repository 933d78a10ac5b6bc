//! The gate: turns intents into verdicts, applies answers to questions, and offers grants after denials.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

use crate::effect_summary::removed_paths;
use crate::evaluate::IntentEvaluation;
use crate::host_files::host_file_on;
use crate::machine_lookup::UnknownMachine;
use crate::rule_lookup::{forbids_host, forbids_writing, rules_for_path};
use crate::rules::{PathAccess, RuleDecision, RuleSet};
use crate::{
    ApprovalCase, ApprovalPolicy, ApprovalQuestion, ApprovalReason, ApprovalRequirement, ApprovalStore,
    CommandAnalysis, Confinement, Denial, Effect, Escalation, Grant, Grants, HostFile, HostFileRole,
    HostPattern, Intent, MachineLookup, NotAskedReason, Permit, ReadScope, ReviewDecision, SandboxPolicy,
    approval_requirement,
};

/// Maximum number of times that one call may ask for more after a denial.
pub const MAX_WIDENINGS: usize = 3;

/// The decision of the policy about an intent.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The call may run with this permit.
    Allow(Permit),
    /// A person must approve the call first.
    Ask(Box<ApprovalQuestion>),
    /// The call is denied without a question.
    Forbid(Denial),
}

/// The outcome of a question.
#[derive(Debug, Clone)]
pub enum ReviewOutcome {
    /// The call may run with this permit.
    Allow(Permit),
    /// A person denied the call.
    Denied {
        /// A message for the model.
        note: Option<String>,
    },
    /// No person answered.
    Unanswered {
        /// The reason, for the model.
        why: String,
    },
    /// A person denied the call and stopped all running work.
    Stop,
}

/// Decides about intents. Only a gate creates permits.
#[derive(Clone)]
pub struct Gate {
    pub(crate) read_scope: Arc<ReadScope>,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) confinement: Arc<Confinement>,
    pub(crate) approval: ApprovalPolicy,
    pub(crate) machine: Arc<dyn MachineLookup>,
    rules: Arc<RwLock<Arc<RuleSet>>>,
    approvals: Arc<ApprovalStore>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read_scope, sandbox, confinement, approval, .. } = self;
        write!(f, "Gate({sandbox:?}, {approval}, {read_scope:?}, {confinement:?})")
    }
}

impl Gate {
    /// Creates a gate that lets calls read within `read_scope` and otherwise do what `sandbox` allows.
    pub fn new(read_scope: ReadScope, sandbox: SandboxPolicy) -> Self {
        Self {
            read_scope: Arc::new(read_scope),
            sandbox,
            confinement: Arc::default(),
            approval: ApprovalPolicy::default(),
            machine: Arc::new(UnknownMachine),
            rules: Arc::default(),
            approvals: Arc::default(),
        }
    }

    /// Sets the confinement of commands; it applies if the sandbox policy confines commands.
    #[must_use]
    pub fn with_confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = Arc::new(confinement);
        self
    }

    /// Sets the approval policy.
    #[must_use]
    pub fn with_approval(mut self, approval: ApprovalPolicy) -> Self {
        self.approval = approval;
        self
    }

    /// Replaces the rules.
    #[must_use]
    pub fn with_rules(mut self, rules: RuleSet) -> Self {
        self.rules = Arc::new(RwLock::new(Arc::new(rules)));
        self
    }

    /// Sets the machine that lookups are made on.
    #[must_use]
    pub fn with_machine(mut self, machine: Arc<dyn MachineLookup>) -> Self {
        self.machine = machine;
        self
    }

    /// Returns the readable part of the file system.
    pub fn read_scope(&self) -> &ReadScope {
        &self.read_scope
    }

    /// Creates a gate that lets calls read within `read_scope` and write nothing.
    pub fn read_only(read_scope: ReadScope) -> Self {
        Self::new(read_scope, SandboxPolicy::ReadOnly)
    }

    /// Creates a gate for a sub-agent, which asks no less and is confined no less. It starts with the approvals of this
    /// gate; its own approvals do not flow back.
    #[must_use]
    pub fn for_subagent(&self, sandbox: SandboxPolicy, approval: ApprovalPolicy) -> Self {
        let sandbox = self.sandbox.narrower(sandbox);
        let inherited = Self {
            sandbox,
            approval: self.approval.for_subagent(approval),
            approvals: Arc::new(self.approvals.copy_for_subagent()),
            ..self.clone()
        };
        if sandbox != SandboxPolicy::ReadOnly || self.sandbox == sandbox {
            return inherited;
        }
        // The wider policy's writable roots must not carry over, nor the rules that let commands leave its sandbox.
        let confinement = Confinement { writable: Vec::new(), ..Confinement::clone(&self.confinement) };
        inherited
            .with_confinement(confinement)
            .with_rules(RuleSet::clone(&self.rules()).without_sandbox_exits())
    }

    /// Creates a gate with the same bounds but without rules and approvals, for commands that this program starts
    /// itself.
    #[must_use]
    pub fn for_internal_commands(&self) -> Self {
        Self { approvals: Arc::default(), ..self.clone() }
            .with_approval(ApprovalPolicy::OnRequest)
            .with_rules(RuleSet::default())
    }

    /// Returns the approval policy.
    pub fn approval(&self) -> ApprovalPolicy {
        self.approval
    }

    /// Returns the roots that confined commands may write.
    pub fn writable(&self) -> &[PathBuf] {
        &self.confinement.writable
    }

    /// Returns the sandbox policy.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.sandbox
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> Arc<RuleSet> {
        Arc::clone(&self.rules.read())
    }

    /// Adds `rules` to the rules in force.
    pub fn add_rules(&self, rules: RuleSet) {
        let mut ours = self.rules.write();
        *ours = Arc::new(RuleSet::clone(&ours).merge(rules));
    }

    /// Decides about `intent` of `tool`.
    ///
    /// ```
    /// use toolgate_policy::{DenyRead, Gate, Intent, ReadScope, ReadRoot, Verdict};
    /// let deny = DenyRead::new(["**/.env"], None).unwrap();
    /// let gate = Gate::read_only(ReadScope::new(vec![ReadRoot::new("/work")], deny));
    /// let reading = |path| gate.decide("read_file", &Intent::read(path));
    /// assert!(matches!(reading("/work/src/main.rs"), Verdict::Allow(_)));
    /// assert!(matches!(reading("/work/.env"), Verdict::Forbid(_)));
    /// assert!(matches!(reading("/etc/passwd"), Verdict::Forbid(_)));
    /// ```
    pub fn decide(&self, tool: &str, intent: &Intent) -> Verdict {
        self.decide_with_hook(tool, intent, None)
    }

    /// Returns true if any approval for the session is stored.
    pub(crate) fn has_approvals(&self) -> bool {
        !self.approvals.is_empty()
    }

    /// Decides like [`decide`](Self::decide); `hook` is the reason of a hook that asks for approval.
    pub fn decide_with_hook(&self, tool: &str, intent: &Intent, hook: Option<ApprovalReason>) -> Verdict {
        let mut evaluation = IntentEvaluation::evaluate(self, tool, intent, false);
        if let Some(why) = hook {
            evaluation.apply_requirement(approval_requirement(self.approval, ApprovalCase::MustAsk), why);
        }
        self.verdict_from(tool, intent, evaluation)
    }

    /// Decides about a command that the caller chose. Nothing is asked, and nothing beyond the policy is granted.
    pub fn permit_chosen(&self, tool: &str, intent: &Intent) -> Result<Permit, Denial> {
        match self.decide(tool, intent) {
            Verdict::Allow(permit) => Ok(permit),
            Verdict::Forbid(denial) => Err(denial),
            // The grants of the question are those that a person would see and give.
            Verdict::Ask(question) => Ok(self.create_permit(&question.intent, Grants::new(), 0)),
        }
    }

    /// Decides like [`decide`](Self::decide), and returns the analysis of the intent's command, with its programs
    /// resolved.
    pub fn explain(&self, tool: &str, intent: &Intent) -> (Verdict, Option<CommandAnalysis>) {
        let evaluation = IntentEvaluation::evaluate(self, tool, intent, false);
        let mut analysis = evaluation.analysis.clone();
        if let (Some(exec), Some(analysis)) = (intent.command(), &mut analysis)
            && !analysis.programs_resolved()
        {
            analysis.resolve_programs(&*self.machine, exec.cwd());
        }
        (self.verdict_from(tool, intent, evaluation), analysis)
    }

    fn verdict_from(&self, tool: &str, intent: &Intent, evaluation: IntentEvaluation) -> Verdict {
        if let Some(denial) = evaluation.forbidden {
            return Verdict::Forbid(denial);
        }
        let IntentEvaluation { reasons, mut grants, analysis, keys, proposal, hook_asks, .. } = evaluation;
        // A hook asks each time, whatever was approved before.
        let approved = !hook_asks && self.approvals.covers(&keys, &grants);
        if reasons.is_empty() || approved {
            grants.extend(self.approvals.grants_with(&keys));
            let permit = self.create_permit(intent, grants, 0);
            return Verdict::Allow(permit.with_earlier_yes(!reasons.is_empty()));
        }
        let permit = self.create_permit(intent, grants.clone(), 0);
        Verdict::Ask(Box::new(ApprovalQuestion {
            tool: tool.to_owned(),
            intent: intent.clone(),
            analysis,
            reasons,
            confinement: permit.confinement().cloned(),
            grants,
            agent_path: Vec::new(),
            is_retry: false,
            proposal,
            keys,
            permit,
        }))
    }

    /// Returns the permit of a waiting `question` if a session approval given meanwhile covers it.
    pub fn approved_while_waiting(&self, question: &ApprovalQuestion) -> Option<Permit> {
        let hook_asks = question.reasons.iter().any(|why| matches!(why, ApprovalReason::Hook { .. }));
        (!hook_asks && self.approvals.covers(&question.keys, &question.grants))
            .then(|| question.permit.clone())
    }

    /// Applies the answer to a question, and stores an approval for the session.
    pub fn settle(&self, question: ApprovalQuestion, decision: &ReviewDecision) -> ReviewOutcome {
        match decision {
            ReviewDecision::Approved => {}
            ReviewDecision::ApprovedForSession | ReviewDecision::ApprovedWithRule(_) => {
                self.approvals.approve(&question.keys, &question.grants);
            }
            ReviewDecision::Denied { note } => return ReviewOutcome::Denied { note: note.clone() },
            ReviewDecision::Unanswered { why } => return ReviewOutcome::Unanswered { why: why.clone() },
            ReviewDecision::Abort => return ReviewOutcome::Stop,
        }
        ReviewOutcome::Allow(question.permit)
    }

    /// Builds the question after `permit` was too narrow. `denials` are those of the kernel; `guessed` is one inferred
    /// from the output. Returns `None` if no grant helps, no question may be asked, or the call cannot run again; then
    /// the first outcome stands.
    pub fn widen(
        &self,
        tool: &str,
        intent: &Intent,
        permit: &Permit,
        denials: &[Denial],
        guessed: Option<&Denial>,
    ) -> Option<Box<ApprovalQuestion>> {
        let asks = intent.is_repeatable()
            && approval_requirement(self.approval, ApprovalCase::DeniedInSandbox)
                == ApprovalRequirement::NeedsApproval;
        if !asks || permit.confinement().is_none() || permit.widenings() >= MAX_WIDENINGS {
            return None;
        }
        let refused =
            denials.iter().map(|denial| (denial, false)).chain(guessed.map(|denial| (denial, true)));
        let (mut more, mut reasons, mut ungrantable) = (Grants::new(), Vec::new(), false);
        let removed =
            intent.command().map(|exec| removed_paths(exec.analysis(), exec.cwd())).unwrap_or_default();
        for (denial, guessed) in refused {
            let grant = self.removal_grant(denial, &removed).or_else(|| self.smallest_grant(denial));
            let grant = grant.filter(|grant| !(guessed && is_system_grant(grant)));
            ungrantable |= grant.is_none() && !guessed;
            if let Some(grant) = grant.filter(|grant| !permit.grants().contains(grant)) {
                more.insert(grant);
                reasons.push(ApprovalReason::DeniedInSandbox { denial: denial.clone(), guessed });
            }
        }
        let escalates = intent.escalation == Escalation::Required;
        if more.is_empty() && (escalates || ungrantable && self.may_leave_sandbox(denials)) {
            more.insert(Grant::Unconfined);
            reasons.extend(
                denials
                    .iter()
                    .map(|denial| ApprovalReason::DeniedInSandbox { denial: denial.clone(), guessed: false }),
            );
            reasons.extend(escalates.then_some(ApprovalReason::LeavesSandbox));
        }
        if more.is_empty() {
            return None;
        }
        let grants: Grants = permit.grants() | &more;
        let IntentEvaluation { analysis, keys, .. } = IntentEvaluation::evaluate(self, tool, intent, true);
        let permit = self.create_permit(intent, grants.clone(), permit.widenings() + 1);
        Some(Box::new(ApprovalQuestion {
            tool: tool.to_owned(),
            intent: intent.clone(),
            analysis,
            reasons,
            confinement: permit.confinement().cloned(),
            proposal: crate::propose_rule::propose_grant_rule(&more),
            grants,
            agent_path: Vec::new(),
            is_retry: true,
            keys,
            permit,
        }))
    }

    /// Returns the effect that `path` has on the user's machine, by its name or because git's configuration names it.
    pub fn host_file(&self, path: &Path) -> Option<HostFile> {
        let roots = self.confinement.writable.iter().map(PathBuf::as_path).chain(self.read_scope.roots());
        host_file_on(&*self.machine, path, roots, self.confinement.user_homes())
    }

    /// Returns the configuration that `path` belongs to: `path` itself if it exists, otherwise its outermost
    /// configuration directory, which a sandbox can open.
    fn configuration_at(&self, path: &Path) -> PathBuf {
        if self.machine.nearest_existing(path) == path {
            return path.to_owned();
        }
        let is_part = |above: &&Path| {
            self.host_file(above).is_some_and(|file| file.role == HostFileRole::Configuration)
        };
        path.ancestors().take_while(is_part).last().unwrap_or(path).to_owned()
    }

    /// Returns the smallest grant that lifts `denial`.
    pub(crate) fn smallest_grant(&self, denial: &Denial) -> Option<Grant> {
        let rules = self.rules();
        match denial {
            Denial::HostConfiguration { path, .. } => {
                let denied =
                    self.read_scope.deny_read().denying_pattern(path).is_some() || self.is_closed(path);
                let forbidden = forbids_writing(&rules, path, self.confinement.home.as_deref());
                (!denied && !forbidden).then(|| Grant::Write(self.configuration_at(path)))
            }
            Denial::MayNotWrite { path, .. } | Denial::ClosedByRule { path, .. } => {
                let standing = self.machine.nearest_existing(path);
                // Only a denial by the sandbox can be lifted.
                let helps = self.machine.may_write(&standing);
                // A path that is denied for reading must not become writable.
                let given = helps
                    && self.read_scope.deny_read().denying_pattern(&standing).is_none()
                    && self.read_scope.deny_read().denying_pattern(path).is_none()
                    && !self.is_too_broad(&standing)
                    && !self.is_closed(&standing)
                    && !forbids_writing(&rules, path, self.confinement.home.as_deref());
                given.then_some(Grant::Write(standing))
            }
            Denial::MayNotConnect { target, .. } => {
                let host: HostPattern = target.parse().ok()?;
                (!forbids_host(&rules, &host)).then_some(Grant::Connect(host))
            }
            Denial::MayNotReach { name } => Some(Grant::Socket(name.clone())),
            _ => None,
        }
    }

    /// Returns the grant for a command that was refused to remove one of the files that it names in `removed`: changing
    /// their directory.
    fn removal_grant(&self, denial: &Denial, removed: &[PathBuf]) -> Option<Grant> {
        let Denial::MayNotWrite { path, .. } = denial else { return None };
        removed
            .iter()
            .find(|removed| path.starts_with(removed))
            .and_then(|removed| self.directory_grant(removed))
    }

    /// Returns the grant to change the directory of `path`, if that is refused now and a grant can allow it.
    pub(crate) fn directory_grant(&self, path: &Path) -> Option<Grant> {
        let directory = path.parent()?;
        let refused = self.machine.nearest_existing(path) == path && !self.confinement.may_write(directory);
        if !refused || self.host_file(path).is_some() || self.host_file(directory).is_some() {
            return None;
        }
        self.smallest_grant(&self.confinement.write_denial(directory.to_owned()))
    }

    /// Returns true if `path` is too broad to grant: it contains a writable root or the home, or belongs to the system.
    fn is_too_broad(&self, path: &Path) -> bool {
        let holds = |inner: &Path| inner.starts_with(path);
        let shallow = path.components().count() <= 2;
        shallow
            || self.confinement.writable.iter().any(|root| holds(root))
            || self.confinement.home.as_deref().is_some_and(holds)
            || ["/dev", "/proc", "/sys"].iter().any(|system| path.starts_with(system))
                && !path.starts_with("/dev/shm")
    }

    /// Returns true if the user's configuration closes `path` and no rule asks about it. Toolgate's own files are
    /// closed so.
    fn is_closed(&self, path: &Path) -> bool {
        let home = self.confinement.home.as_deref();
        self.confinement.read_only.iter().any(|closed| path.starts_with(closed))
            && rules_for_path(&self.rules(), path, PathAccess::Write, home)
                .all(|rule| rule.decision != RuleDecision::Ask)
    }

    /// Returns true if leaving the sandbox would lift every one of `denials` and no rule forbids it.
    fn may_leave_sandbox(&self, denials: &[Denial]) -> bool {
        let rules = self.rules();
        denials.iter().all(|denial| match denial {
            Denial::MayNotWrite { path, .. } | Denial::ClosedByRule { path, .. } => {
                !forbids_writing(&rules, path, self.confinement.home.as_deref())
                    && !self.is_closed(path)
                    && self.machine.may_write(path)
            }
            Denial::MayNotConnect { target, .. } => {
                target.parse::<HostPattern>().is_ok_and(|host| !forbids_host(&rules, &host))
            }
            _ => false,
        })
    }

    /// Creates the permit for the whole of `intent`, which was already evaluated, with `grants`.
    fn create_permit(&self, intent: &Intent, grants: Grants, widenings: usize) -> Permit {
        let (mut reads, mut writes, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for effect in &intent.effects {
            match effect {
                Effect::Read(path) => reads.push(path.clone()),
                Effect::Write(path) => writes.push(path.clone()),
                Effect::Exec(exec) => runs.push(exec.clone()),
                Effect::Network(_) | Effect::SendInput(_) | Effect::Foreign(_) | Effect::Remember(_) => {}
            }
        }
        let leaves = grants.contains(&Grant::Unconfined);
        let sandbox = if leaves { SandboxPolicy::FullAccess } else { self.sandbox };
        let confinement = match grants.is_empty() {
            true => Arc::clone(&self.confinement),
            false => Arc::new(crate::grant::widen_confinement(&self.confinement, &grants)),
        };
        let permit = Permit::new(reads, writes, runs, Arc::clone(&self.read_scope), sandbox, confinement);
        permit.with_machine(Arc::clone(&self.machine)).with_grants(grants, widenings)
    }

    /// Creates a permit that opens the files that `intent` writes for reading only. It serves to show a preview of the
    /// change in a question.
    pub fn preview_permit(&self, intent: &Intent) -> Permit {
        let changed = intent.effects.iter().filter_map(|effect| match effect {
            Effect::Write(path) => Some(path.clone()),
            _ => None,
        });
        let (read_scope, confinement) = (Arc::clone(&self.read_scope), Arc::clone(&self.confinement));
        Permit::new(changed.collect(), Vec::new(), Vec::new(), read_scope, self.sandbox, confinement)
    }

    /// Returns the denial for a question that cannot be asked.
    pub fn not_asked_denial(question: &ApprovalQuestion, unasked: NotAskedReason) -> Denial {
        let why: Vec<String> = question.reasons.iter().map(ToString::to_string).collect();
        let denials = question.reasons.iter().filter_map(ApprovalReason::denial).cloned().collect();
        Denial::Unasked { why: why.join("; "), denials, unasked }
    }
}

/// Returns true for a grant of a system directory, which program output alone must never suggest.
fn is_system_grant(grant: &Grant) -> bool {
    let Grant::Write(path) = grant else { return false };
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot"]
        .iter()
        .any(|system| path.starts_with(system))
}

#[cfg(test)]
mod tests;
