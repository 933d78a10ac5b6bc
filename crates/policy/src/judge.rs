//! Evaluates an intent: judges each effect and collects the reasons for a question.

use std::path::Path;

use crate::known::Known;
use crate::lookup::{self, on_host, on_path};
use crate::propose;
use crate::question::Proposal;
use crate::rules::{Access, Decision, Rule, Rules};
use crate::store::Key;
use crate::{
    Account, ApprovalPolicy, Cause, CommandLine, Denial, Effect, Escalation, Foreign, Gate, Grant, Grants,
    Host, HostFile, HostRole, Intent, Matter, Network, Part, Remembering, Requirement, Trust, Typing,
    Unasked, requirement,
};

/// The evaluation of an intent.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) forbidden: Option<Denial>,
    pub(crate) why: Vec<Cause>,
    /// Grants beyond the policy that an approval must give.
    pub(crate) grants: Grants,
    pub(crate) account: Option<Account>,
    pub(crate) keys: Vec<Key>,
    pub(crate) proposal: Option<Proposal>,
    /// A hook asks, so no earlier approval counts.
    pub(crate) hooked: bool,
}

/// The inputs for evaluating one effect.
struct Judging<'a> {
    gate: &'a Gate,
    rules: &'a Rules,
    /// A rule allows every call of the tool.
    allowed: bool,
    /// Programs are looked up in any case.
    bound: bool,
}

impl Judgement {
    /// Evaluates all effects of `intent` of `tool`. Programs are looked up if the result depends on them, or if `bound`
    /// is set.
    pub(crate) fn of(gate: &Gate, tool: &str, intent: &Intent, bound: bool) -> Self {
        let rules = gate.rules();
        let mut out = Self::default();
        if gate.approval == ApprovalPolicy::Disabled {
            out.forbid(Some(Denial::Disabled));
            return out;
        }
        let mut judging = Judging { gate, rules: &rules, allowed: false, bound };
        let about = rules.tool(tool).into_iter().chain(by_path(&rules, intent));
        if let Some(rule) = strictest(about) {
            let what = format!("the tool `{tool}`");
            match rule.decision {
                Decision::Allow => judging.allowed = true,
                Decision::Ask => out.by_rule(gate, Matter::MustAsk, what, rule, true),
                Decision::Forbid => out.by_rule(gate, Matter::Forbidden, what, rule, true),
            }
        }
        for effect in &intent.effects {
            match effect {
                Effect::Read(path) => {
                    out.keys.push(Key::Read(path.clone()));
                    out.forbid(gate.reach.judge(path).err());
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
            out.keys.push(Key::Tool(tool.to_owned()));
        }
        out
    }

    fn forbid(&mut self, denial: Option<Denial>) {
        self.forbidden = self.forbidden.take().or(denial);
    }

    /// Applies one requirement of the approval table, with its reason.
    pub(crate) fn raise(&mut self, requirement: Requirement, why: Cause) {
        self.hooked |= matches!(why, Cause::Hook { .. });
        match requirement {
            Requirement::Skip => {}
            Requirement::NeedsApproval => {
                if !self.why.contains(&why) {
                    self.why.push(why);
                }
            }
            Requirement::Forbidden => {
                self.forbid(Some(Denial::Unasked { why: why.to_string(), unasked: Unasked::Never }));
            }
        }
    }

    fn by_rule(&mut self, gate: &Gate, matter: Matter, what: String, rule: &Rule, certain: bool) {
        if matter == Matter::Forbidden {
            let place = format!("{}:{}", rule.file.display(), rule.line);
            self.forbid(Some(Denial::ByRule { what, rule: place, reason: rule.reason.clone() }));
        } else {
            let why = Cause::Rule { what, rule: Box::new(rule.clone()), certain };
            self.raise(requirement(gate.approval, matter), why);
        }
    }
}

/// Returns the rules that name a server's tool as `server/tool`.
fn by_path<'a>(rules: &'a Rules, intent: &Intent) -> Vec<&'a Rule> {
    // Only a tool has a definition; reading a server's resource is not a tool call.
    let paths = intent.effects.iter().filter_map(|effect| match effect {
        Effect::Foreign(Foreign { server, tool, definition, .. }) if !definition.is_empty() => {
            Some(format!("{server}/{tool}"))
        }
        _ => None,
    });
    paths.flat_map(|path| rules.tool(&path)).collect()
}

fn strictest<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Option<&'a Rule> {
    rules.into_iter().max_by_key(|rule| rule.decision)
}

impl Judging<'_> {
    fn asks(&self, matter: Matter) -> Requirement {
        // An allow-rule for a tool covers everything inside the sandbox, but no permission beyond it.
        let inside = matches!(
            matter,
            Matter::ReadsUnconfined
                | Matter::Runs
                | Matter::RunsUnconfined
                | Matter::Dangerous
                | Matter::DangerousUnconfined
        );
        let matter = if self.allowed && inside { Matter::Allowed } else { matter };
        requirement(self.gate.approval, matter)
    }

    fn confines(&self) -> bool {
        self.gate.sandbox.confines()
    }

    fn dangerous(&self) -> Matter {
        if self.confines() { Matter::Dangerous } else { Matter::DangerousUnconfined }
    }

    fn runs(&self) -> Matter {
        if self.confines() { Matter::Runs } else { Matter::RunsUnconfined }
    }

    fn write(&self, path: &Path, out: &mut Judgement) {
        let what = format!("changing `{}`", path.display());
        out.keys.push(Key::Write(path.to_owned()));
        let mut asked = false;
        if let Some(rule) =
            strictest(on_path(self.rules, path, Access::Write, self.gate.confinement.home.as_deref()))
        {
            match rule.decision {
                Decision::Forbid => return out.by_rule(self.gate, Matter::Forbidden, what, rule, true),
                Decision::Ask => {
                    asked = true;
                    out.by_rule(self.gate, Matter::MustAsk, what.clone(), rule, true);
                }
                Decision::Allow => {
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
        if !self.confines() || may(path) || may(&self.gate.reach.real(path)) {
            return out.raise(self.asks(self.runs()), Cause::Untrusted { what });
        }
        match self.gate.confinement.closed(path.to_owned()) {
            // The rule has asked already: the approval must open the path, and needs no second reason.
            denial @ Denial::ClosedByRule { .. } if asked => match self.gate.grant(&denial) {
                Some(grant) => {
                    out.grants.insert(grant);
                }
                None => out.forbid(Some(denial)),
            },
            denial => self.beyond(denial, out),
        }
    }

    /// Handles `path` if it is configuration that takes effect on the user's machine. Every policy asks about that.
    fn is_configuration(&self, path: &Path, out: &mut Judgement) -> bool {
        let real = self.gate.machine.standing(path);
        let files = [path, real.as_path()].map(|path| (path, self.gate.host_file(path)));
        let Some((path, when)) = files.into_iter().find_map(|(path, file)| match file {
            Some(HostFile { role: HostRole::Configuration, when }) => Some((path.to_owned(), when)),
            _ => None,
        }) else {
            return false;
        };
        let denial = Denial::HostConfiguration { path, when };
        match (requirement(self.gate.approval, Matter::MustAsk), self.gate.grant(&denial)) {
            (Requirement::NeedsApproval, Some(grant)) => {
                out.grants.insert(grant);
                out.raise(Requirement::NeedsApproval, Cause::Beyond(denial));
            }
            _ => out.forbid(Some(denial)),
        }
        true
    }

    fn network(&self, target: &str, out: &mut Judgement) {
        let what = format!("connecting to `{target}`");
        let Ok(host) = target.parse::<Host>() else {
            let network = self.gate.confinement.network;
            return out.forbid(Some(Denial::MayNotConnect { target: target.to_owned(), network }));
        };
        out.keys.push(Key::from(&host));
        if let Some(rule) = strictest(on_host(self.rules, &host)) {
            match rule.decision {
                Decision::Forbid => return out.by_rule(self.gate, Matter::Forbidden, what, rule, true),
                Decision::Ask => out.by_rule(self.gate, Matter::MustAsk, what.clone(), rule, true),
                Decision::Allow => return,
            }
        }
        // Unlike a command, a built-in tool connects only to the stated host, so an allow-rule for the tool covers it.
        if self.allowed {
            return;
        }
        let network = self.gate.confinement.network;
        let reached = {
            let (name, port) = lookup::apart(&host);
            self.gate.confinement.hosts.may_reach(&name, port)
        };
        if !self.confines() || network == Network::On || reached {
            return out.raise(self.asks(self.runs()), Cause::Untrusted { what });
        }
        self.beyond(Denial::MayNotConnect { target: target.to_owned(), network }, out);
    }

    /// Asks for the grant that lifts `denial`, or forbids the effect if there is none.
    fn beyond(&self, denial: Denial, out: &mut Judgement) {
        match (self.asks(Matter::Beyond), self.gate.grant(&denial)) {
            (Requirement::NeedsApproval, Some(grant)) => {
                out.grants.insert(grant);
                out.raise(Requirement::NeedsApproval, Cause::Beyond(denial));
            }
            _ => out.forbid(Some(denial)),
        }
    }

    fn typing(&self, typing: &Typing, out: &mut Judgement) {
        let Typing { into, text, confined } = typing;
        out.keys.push(Key::Type { into: into.clone(), text: text.clone() });
        if *confined {
            return;
        }
        let what = format!("typing into `{into}`");
        if self.confines() {
            let why = "reaches a program that runs without the sandbox".to_owned();
            return out.raise(self.asks(Matter::DangerousUnconfined), Cause::Dangerous { what, why });
        }
        out.raise(self.asks(Matter::RunsUnconfined), Cause::Untrusted { what });
    }

    fn foreign(&self, foreign: &Foreign, out: &mut Judgement) {
        out.keys.push(Key::from(foreign));
        let Foreign { server, tool, trust, .. } = foreign.clone();
        match trust {
            // The earlier approval was for another definition.
            Trust::Changed => {
                let why = Cause::Redefined { server, tool };
                out.raise(requirement(self.gate.approval, Matter::MustAsk), why);
            }
            Trust::Unknown if !self.allowed => {
                out.raise(self.asks(Matter::MustAsk), Cause::Foreign { server, tool });
            }
            Trust::Unknown | Trust::ReadOnly | Trust::Trusted => {}
        }
    }

    /// Evaluates a note for later sessions. It steers those sessions, so a person must approve it.
    fn remember(&self, remembering: &Remembering, out: &mut Judgement) {
        out.keys.push(Key::Remember(remembering.clone()));
        let Remembering { name, scope, .. } = remembering.clone();
        if !self.allowed {
            out.raise(self.asks(Matter::MustAsk), Cause::Remembers { name, scope });
        }
    }

    fn exec(&self, line: &CommandLine, intent: &Intent, out: &mut Judgement) {
        let mut account = Account::of(line, self.rules);
        // Program paths matter only if a rule or a stored approval depends on the program's identity.
        let allows = |part: &Part| part.rules.iter().any(|said| said.rule.decision == Decision::Allow);
        let bound = self.bound
            || self.gate.approval == ApprovalPolicy::Untrusted
            || account.parts.iter().any(allows)
            || self.gate.remembers();
        if bound {
            account.bind(&*self.gate.machine, &line.cwd);
        }
        let leaves = self.confines() && account.unsandboxed();
        if leaves {
            out.grants.insert(Grant::Unconfined);
        }
        let dangerous = if leaves { Matter::DangerousUnconfined } else { self.dangerous() };
        self.about(&account, (leaves, dangerous), out);
        if self.confines() && !leaves && intent.escalation == Escalation::Required {
            let asks = self.asks(Matter::Leaves);
            if asks == Requirement::NeedsApproval {
                out.grants.insert(Grant::Unconfined);
            }
            out.raise(asks, Cause::Leaves);
        }
        if !bound && !out.why.is_empty() {
            account.bind(&*self.gate.machine, &line.cwd);
        }
        let programs = account.parts.iter().map(|part| {
            let path = part.program.as_ref().map(|program| program.path.clone());
            path.filter(|path| !path.as_os_str().is_empty())
        });
        let programs = programs.collect();
        out.keys.push(Key::Run { line: line.clone(), programs, sandbox: self.gate.sandbox.as_str() });
        out.proposal = propose::command(&account, &out.why, &out.grants, intent.prefix_rule.as_deref());
        out.account = Some(account);
    }

    /// Adds the questions about the commands of a line.
    fn about(&self, account: &Account, (leaves, dangerous): (bool, Matter), out: &mut Judgement) {
        for (matter, part) in account.matters(self.confines()) {
            // The rules that let the line leave the sandbox cover all of it.
            if leaves && !matches!(matter, Matter::MustAsk | Matter::Forbidden | Matter::Dangerous) {
                continue;
            }
            match (matter, part) {
                (Matter::MustAsk | Matter::Forbidden, Some(part)) => {
                    if let Some(said) = part.rules.first() {
                        let what = format!("`{}`", part.command.line());
                        out.by_rule(self.gate, matter, what, &said.rule, said.certain);
                    }
                }
                (Matter::Dangerous, Some(part)) => {
                    let (Known::Dangerous(why) | Known::Risky(why)) = part.known else { continue };
                    let what = format!("`{}`", part.command.line());
                    out.raise(self.asks(dangerous), Cause::Dangerous { what, why: why.to_owned() });
                }
                (Matter::Dangerous, None) => self.not_understood(account, dangerous, out),
                (_, Some(part)) => {
                    let what = format!("`{}`", part.command.line());
                    out.raise(self.asks(matter), Cause::Untrusted { what });
                }
                (_, None) => {
                    let what = "what is not known of the script".to_owned();
                    out.raise(self.asks(matter), Cause::Untrusted { what });
                }
            }
        }
    }

    fn not_understood(&self, account: &Account, dangerous: Matter, out: &mut Judgement) {
        let asks = self.asks(dangerous);
        for doubt in account.undecided.iter().filter(|doubt| doubt.unread) {
            let (what, why) = (format!("`{}`", doubt.text), doubt.why.to_owned());
            out.raise(asks, Cause::NotUnderstood { what, why });
        }
        for (name, value, why) in &account.sets {
            if let Some(why) = why {
                out.raise(
                    asks,
                    Cause::Dangerous { what: format!("`{name}={value}`"), why: (*why).to_owned() },
                );
            }
        }
        if account.long {
            let (what, why) = ("the script".to_owned(), "it is longer than anybody reads".to_owned());
            out.raise(asks, Cause::NotUnderstood { what, why });
        }
    }
}
