//! A question → the rule that would make it unnecessary, as wide as it can be without being careless.

use crate::known::stem;
use crate::question::{Cause, Proposal};
use crate::rules::{Access, Decision, NewRule, On, Where};
use crate::{Account, Grant, Grants};

/// Words that stand for what else a rule of a few words lets follow.
const ANYTHING: [&str; 3] = ["--any-option", "../any/path", "any other words"];

/// The rule that would have spared the question about one command, if there is one that says something: never for a bare
/// interpreter, a wrapper or `git` alone, nor for what is dangerous.
pub(crate) fn command(account: &Account, why: &[Cause], grants: &Grants) -> Option<Proposal> {
    // What leaves the sandbox does so each time because somebody said yes: a rule would let out whatever any project
    // makes of the same words.
    let spared = |why: &Cause| matches!(why, Cause::Untrusted { .. });
    if why.is_empty() || !why.iter().all(spared) || !account.undecided.is_empty() || account.long {
        return None;
    }
    if !account.sets.is_empty() || !account.defines.is_empty() {
        return None;
    }
    if grants.contains(&Grant::Unconfined) {
        return None;
    }
    // What only starts another part needs no rule, and what only reads none either.
    let mut asked = account.parts.iter().filter(|part| !part.wraps && part.counts());
    let (part, None) = (asked.next()?, asked.next()) else { return None };
    let argv = part.argv().filter(|_| part.command.variables.is_empty() && part.writes().next().is_none())?;
    // A rule is for a program that is found by its name.
    let words = stem(&argv).filter(|words| !words[0].contains('/'))?;
    let pattern = words.iter().map(|word| vec![word.clone()]).collect();
    let rule = NewRule {
        on: On::Command { pattern, exact: false },
        decision: Decision::Allow,
        reason: None,
        unsandboxed: false,
        example: Some(argv.iter().map(|word| (*word).to_owned()).collect()),
    };
    let begin = words.join(" ");
    Some(Proposal { rule, allows: ANYTHING.iter().map(|more| format!("{begin} {more}")).collect() })
}

/// The rule that would have given one of these beforehand.
pub(crate) fn beyond(grants: &Grants) -> Option<Proposal> {
    let [grant] = grants.iter().collect::<Vec<_>>()[..] else { return None };
    let (on, allows) = match grant {
        Grant::Write(path) => {
            let any = format!("any command that changes `{}`", path.display());
            (On::Path { paths: vec![Where::At(path.clone())], access: Access::Write }, any)
        }
        Grant::Connect(host) => {
            let any = format!("any command that connects to `{host}`");
            (On::Host { hosts: vec![host.clone()] }, any)
        }
        Grant::Socket(_) | Grant::Unconfined => return None,
    };
    let rule = NewRule { on, decision: Decision::Allow, reason: None, unsandboxed: false, example: None };
    Some(Proposal { rule, allows: vec![allows] })
}
