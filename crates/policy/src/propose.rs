//! A question → the rule that would make it unnecessary, as wide as it can be without being careless.

use crate::known::{Known, alters, is_unknown, known, stem};
use crate::question::{Cause, Proposal};
use crate::rules::{Access, Decision, MAX_WORDS, NewRule, On, Where};
use crate::{Account, Grant, Grants};

/// Words that stand for what else a rule of a few words lets follow.
const ANYTHING: [&str; 3] = ["--any-option", "../any/path", "any other words"];

/// The rule that would have spared the question about one command, if there is one that says something: never for a bare
/// interpreter, a wrapper or `git` alone, nor for what is dangerous. Of a program that is not known it names every word. The
/// words that the model proposes are taken if they begin the command and say no less than ours.
pub(crate) fn command(
    account: &Account,
    why: &[Cause],
    grants: &Grants,
    proposed: Option<&[String]>,
) -> Option<Proposal> {
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
    if argv[0].contains('/') {
        return None;
    }
    let (words, exact) = match stem(&argv) {
        // A rule of these words would not cover the command itself.
        Some(words) if alters(&argv, words.len()).is_some() => return None,
        Some(words) => (words, false),
        None => (whole(&argv)?, true),
    };
    let narrower = |proposed: &&[String]| {
        proposed.len() >= words.len() && argv.iter().take(proposed.len()).eq(proposed.iter())
    };
    let of_model = proposed.filter(|proposed| proposed.len() <= argv.len()).filter(narrower);
    let words = of_model.map_or(words.clone(), <[String]>::to_vec);
    let pattern = words.iter().map(|word| vec![word.clone()]).collect();
    let rule = NewRule {
        on: On::Command { pattern, exact },
        decision: Decision::Allow,
        reason: None,
        unsandboxed: false,
        example: Some(argv.iter().map(|word| (*word).to_owned()).collect()),
    };
    let begin = words.join(" ");
    let allows = match exact {
        true => vec![format!("{begin} (these words and no others) in any directory")],
        false => ANYTHING.iter().map(|more| format!("{begin} {more}")).collect(),
    };
    Some(Proposal { rule, allows, of_model: of_model.is_some() })
}

/// All words of a command whose program is not known: what other words would make of it, nobody can say.
fn whole(argv: &[&str]) -> Option<Vec<String>> {
    let harmless = !matches!(known(argv), Known::Dangerous(_) | Known::Risky(_));
    let fits = harmless && is_unknown(argv[0]) && argv.len() <= MAX_WORDS;
    fits.then(|| argv.iter().map(|word| (*word).to_owned()).collect())
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
    Some(Proposal { rule, allows: vec![allows], of_model: false })
}
