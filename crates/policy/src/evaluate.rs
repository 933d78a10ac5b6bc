//! Evaluates an intent: judges each effect and collects the reasons for a question.

use std::path::Path;

use crate::approval_question::RuleProposal;
use crate::approval_store::ApprovalKey;
use crate::programs::CommandRisk;
use crate::propose_rule;
use crate::rule_lookup::{self, rules_for_host, rules_for_path};
use crate::rules::{PathAccess, PolicyRule, RuleDecision, RuleSet};
use crate::{
    ApprovalCase, ApprovalPolicy, ApprovalReason, ApprovalRequirement, ClassifiedCommand, CommandAnalysis,
    CommandLine, Denial, Effect, Escalation, ForeignToolCall, Gate, Grant, Grants, HostFile, HostFileRole,
    HostPattern, Intent, MemoryNote, NetworkPolicy, NotAskedReason, ProgramInput, ToolTrust,
    approval_requirement,
};

/// The evaluation of an intent.
#[derive(Debug, Default)]
pub(crate) struct IntentEvaluation {
    pub(crate) forbidden: Option<Denial>,
    pub(crate) why: Vec<ApprovalReason>,
    /// Grants beyond the policy that an approval must give.
    pub(crate) grants: Grants,
    pub(crate) account: Option<CommandAnalysis>,
    pub(crate) keys: Vec<ApprovalKey>,
    pub(crate) proposal: Option<RuleProposal>,
    /// A hook asks, so no earlier approval counts.
    pub(crate) hooked: bool,
}

/// The inputs for evaluating one effect.
struct EffectEvaluator<'a> {
    gate: &'a Gate,
    rules: &'a RuleSet,
    /// A rule allows every call of the tool.
    allowed: bool,
    /// Programs are looked up in any case.
    bound: bool,
}

impl IntentEvaluation {
    /// Evaluates all effects of `intent` of `tool`. Programs are looked up if the result depends on them, or if `bound`
    /// is set.
    pub(crate) fn evaluate(gate: &Gate, tool: &str, intent: &Intent, bound: bool) -> Self {
        let rules = gate.rules();
        let mut out = Self::default();
        if gate.approval == ApprovalPolicy::Disabled {
            out.forbid(Some(Denial::Disabled));
            return out;
        }
        let mut judging = EffectEvaluator { gate, rules: &rules, allowed: false, bound };
        let about = rules.rules_for_tool(tool).into_iter().chain(by_path(&rules, intent));
        if let Some(rule) = strictest(about) {
            let what = format!("the tool `{tool}`");
            match rule.decision {
                RuleDecision::Allow => judging.allowed = true,
                RuleDecision::Ask => out.by_rule(gate, ApprovalCase::MustAsk, what, rule, true),
                RuleDecision::Forbid => out.by_rule(gate, ApprovalCase::Forbidden, what, rule, true),
            }
        }
        for effect in &intent.effects {
            match effect {
                Effect::Read(path) => {
                    out.keys.push(ApprovalKey::Read(path.clone()));
                    out.forbid(gate.reach.check_read(path).err());
                }
                Effect::Write(path) => judging.write(path, &mut out),
                Effect::Exec(line) => judging.exec(line, intent, &mut out),
                Effect::Type(typing) => judging.typing(typing, &mut out),
                Effect::Network(target) => judging.network(target, &mut out),
                Effect::Foreign(foreign) => judging.foreign(foreign, &mut out),
                Effect::Remember(remembering) => judging.remember(remembering, &mut out),
            }
        }
        if out.keys.is_empty() {
            out.keys.push(ApprovalKey::Tool(tool.to_owned()));
        }
        out
    }

    fn forbid(&mut self, denial: Option<Denial>) {
        self.forbidden = self.forbidden.take().or(denial);
    }

    /// Applies one requirement of the approval table, with its reason.
    pub(crate) fn apply_requirement(&mut self, requirement: ApprovalRequirement, why: ApprovalReason) {
        self.hooked |= matches!(why, ApprovalReason::Hook { .. });
        match requirement {
            ApprovalRequirement::Skip => {}
            ApprovalRequirement::NeedsApproval => {
                if !self.why.contains(&why) {
                    self.why.push(why);
                }
            }
            ApprovalRequirement::Forbidden => {
                self.forbid(Some(Denial::Unasked { why: why.to_string(), unasked: NotAskedReason::Never }));
            }
        }
    }

    fn by_rule(&mut self, gate: &Gate, matter: ApprovalCase, what: String, rule: &PolicyRule, certain: bool) {
        if matter == ApprovalCase::Forbidden {
            let place = format!("{}:{}", rule.file.display(), rule.line);
            self.forbid(Some(Denial::ByRule { what, rule: place, reason: rule.reason.clone() }));
        } else {
            let why = ApprovalReason::Rule { what, rule: Box::new(rule.clone()), certain };
            self.apply_requirement(approval_requirement(gate.approval, matter), why);
        }
    }
}

/// Returns the rules that name a server's tool as `server/tool`.
fn by_path<'a>(rules: &'a RuleSet, intent: &Intent) -> Vec<&'a PolicyRule> {
    // Only a tool has a definition; reading a server's resource is not a tool call.
    let paths = intent.effects.iter().filter_map(|effect| match effect {
        Effect::Foreign(ForeignToolCall { server, tool, definition, .. }) if !definition.is_empty() => {
            Some(format!("{server}/{tool}"))
        }
        _ => None,
    });
    paths.flat_map(|path| rules.rules_for_tool(&path)).collect()
}

fn strictest<'a>(rules: impl IntoIterator<Item = &'a PolicyRule>) -> Option<&'a PolicyRule> {
    rules.into_iter().max_by_key(|rule| rule.decision)
}

impl EffectEvaluator<'_> {
    fn asks(&self, matter: ApprovalCase) -> ApprovalRequirement {
        // An allow-rule for a tool covers everything inside the sandbox, but no permission beyond it.
        let inside = matches!(
            matter,
            ApprovalCase::ReadsUnconfined
                | ApprovalCase::Runs
                | ApprovalCase::RunsUnconfined
                | ApprovalCase::Dangerous
                | ApprovalCase::DangerousUnconfined
        );
        let matter = if self.allowed && inside { ApprovalCase::Allowed } else { matter };
        approval_requirement(self.gate.approval, matter)
    }

    fn confines(&self) -> bool {
        self.gate.sandbox.confines()
    }

    fn dangerous(&self) -> ApprovalCase {
        if self.confines() { ApprovalCase::Dangerous } else { ApprovalCase::DangerousUnconfined }
    }

    fn runs(&self) -> ApprovalCase {
        if self.confines() { ApprovalCase::Runs } else { ApprovalCase::RunsUnconfined }
    }

    fn write(&self, path: &Path, out: &mut IntentEvaluation) {
        let what = format!("changing `{}`", path.display());
        out.keys.push(ApprovalKey::Write(path.to_owned()));
        let mut asked = false;
        if let Some(rule) = strictest(rules_for_path(
            self.rules,
            path,
            PathAccess::Write,
            self.gate.confinement.home.as_deref(),
        )) {
            match rule.decision {
                RuleDecision::Forbid => {
                    return out.by_rule(self.gate, ApprovalCase::Forbidden, what, rule, true);
                }
                RuleDecision::Ask => {
                    asked = true;
                    out.by_rule(self.gate, ApprovalCase::MustAsk, what.clone(), rule, true);
                }
                RuleDecision::Allow => {
                    out.grants.insert(Grant::Write(path.to_owned()));
                    return;
                }
            }
        }
        if self.is_configuration(path, out) {
            return;
        }
        // The path `/tmp` may mean the session's own directory.
        let may = |path: &Path| self.gate.confinement.may_write(path);
        if !self.confines() || may(path) || may(&self.gate.reach.real_path(path)) {
            return out.apply_requirement(self.asks(self.runs()), ApprovalReason::Untrusted { what });
        }
        match self.gate.confinement.closed_path_denial(path.to_owned()) {
            // The rule has asked already: the approval must open the path, and needs no second reason.
            denial @ Denial::ClosedByRule { .. } if asked => match self.gate.smallest_grant(&denial) {
                Some(grant) => {
                    out.grants.insert(grant);
                }
                None => out.forbid(Some(denial)),
            },
            denial => self.beyond(denial, out),
        }
    }

    /// Handles `path` if it is configuration that takes effect on the user's machine. Every policy asks about that.
    fn is_configuration(&self, path: &Path, out: &mut IntentEvaluation) -> bool {
        let real = self.gate.machine.standing(path);
        let files = [path, real.as_path()].map(|path| (path, self.gate.host_file(path)));
        let Some((path, when)) = files.into_iter().find_map(|(path, file)| match file {
            Some(HostFile { role: HostFileRole::Configuration, when }) => Some((path.to_owned(), when)),
            _ => None,
        }) else {
            return false;
        };
        let denial = Denial::HostConfiguration { path, when };
        match (
            approval_requirement(self.gate.approval, ApprovalCase::MustAsk),
            self.gate.smallest_grant(&denial),
        ) {
            (ApprovalRequirement::NeedsApproval, Some(grant)) => {
                out.grants.insert(grant);
                out.apply_requirement(ApprovalRequirement::NeedsApproval, ApprovalReason::Beyond(denial));
            }
            _ => out.forbid(Some(denial)),
        }
        true
    }

    fn network(&self, target: &str, out: &mut IntentEvaluation) {
        let what = format!("connecting to `{target}`");
        let Ok(host) = target.parse::<HostPattern>() else {
            let network = self.gate.confinement.network;
            return out.forbid(Some(Denial::MayNotConnect { target: target.to_owned(), network }));
        };
        out.keys.push(ApprovalKey::from(&host));
        if let Some(rule) = strictest(rules_for_host(self.rules, &host)) {
            match rule.decision {
                RuleDecision::Forbid => {
                    return out.by_rule(self.gate, ApprovalCase::Forbidden, what, rule, true);
                }
                RuleDecision::Ask => out.by_rule(self.gate, ApprovalCase::MustAsk, what.clone(), rule, true),
                RuleDecision::Allow => return,
            }
        }
        // Unlike a command, a built-in tool connects only to the stated host, so an allow-rule for the tool covers it.
        if self.allowed {
            return;
        }
        let network = self.gate.confinement.network;
        let reached = {
            let (name, port) = rule_lookup::split_host_port(&host);
            self.gate.confinement.hosts.may_reach(&name, port)
        };
        if !self.confines() || network == NetworkPolicy::On || reached {
            return out.apply_requirement(self.asks(self.runs()), ApprovalReason::Untrusted { what });
        }
        self.beyond(Denial::MayNotConnect { target: target.to_owned(), network }, out);
    }

    /// Asks for the grant that lifts `denial`, or forbids the effect if there is none.
    fn beyond(&self, denial: Denial, out: &mut IntentEvaluation) {
        match (self.asks(ApprovalCase::Beyond), self.gate.smallest_grant(&denial)) {
            (ApprovalRequirement::NeedsApproval, Some(grant)) => {
                out.grants.insert(grant);
                out.apply_requirement(ApprovalRequirement::NeedsApproval, ApprovalReason::Beyond(denial));
            }
            _ => out.forbid(Some(denial)),
        }
    }

    fn typing(&self, typing: &ProgramInput, out: &mut IntentEvaluation) {
        let ProgramInput { into, text, confined } = typing;
        out.keys.push(ApprovalKey::Type { into: into.clone(), text: text.clone() });
        if *confined {
            return;
        }
        let what = format!("typing into `{into}`");
        if self.confines() {
            let why = "reaches a program that runs without the sandbox".to_owned();
            return out.apply_requirement(
                self.asks(ApprovalCase::DangerousUnconfined),
                ApprovalReason::Dangerous { what, why },
            );
        }
        out.apply_requirement(self.asks(ApprovalCase::RunsUnconfined), ApprovalReason::Untrusted { what });
    }

    fn foreign(&self, foreign: &ForeignToolCall, out: &mut IntentEvaluation) {
        out.keys.push(ApprovalKey::from(foreign));
        let ForeignToolCall { server, tool, trust, .. } = foreign.clone();
        match trust {
            // The earlier approval was for another definition.
            ToolTrust::Changed => {
                let why = ApprovalReason::Redefined { server, tool };
                out.apply_requirement(approval_requirement(self.gate.approval, ApprovalCase::MustAsk), why);
            }
            ToolTrust::Unknown if !self.allowed => {
                out.apply_requirement(
                    self.asks(ApprovalCase::MustAsk),
                    ApprovalReason::Foreign { server, tool },
                );
            }
            ToolTrust::Unknown | ToolTrust::ReadOnly | ToolTrust::Trusted => {}
        }
    }

    /// Evaluates a note for later sessions. It steers those sessions, so a person must approve it.
    fn remember(&self, remembering: &MemoryNote, out: &mut IntentEvaluation) {
        out.keys.push(ApprovalKey::Remember(remembering.clone()));
        let MemoryNote { name, scope, .. } = remembering.clone();
        if !self.allowed {
            out.apply_requirement(
                self.asks(ApprovalCase::MustAsk),
                ApprovalReason::Remembers { name, scope },
            );
        }
    }

    fn exec(&self, line: &CommandLine, intent: &Intent, out: &mut IntentEvaluation) {
        let mut account = CommandAnalysis::analyse(line, self.rules);
        // Program paths matter only if a rule or a stored approval depends on the program's identity.
        let allows = |part: &ClassifiedCommand| {
            part.rules.iter().any(|said| said.rule.decision == RuleDecision::Allow)
        };
        let bound = self.bound
            || self.gate.approval == ApprovalPolicy::Untrusted
            || account.parts.iter().any(allows)
            || self.gate.has_approvals();
        if bound {
            account.resolve_programs(&*self.gate.machine, &line.cwd);
        }
        let leaves = self.confines() && account.may_leave_sandbox();
        if leaves {
            out.grants.insert(Grant::Unconfined);
        }
        let dangerous = if leaves { ApprovalCase::DangerousUnconfined } else { self.dangerous() };
        self.about(&account, (leaves, dangerous), out);
        if self.confines() && !leaves && intent.escalation == Escalation::Required {
            let asks = self.asks(ApprovalCase::Leaves);
            if asks == ApprovalRequirement::NeedsApproval {
                out.grants.insert(Grant::Unconfined);
            }
            out.apply_requirement(asks, ApprovalReason::Leaves);
        }
        if !bound && !out.why.is_empty() {
            account.resolve_programs(&*self.gate.machine, &line.cwd);
        }
        let programs = account.parts.iter().map(|part| {
            let path = part.program.as_ref().map(|program| program.path.clone());
            path.filter(|path| !path.as_os_str().is_empty())
        });
        let programs = programs.collect();
        out.keys.push(ApprovalKey::Run { line: line.clone(), programs, sandbox: self.gate.sandbox.as_str() });
        out.proposal = propose_rule::propose_command_rule(
            &account,
            &out.why,
            &out.grants,
            intent.prefix_rule.as_deref(),
        );
        out.account = Some(account);
    }

    /// Adds the questions about the commands of a line.
    fn about(
        &self,
        account: &CommandAnalysis,
        (leaves, dangerous): (bool, ApprovalCase),
        out: &mut IntentEvaluation,
    ) {
        for (matter, part) in account.approval_cases(self.confines()) {
            // The rules that let the line leave the sandbox cover all of it.
            if leaves
                && !matches!(
                    matter,
                    ApprovalCase::MustAsk | ApprovalCase::Forbidden | ApprovalCase::Dangerous
                )
            {
                continue;
            }
            match (matter, part) {
                (ApprovalCase::MustAsk | ApprovalCase::Forbidden, Some(part)) => {
                    if let Some(said) = part.rules.first() {
                        let what = format!("`{}`", part.command.command_text());
                        out.by_rule(self.gate, matter, what, &said.rule, said.certain);
                    }
                }
                (ApprovalCase::Dangerous, Some(part)) => {
                    let (CommandRisk::Dangerous(why) | CommandRisk::Risky(why)) = part.known else {
                        continue;
                    };
                    let what = format!("`{}`", part.command.command_text());
                    out.apply_requirement(
                        self.asks(dangerous),
                        ApprovalReason::Dangerous { what, why: why.to_owned() },
                    );
                }
                (ApprovalCase::Dangerous, None) => self.not_understood(account, dangerous, out),
                (_, Some(part)) => {
                    let what = format!("`{}`", part.command.command_text());
                    out.apply_requirement(self.asks(matter), ApprovalReason::Untrusted { what });
                }
                (_, None) => {
                    let what = "what is not known of the script".to_owned();
                    out.apply_requirement(self.asks(matter), ApprovalReason::Untrusted { what });
                }
            }
        }
    }

    fn not_understood(&self, account: &CommandAnalysis, dangerous: ApprovalCase, out: &mut IntentEvaluation) {
        let asks = self.asks(dangerous);
        for doubt in account.undecided.iter().filter(|doubt| doubt.unread) {
            let (what, why) = (format!("`{}`", doubt.text), doubt.why.to_owned());
            out.apply_requirement(asks, ApprovalReason::NotUnderstood { what, why });
        }
        for (name, value, why) in &account.sets {
            if let Some(why) = why {
                out.apply_requirement(
                    asks,
                    ApprovalReason::Dangerous { what: format!("`{name}={value}`"), why: (*why).to_owned() },
                );
            }
        }
        if account.long {
            let (what, why) = ("the script".to_owned(), "it is longer than anybody reads".to_owned());
            out.apply_requirement(asks, ApprovalReason::NotUnderstood { what, why });
        }
    }
}
