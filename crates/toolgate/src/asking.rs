//! When somebody is asked, and who: approval policy, rules, approver, hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Approver, Hook, Rulebook, ToolRouter};
use policy::rules::{Access, Decision, On, Rule, Rules};
use policy::{ApprovalPolicy, Gate, Host, PathRule};

use crate::Builder;

/// What decides when somebody is asked.
#[derive(Clone, Default)]
pub(crate) struct Asking {
    approval: ApprovalPolicy,
    rules: Rules,
    approver: Option<Arc<dyn Approver>>,
    rulebook: Option<Arc<dyn Rulebook>>,
    hooks: Vec<Listed>,
}

/// A hook, in the order in which they were given.
#[derive(Clone)]
enum Listed {
    Ready(Arc<dyn Hook>),
    /// Its program was not looked for yet.
    #[cfg(feature = "tools")]
    Command(crate::hooks::CommandHook),
}

/// What rules for paths and hosts come to: they are enforced like any other part of the confinement.
#[derive(Debug, Default)]
pub(crate) struct Ruled {
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) read_only: Vec<PathRule>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) closed_hosts: Vec<Host>,
}

impl Ruled {
    fn closes(&mut self, rule: &Rule, paths: impl Iterator<Item = PathBuf>, how: &str) {
        let said = format!("the rule at {}:{} {how}", rule.file.display(), rule.line);
        self.read_only.extend(paths.map(|path| PathRule { path, said: said.clone() }));
    }
}

impl Asking {
    /// When somebody is asked.
    pub(crate) fn approval(&self) -> ApprovalPolicy {
        self.approval
    }

    /// The gate that asks so.
    pub(crate) fn gate(&self, gate: Gate) -> Gate {
        gate.asking(self.approval).ruled_by(self.rules.clone())
    }

    /// The router that asks them; hooks come on top of it.
    pub(crate) fn of(self, mut router: ToolRouter) -> ToolRouter {
        if let Some(approver) = self.approver {
            router = router.with_approver(approver);
        }
        if let Some(rulebook) = self.rulebook {
            router = router.with_rulebook(rulebook);
        }
        router
    }

    /// The hooks in their order; `prepare` makes them of commands.
    #[cfg(feature = "tools")]
    pub(crate) fn hooks(
        &self,
        prepare: impl Fn(crate::hooks::CommandHook) -> Result<Arc<dyn Hook>, crate::BuildFault>,
    ) -> Result<Vec<Arc<dyn Hook>>, crate::BuildFault> {
        let made = self.hooks.iter().map(|hook| match hook {
            Listed::Ready(hook) => Ok(Arc::clone(hook)),
            Listed::Command(hook) => prepare(hook.clone()),
        });
        made.collect()
    }

    /// The hooks in their order.
    #[cfg(not(feature = "tools"))]
    pub(crate) fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.hooks.iter().map(|Listed::Ready(hook)| Arc::clone(hook)).collect()
    }

    /// The files that hooks are made of.
    #[cfg(feature = "tools")]
    pub(crate) fn hook_files(&self, cwd: &Path) -> impl Iterator<Item = PathBuf> {
        self.hooks.iter().flat_map(move |hook| match hook {
            Listed::Command(hook) => hook.files(cwd),
            Listed::Ready(_) => Vec::new(),
        })
    }

    /// Patterns of what rules forbid to read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = String> {
        self.rules.iter().flat_map(|rule| match &rule.on {
            On::Path { paths, access: Access::Read } if rule.decision == Decision::Forbid => {
                paths.iter().map(policy::rules::Where::pattern).collect()
            }
            _ => Vec::new(),
        })
    }

    /// What the rules open and close, for a user with this home. What one rule opens and another does not, stays closed.
    pub(crate) fn grounds(&self, home: Option<&Path>) -> Ruled {
        let mut ruled = Ruled::default();
        for rule in self.rules.iter() {
            let Rule { on, decision, .. } = rule;
            match on {
                On::Path { paths, access: Access::Write } => {
                    let paths = paths.iter().filter_map(|path| path.path(home));
                    match decision {
                        Decision::Allow => ruled.writable.extend(paths),
                        Decision::Ask => ruled.closes(rule, paths, "asks about it"),
                        Decision::Forbid => ruled.closes(rule, paths, "forbids it"),
                    }
                }
                On::Host { hosts } => {
                    let hosts = hosts.iter().cloned();
                    match decision {
                        Decision::Allow => ruled.hosts.extend(hosts),
                        Decision::Ask | Decision::Forbid => ruled.closed_hosts.extend(hosts),
                    }
                }
                On::Path { access: Access::Read, .. } | On::Command { .. } | On::Tool { .. } => {}
            }
        }
        ruled
    }
}

impl Builder {
    /// Sets when somebody is asked; on request if this is not called.
    #[must_use]
    pub fn approval(mut self, approval: ApprovalPolicy) -> Self {
        self.asking.approval = approval;
        self
    }

    /// Goes by `rules` too.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.asking.rules = self.asking.rules.merge(rules);
        self
    }

    /// What rules take away below `from` they take away below `to` too.
    #[must_use]
    pub fn mirrored(mut self, from: &Path, to: &Path) -> Self {
        self.asking.rules = self.asking.rules.mirrored(from, to);
        self
    }

    /// No rule lets a command leave the sandbox.
    #[must_use]
    pub fn always_confined(mut self) -> Self {
        self.asking.rules = self.asking.rules.confined();
        self
    }

    /// Asks `approver` what has to be asked; without one, that is refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.asking.approver = Some(approver);
        self
    }

    /// Lets `rulebook` keep the rules that somebody wants to count from now on.
    #[must_use]
    pub fn rulebook(mut self, rulebook: Arc<dyn Rulebook>) -> Self {
        self.asking.rulebook = Some(rulebook);
        self
    }

    /// Lets `hook` see every call before it is judged and after it was answered.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.asking.hooks.push(Listed::Ready(hook));
        self
    }

    /// The same with a program of the user's own. Commands that are confined cannot change its files.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn command_hook(mut self, hook: crate::hooks::CommandHook) -> Self {
        self.asking.hooks.push(Listed::Command(hook));
        self
    }
}
