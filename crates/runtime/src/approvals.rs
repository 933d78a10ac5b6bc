//! Sets approval policy, rules, approver, rulebook and hooks of a builder, and derives the confinement from rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Approver, Hook, Rulebook, ToolRouter};
use policy::rules::{PathAccess, PolicyRule, RuleDecision, RuleSet, RuleSubject};
use policy::{ApprovalPolicy, ClosedPath, Gate, HostPattern};

use crate::ToolgateBuilder;

/// Decides which calls need approval, and by whom.
#[derive(Clone, Default)]
pub(crate) struct ApprovalSetup {
    approval: ApprovalPolicy,
    rules: RuleSet,
    approver: Option<Arc<dyn Approver>>,
    rulebook: Option<Arc<dyn Rulebook>>,
    hooks: Vec<ConfiguredHook>,
}

/// A hook, in configuration order.
#[derive(Clone)]
enum ConfiguredHook {
    Ready(Arc<dyn Hook>),
    /// Its program has not been looked up yet.
    #[cfg(feature = "tools")]
    Command(crate::hooks::CommandHook),
}

/// The confinement that path and host rules require. It is enforced like the configured confinement.
#[derive(Debug, Default)]
pub(crate) struct RuleConfinement {
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) read_only: Vec<ClosedPath>,
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) closed_hosts: Vec<HostPattern>,
}

impl RuleConfinement {
    fn add_read_only(&mut self, rule: &PolicyRule, paths: impl Iterator<Item = PathBuf>, how: &str) {
        let said = format!("the rule at {}:{} {how}", rule.file.display(), rule.line);
        self.read_only.extend(paths.map(|path| ClosedPath { path, rule_decision: said.clone() }));
    }
}

impl ApprovalSetup {
    /// Returns the approval policy.
    pub(crate) fn approval(&self) -> ApprovalPolicy {
        self.approval
    }

    /// Applies the approval policy and the rules to `gate`.
    pub(crate) fn configure_gate(&self, gate: Gate) -> Gate {
        gate.with_approval(self.approval).with_rules(self.rules.clone())
    }

    /// Applies the approver and the rulebook to `router`. Hooks are added later.
    pub(crate) fn configure_router(self, mut router: ToolRouter) -> ToolRouter {
        if let Some(approver) = self.approver {
            router = router.with_approver(approver);
        }
        if let Some(rulebook) = self.rulebook {
            router = router.with_rulebook(rulebook);
        }
        router
    }

    /// Returns the hooks in order; `prepare` makes them from commands.
    #[cfg(feature = "tools")]
    pub(crate) fn hooks(
        &self,
        prepare: impl Fn(crate::hooks::CommandHook) -> Result<Arc<dyn Hook>, crate::BuildFault>,
    ) -> Result<Vec<Arc<dyn Hook>>, crate::BuildFault> {
        let made = self.hooks.iter().map(|hook| match hook {
            ConfiguredHook::Ready(hook) => Ok(Arc::clone(hook)),
            ConfiguredHook::Command(hook) => prepare(hook.clone()),
        });
        made.collect()
    }

    /// Returns the hooks in order.
    #[cfg(not(feature = "tools"))]
    pub(crate) fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.hooks.iter().map(|ConfiguredHook::Ready(hook)| Arc::clone(hook)).collect()
    }

    /// Returns the files that hooks consist of.
    #[cfg(feature = "tools")]
    pub(crate) fn hook_files(&self, cwd: &Path) -> impl Iterator<Item = PathBuf> {
        self.hooks.iter().flat_map(move |hook| match hook {
            ConfiguredHook::Command(hook) => hook.protected_files(cwd),
            ConfiguredHook::Ready(_) => Vec::new(),
        })
    }

    /// Returns the patterns of files that rules forbid to read.
    pub(crate) fn denied_read_patterns(&self) -> impl Iterator<Item = String> {
        self.rules.iter().flat_map(|rule| match &rule.subject {
            RuleSubject::Path { paths, access: PathAccess::Read }
                if rule.decision == RuleDecision::Forbid =>
            {
                paths.iter().map(policy::rules::RulePath::deny_read_pattern).collect()
            }
            _ => Vec::new(),
        })
    }

    /// Returns the confinement that the rules require, for a user with this home. A closing rule wins over an opening
    /// one.
    pub(crate) fn rule_confinement(&self, home: Option<&Path>) -> RuleConfinement {
        let mut ruled = RuleConfinement::default();
        for rule in self.rules.iter() {
            let PolicyRule { subject: on, decision, .. } = rule;
            match on {
                RuleSubject::Path { paths, access: PathAccess::Write } => {
                    let paths = paths.iter().filter_map(|path| path.path(home));
                    match decision {
                        RuleDecision::Allow => ruled.writable.extend(paths),
                        RuleDecision::Ask => ruled.add_read_only(rule, paths, "asks about it"),
                        RuleDecision::Forbid => ruled.add_read_only(rule, paths, "forbids it"),
                    }
                }
                RuleSubject::Host { hosts } => {
                    let hosts = hosts.iter().cloned();
                    match decision {
                        RuleDecision::Allow => ruled.hosts.extend(hosts),
                        RuleDecision::Ask | RuleDecision::Forbid => ruled.closed_hosts.extend(hosts),
                    }
                }
                RuleSubject::Path { access: PathAccess::Read, .. }
                | RuleSubject::Command { .. }
                | RuleSubject::Tool { .. } => {}
            }
        }
        ruled
    }
}

impl ToolgateBuilder {
    /// Sets the approval policy; the default is "on request".
    #[must_use]
    pub fn approval(mut self, approval: ApprovalPolicy) -> Self {
        self.asking.approval = approval;
        self
    }

    /// Adds `rules`.
    #[must_use]
    pub fn rules(mut self, rules: RuleSet) -> Self {
        self.asking.rules = self.asking.rules.merge(rules);
        self
    }

    /// Repeats the restrictions that rules set below `from` for the same paths below `to`.
    #[must_use]
    pub fn mirror_rules(mut self, from: &Path, to: &Path) -> Self {
        self.asking.rules = self.asking.rules.mirror_paths(from, to);
        self
    }

    /// Removes the permission of rules to run a command outside the sandbox.
    #[must_use]
    pub fn always_confined(mut self) -> Self {
        self.asking.rules = self.asking.rules.without_sandbox_exits();
        self
    }

    /// Removes everything that rules allow: their restrictions stay.
    #[must_use]
    pub fn without_permissions(mut self) -> Self {
        self.asking.rules = self.asking.rules.without_permissions();
        self
    }

    /// Sets the approver. Without one, calls that need approval are refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.asking.approver = Some(approver);
        self
    }

    /// Sets the rulebook, which saves the rules that a user adds when answering.
    #[must_use]
    pub fn rulebook(mut self, rulebook: Arc<dyn Rulebook>) -> Self {
        self.asking.rulebook = Some(rulebook);
        self
    }

    /// Adds a hook, which sees every call before its verdict and after its answer.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.asking.hooks.push(ConfiguredHook::Ready(hook));
        self
    }

    /// Adds a hook that is a program of the user's. Confined commands cannot change its files.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn command_hook(mut self, hook: crate::hooks::CommandHook) -> Self {
        self.asking.hooks.push(ConfiguredHook::Command(hook));
        self
    }
}
