//! Evaluates an intent: judges each effect and collects the reasons for a question.

use std::path::Path;

use crate::approval_question::RuleProposal;
use crate::approval_store::ApprovalKey;
use crate::effect_summary::removed_paths;
use crate::programs::CommandRisk;
use crate::propose_rule;
use crate::rule_lookup::{self, rules_for_host, rules_for_path};
use crate::rules::{PathAccess, PolicyRule, RuleDecision, RuleSet};
use crate::{
    ApprovalCase, ApprovalPolicy, ApprovalReason, ApprovalRequirement, ClassifiedCommand, CommandAnalysis,
    Denial, Effect, Escalation, ExecEffect, ForeignToolCall, Gate, Grant, Grants, HostFile, HostFileRole,
    HostPattern, Intent, MemoryNote, NetworkPolicy, NotAskedReason, ProgramInput, ToolTrust,
    approval_requirement,
};

/// The evaluation of an intent.
#[derive(Debug, Default)]
pub(crate) struct IntentEvaluation {
    pub(crate) forbidden: Option<Denial>,
    pub(crate) reasons: Vec<ApprovalReason>,
    /// Grants beyond the policy that an approval must give.
    pub(crate) grants: Grants,
    pub(crate) analysis: Option<CommandAnalysis>,
    pub(crate) keys: Vec<ApprovalKey>,
    pub(crate) proposal: Option<RuleProposal>,
    /// A hook asks, so no earlier approval counts.
    pub(crate) hook_asks: bool,
}

/// The inputs for evaluating one effect.
struct EffectEvaluator<'a> {
    gate: &'a Gate,
    rules: &'a RuleSet,
    /// A rule allows every call of the tool.
    tool_allowed: bool,
    /// Programs are looked up in any case.
    resolve_programs: bool,
}

impl IntentEvaluation {
    /// Evaluates all effects of `intent` of `tool`. Programs are looked up if the result depends on them, or if
    /// `resolve_programs` is set.
    pub(crate) fn evaluate(gate: &Gate, tool: &str, intent: &Intent, resolve_programs: bool) -> Self {
        let rules = gate.rules();
        let mut out = Self::default();
        if gate.approval == ApprovalPolicy::Disabled {
            out.forbid(Some(Denial::Disabled));
            return out;
        }
        let mut evaluator = EffectEvaluator { gate, rules: &rules, tool_allowed: false, resolve_programs };
        let tool_rules = rules.rules_for_tool(tool).into_iter().chain(rules_for_server_tools(&rules, intent));
        if let Some(rule) = strictest_rule(tool_rules) {
            let what = format!("the tool `{tool}`");
            match rule.decision {
                RuleDecision::Allow => evaluator.tool_allowed = true,
                RuleDecision::Ask => out.apply_rule(gate, ApprovalCase::MustAsk, what, rule, true),
                RuleDecision::Forbid => out.apply_rule(gate, ApprovalCase::Forbidden, what, rule, true),
            }
        }
        for effect in &intent.effects {
            match effect {
                Effect::Read(path) => {
                    out.keys.push(ApprovalKey::Read(path.clone()));
                    out.forbid(gate.read_scope.check_read(path).err());
                }
                Effect::Write(path) => evaluator.evaluate_write(path, &mut out),
                Effect::Exec(exec) => evaluator.evaluate_exec(exec, intent, &mut out),
                Effect::SendInput(input) => evaluator.evaluate_input(input, &mut out),
                Effect::Network(target) => evaluator.evaluate_network(target, &mut out),
                Effect::Foreign(foreign) => evaluator.evaluate_foreign_call(foreign, &mut out),
                Effect::Remember(note) => evaluator.evaluate_memory(note, &mut out),
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
        self.hook_asks |= matches!(why, ApprovalReason::Hook { .. });
        match requirement {
            ApprovalRequirement::Skip => {}
            ApprovalRequirement::NeedsApproval => {
                if !self.reasons.contains(&why) {
                    self.reasons.push(why);
                }
            }
            ApprovalRequirement::Forbidden => {
                let denials = why.denial().cloned().into_iter().collect();
                let unasked = NotAskedReason::Never;
                self.forbid(Some(Denial::Unasked { why: why.to_string(), denials, unasked }));
            }
        }
    }

    fn apply_rule(
        &mut self,
        gate: &Gate,
        case: ApprovalCase,
        what: String,
        rule: &PolicyRule,
        certain: bool,
    ) {
        if case == ApprovalCase::Forbidden {
            let position = format!("{}:{}", rule.file.display(), rule.line);
            self.forbid(Some(Denial::ByRule { what, rule: position, reason: rule.reason.clone() }));
        } else {
            let why = ApprovalReason::Rule { what, rule: Box::new(rule.clone()), certain };
            self.apply_requirement(approval_requirement(gate.approval, case), why);
        }
    }
}

/// Returns the rules that name a server's tool as `server/tool`.
fn rules_for_server_tools<'a>(rules: &'a RuleSet, intent: &Intent) -> Vec<&'a PolicyRule> {
    // Only a tool has a definition; reading a server's resource is not a tool call.
    let paths = intent.effects.iter().filter_map(|effect| match effect {
        Effect::Foreign(ForeignToolCall { server, tool, definition, .. }) if !definition.is_empty() => {
            Some(format!("{server}/{tool}"))
        }
        _ => None,
    });
    paths.flat_map(|path| rules.rules_for_tool(&path)).collect()
}

fn strictest_rule<'a>(rules: impl IntoIterator<Item = &'a PolicyRule>) -> Option<&'a PolicyRule> {
    rules.into_iter().max_by_key(|rule| rule.decision)
}

impl EffectEvaluator<'_> {
    fn requirement_for(&self, case: ApprovalCase) -> ApprovalRequirement {
        // An allow-rule for a tool covers everything inside the sandbox, but no permission beyond it.
        let inside = matches!(
            case,
            ApprovalCase::ReadsUnconfined
                | ApprovalCase::Runs
                | ApprovalCase::RunsUnconfined
                | ApprovalCase::Dangerous
                | ApprovalCase::DangerousUnconfined
        );
        let case = if self.tool_allowed && inside { ApprovalCase::Allowed } else { case };
        approval_requirement(self.gate.approval, case)
    }

    fn confines(&self) -> bool {
        self.gate.sandbox.confines()
    }

    fn dangerous_case(&self) -> ApprovalCase {
        if self.confines() { ApprovalCase::Dangerous } else { ApprovalCase::DangerousUnconfined }
    }

    fn run_case(&self) -> ApprovalCase {
        if self.confines() { ApprovalCase::Runs } else { ApprovalCase::RunsUnconfined }
    }

    fn evaluate_write(&self, path: &Path, out: &mut IntentEvaluation) {
        let what = format!("changing `{}`", path.display());
        out.keys.push(ApprovalKey::Write(path.to_owned()));
        let mut asked = false;
        if let Some(rule) = strictest_rule(rules_for_path(
            self.rules,
            path,
            PathAccess::Write,
            self.gate.confinement.home.as_deref(),
        )) {
            match rule.decision {
                RuleDecision::Forbid => {
                    return out.apply_rule(self.gate, ApprovalCase::Forbidden, what, rule, true);
                }
                RuleDecision::Ask => {
                    asked = true;
                    out.apply_rule(self.gate, ApprovalCase::MustAsk, what.clone(), rule, true);
                }
                RuleDecision::Allow => {
                    out.grants.insert(Grant::Write(path.to_owned()));
                    return;
                }
            }
        }
        if self.handle_configuration(path, out) {
            return;
        }
        // The path `/tmp` may mean the session's own directory.
        let may = |path: &Path| self.gate.confinement.may_write(path);
        if !self.confines() || may(path) || may(&self.gate.read_scope.real_path(path)) {
            return out.apply_requirement(
                self.requirement_for(self.run_case()),
                ApprovalReason::Untrusted { what },
            );
        }
        match self.gate.confinement.closed_path_denial(path.to_owned()) {
            // The rule has asked already: the approval must open the path, and needs no second reason.
            denial @ Denial::ClosedByRule { .. } if asked => match self.gate.smallest_grant(&denial) {
                Some(grant) => {
                    out.grants.insert(grant);
                }
                None => out.forbid(Some(denial)),
            },
            denial => self.ask_for_grant(denial, out),
        }
    }

    /// Handles `path` if it is configuration that takes effect on the user's machine. Every policy asks about that.
    fn handle_configuration(&self, path: &Path, out: &mut IntentEvaluation) -> bool {
        let real = self.gate.machine.nearest_existing(path);
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
                out.apply_requirement(ApprovalRequirement::NeedsApproval, ApprovalReason::NeedsGrant(denial));
            }
            _ => out.forbid(Some(denial)),
        }
        true
    }

    fn evaluate_network(&self, target: &str, out: &mut IntentEvaluation) {
        let what = format!("connecting to `{target}`");
        let Ok(host) = target.parse::<HostPattern>() else {
            let network = self.gate.confinement.network;
            return out.forbid(Some(Denial::MayNotConnect { target: target.to_owned(), network }));
        };
        out.keys.push(ApprovalKey::from(&host));
        if let Some(rule) = strictest_rule(rules_for_host(self.rules, &host)) {
            match rule.decision {
                RuleDecision::Forbid => {
                    return out.apply_rule(self.gate, ApprovalCase::Forbidden, what, rule, true);
                }
                RuleDecision::Ask => {
                    out.apply_rule(self.gate, ApprovalCase::MustAsk, what.clone(), rule, true);
                }
                RuleDecision::Allow => return,
            }
        }
        // Unlike a command, a built-in tool connects only to the stated host, so an allow-rule for the tool covers it.
        if self.tool_allowed {
            return;
        }
        let network = self.gate.confinement.network;
        let reached = {
            let (name, port) = rule_lookup::split_host_port(&host);
            self.gate.confinement.hosts.may_reach(&name, port)
        };
        if !self.confines() || network == NetworkPolicy::On || reached {
            return out.apply_requirement(
                self.requirement_for(self.run_case()),
                ApprovalReason::Untrusted { what },
            );
        }
        self.ask_for_grant(Denial::MayNotConnect { target: target.to_owned(), network }, out);
    }

    /// Asks for the grant that lifts `denial`, or forbids the effect if there is none.
    fn ask_for_grant(&self, denial: Denial, out: &mut IntentEvaluation) {
        match (self.requirement_for(ApprovalCase::NeedsGrant), self.gate.smallest_grant(&denial)) {
            (ApprovalRequirement::NeedsApproval, Some(grant)) => {
                out.grants.insert(grant);
                out.apply_requirement(ApprovalRequirement::NeedsApproval, ApprovalReason::NeedsGrant(denial));
            }
            _ => out.forbid(Some(denial)),
        }
    }

    fn evaluate_input(&self, typing: &ProgramInput, out: &mut IntentEvaluation) {
        let ProgramInput { command_line, text, confined } = typing;
        out.keys.push(ApprovalKey::SendInput { command_line: command_line.clone(), text: text.clone() });
        if *confined {
            return;
        }
        let what = format!("typing into `{command_line}`");
        if self.confines() {
            let why = "reaches a program that runs without the sandbox".to_owned();
            return out.apply_requirement(
                self.requirement_for(ApprovalCase::DangerousUnconfined),
                ApprovalReason::Dangerous { what, why },
            );
        }
        out.apply_requirement(
            self.requirement_for(ApprovalCase::RunsUnconfined),
            ApprovalReason::Untrusted { what },
        );
    }

    fn evaluate_foreign_call(&self, foreign: &ForeignToolCall, out: &mut IntentEvaluation) {
        out.keys.push(ApprovalKey::from(foreign));
        let ForeignToolCall { server, tool, trust, .. } = foreign.clone();
        match trust {
            // The earlier approval was for another definition.
            ToolTrust::Changed => {
                let why = ApprovalReason::Redefined { server, tool };
                out.apply_requirement(approval_requirement(self.gate.approval, ApprovalCase::MustAsk), why);
            }
            ToolTrust::Unknown if !self.tool_allowed => {
                out.apply_requirement(
                    self.requirement_for(ApprovalCase::MustAsk),
                    ApprovalReason::Foreign { server, tool },
                );
            }
            ToolTrust::Unknown | ToolTrust::ReadOnly | ToolTrust::Trusted => {}
        }
    }

    /// Evaluates a note for later sessions. It steers those sessions, so a person must approve it.
    fn evaluate_memory(&self, note: &MemoryNote, out: &mut IntentEvaluation) {
        out.keys.push(ApprovalKey::Remember(note.clone()));
        let MemoryNote { name, scope, .. } = note.clone();
        if !self.tool_allowed {
            out.apply_requirement(
                self.requirement_for(ApprovalCase::MustAsk),
                ApprovalReason::Remembers { name, scope },
            );
        }
    }

    fn evaluate_exec(&self, exec: &ExecEffect, intent: &Intent, out: &mut IntentEvaluation) {
        let mut analysis = exec.analysis().with_rules(self.rules);
        // Program paths matter only if a rule or a stored approval depends on the program's identity.
        let allows = |part: &ClassifiedCommand| {
            part.rules.iter().any(|applied| applied.rule.decision == RuleDecision::Allow)
        };
        let needs_programs = self.resolve_programs
            || self.gate.approval == ApprovalPolicy::Untrusted
            || analysis.commands.iter().any(allows)
            || self.gate.has_approvals();
        if needs_programs {
            analysis.resolve_programs(&*self.gate.machine, exec.cwd());
        }
        let leaves = self.confines() && analysis.may_leave_sandbox();
        if leaves {
            out.grants.insert(Grant::Unconfined);
        }
        let dangerous = if leaves { ApprovalCase::DangerousUnconfined } else { self.dangerous_case() };
        let reasons = out.reasons.len();
        self.evaluate_commands(&analysis, (leaves, dangerous), out);
        // One question, not two: the yes that a removal needs anyway also opens the directory.
        if self.confines() && !leaves && out.reasons.len() > reasons {
            let removed = removed_paths(&analysis, exec.cwd());
            out.grants.extend(removed.iter().filter_map(|path| self.gate.directory_grant(path)));
        }
        if self.confines() && !leaves && intent.escalation == Escalation::Required {
            let asks = self.requirement_for(ApprovalCase::LeavesSandbox);
            if asks == ApprovalRequirement::NeedsApproval {
                out.grants.insert(Grant::Unconfined);
            }
            out.apply_requirement(asks, ApprovalReason::LeavesSandbox);
        }
        if !needs_programs && !out.reasons.is_empty() {
            analysis.resolve_programs(&*self.gate.machine, exec.cwd());
        }
        let programs = analysis.commands.iter().map(|part| {
            let path = part.program.as_ref().map(|program| program.path.clone());
            path.filter(|path| !path.as_os_str().is_empty())
        });
        out.keys.push(ApprovalKey::Run {
            line: exec.line().clone(),
            cwd: exec.cwd().to_owned(),
            terminal: exec.terminal,
            programs: programs.collect(),
            sandbox: self.gate.sandbox.as_str(),
        });
        out.proposal = propose_rule::propose_command_rule(
            &analysis,
            &out.reasons,
            &out.grants,
            intent.prefix_rule.as_deref(),
        );
        out.analysis = Some(analysis);
    }

    /// Adds the questions about the commands of a line.
    fn evaluate_commands(
        &self,
        analysis: &CommandAnalysis,
        (leaves, dangerous): (bool, ApprovalCase),
        out: &mut IntentEvaluation,
    ) {
        for (case, part) in analysis.approval_cases(self.confines()) {
            // The rules that let the line leave the sandbox cover all of it.
            if leaves
                && !matches!(case, ApprovalCase::MustAsk | ApprovalCase::Forbidden | ApprovalCase::Dangerous)
            {
                continue;
            }
            match (case, part) {
                (ApprovalCase::MustAsk | ApprovalCase::Forbidden, Some(part)) => {
                    if let Some(applied) = part.rules.first() {
                        let what = format!("`{}`", part.command.command_text());
                        out.apply_rule(self.gate, case, what, &applied.rule, applied.certain);
                    }
                }
                (ApprovalCase::Dangerous, Some(part)) => {
                    let (CommandRisk::Dangerous(why) | CommandRisk::Risky(why)) = part.risk else {
                        continue;
                    };
                    let what = format!("`{}`", part.command.command_text());
                    out.apply_requirement(
                        self.requirement_for(dangerous),
                        ApprovalReason::Dangerous { what, why: why.to_owned() },
                    );
                }
                (ApprovalCase::Dangerous, None) => self.ask_about_undecided(analysis, dangerous, out),
                (_, Some(part)) => {
                    let what = format!("`{}`", part.command.command_text());
                    out.apply_requirement(self.requirement_for(case), ApprovalReason::Untrusted { what });
                }
                (_, None) => {
                    let what = "what is not known of the script".to_owned();
                    out.apply_requirement(self.requirement_for(case), ApprovalReason::Untrusted { what });
                }
            }
        }
    }

    fn ask_about_undecided(
        &self,
        analysis: &CommandAnalysis,
        dangerous: ApprovalCase,
        out: &mut IntentEvaluation,
    ) {
        let asks = self.requirement_for(dangerous);
        for doubt in analysis.undecided.iter().filter(|doubt| doubt.unread) {
            let (what, why) = (format!("`{}`", doubt.text), doubt.why.to_owned());
            out.apply_requirement(asks, ApprovalReason::NotUnderstood { what, why });
        }
        for (name, value, why) in &analysis.assignments {
            if let Some(why) = why {
                out.apply_requirement(
                    asks,
                    ApprovalReason::Dangerous { what: format!("`{name}={value}`"), why: (*why).to_owned() },
                );
            }
        }
        if analysis.too_long {
            let (what, why) = ("the script".to_owned(), "it is longer than anybody reads".to_owned());
            out.apply_requirement(asks, ApprovalReason::NotUnderstood { what, why });
        }
    }
}
