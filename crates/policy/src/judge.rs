//! What an intent comes to: each effect weighed, and why somebody has to be asked.

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

/// What was found out about an intent.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) forbidden: Option<Denial>,
    pub(crate) why: Vec<Cause>,
    /// What a yes has to give beyond the policy.
    pub(crate) grants: Grants,
    pub(crate) account: Option<Account>,
    pub(crate) keys: Vec<Key>,
    pub(crate) proposal: Option<Proposal>,
    /// A hook asks: no earlier answer counts.
    pub(crate) hooked: bool,
}

/// What judging goes by.
struct Judging<'a> {
    gate: &'a Gate,
    rules: &'a Rules,
    /// A rule allows every call of the tool.
    allowed: bool,
    /// Where programs lie is asked in any case.
    bound: bool,
}

impl Judgement {
    /// Judges all effects of `intent` of `tool`; programs are looked up if that matters, or if they are to be `bound`.
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

    /// Takes what the table says about a matter.
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

/// The rules that name a tool of a server as `server/tool`.
fn by_path<'a>(rules: &'a Rules, intent: &Intent) -> Vec<&'a Rule> {
    // Only a tool has a definition; reading what a server has is not a call of one.
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
        // Whoever allows a tool allows whatever it does where it is: not what it needs beyond that.
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
        // What is spelled `/tmp` may be a directory of the session's own.
        let may = |path: &Path| self.gate.confinement.may_write(path);
        if !self.confines() || may(path) || may(&self.gate.reach.real(path)) {
            return out.raise(self.asks(self.runs()), Cause::Untrusted { what });
        }
        match self.gate.confinement.closed(path.to_owned()) {
            // The rule has asked already: a yes has to open the path, and needs no second reason.
            denial @ Denial::ClosedByRule { .. } if asked => match self.gate.grant(&denial) {
                Some(grant) => {
                    out.grants.insert(grant);
                }
                None => out.forbid(Some(denial)),
            },
            denial => self.beyond(denial, out),
        }
    }

    /// Whether `path` is configuration that a program of the user's obeys: that is asked about under every policy.
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
        // Unlike a command, a tool of ours that talks to a host talks to no other: whoever allows the tool allows that.
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

    /// What the sandbox does not give can be given, or not.
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
            // Whoever allowed it allowed what it was.
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

    /// What later sessions read steers them, so somebody has to want it.
    fn remember(&self, remembering: &Remembering, out: &mut Judgement) {
        out.keys.push(Key::Remember(remembering.clone()));
        let Remembering { name, scope, .. } = remembering.clone();
        if !self.allowed {
            out.raise(self.asks(Matter::MustAsk), Cause::Remembers { name, scope });
        }
    }

    fn exec(&self, line: &CommandLine, intent: &Intent, out: &mut Judgement) {
        let mut account = Account::of(line, self.rules);
        // Where programs lie matters only if something is allowed for being the program it looks like, or is remembered so.
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

    /// What there is to be asked about the parts of a command.
    fn about(&self, account: &Account, (leaves, dangerous): (bool, Matter), out: &mut Judgement) {
        for (matter, part) in account.matters(self.confines()) {
            // The rules that let it leave speak for all of it.
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
