//! Proposes a rule that makes a question unnecessary: as broad as is safe.

use crate::approval_question::{ApprovalReason, RuleProposal};
use crate::programs::{CommandRisk, classify_command, first_altering_word, is_unknown_program, rule_prefix};
use crate::rules::{MAX_PATTERN_WORDS, NewRule, PathAccess, RuleDecision, RulePath, RuleSubject};
use crate::{CommandAnalysis, Grant, Grants};

/// Words that illustrate what else a prefix rule allows.
const EXAMPLE_ARGS: [&str; 3] = ["--any-option", "../any/path", "any other words"];

/// Proposes a rule that would have avoided the question about one command. It never proposes a bare interpreter, a
/// wrapper, `git` alone or a dangerous command. For an unknown program the rule names every word. The model's proposed
/// words are used if they are a prefix of the command and at least as specific.
pub(crate) fn propose_command_rule(
    analysis: &CommandAnalysis,
    reasons: &[ApprovalReason],
    grants: &Grants,
    proposed: Option<&[String]>,
) -> Option<RuleProposal> {
    // Leaving the sandbox needs approval each time: a rule would also release other projects' commands with the same
    // words.
    let spared = |why: &ApprovalReason| matches!(why, ApprovalReason::Untrusted { .. });
    if reasons.is_empty()
        || !reasons.iter().all(spared)
        || !analysis.undecided.is_empty()
        || analysis.too_long
    {
        return None;
    }
    if !analysis.assignments.is_empty() || !analysis.definitions.is_empty() {
        return None;
    }
    if grants.contains(&Grant::Unconfined) {
        return None;
    }
    // Wrappers and read-only commands need no rule.
    let mut asked = analysis.commands.iter().filter(|part| !part.is_wrapper && part.may_need_approval());
    let (part, None) = (asked.next()?, asked.next()) else { return None };
    let argv =
        part.argv().filter(|_| part.command.variables.is_empty() && part.written_files().next().is_none())?;
    // Rules are for programs found by name.
    if argv[0].contains('/') {
        return None;
    }
    let (words, exact) = match rule_prefix(&argv) {
        // A rule with these words would not cover the command itself.
        Some(words) if first_altering_word(&argv, words.len()).is_some() => return None,
        Some(words) => (words, false),
        None => (exact_words(&argv)?, true),
    };
    let narrower = |proposed: &&[String]| {
        proposed.len() >= words.len() && argv.iter().take(proposed.len()).eq(proposed.iter())
    };
    let of_model = proposed.filter(|proposed| proposed.len() <= argv.len()).filter(narrower);
    let words = of_model.map_or(words.clone(), <[String]>::to_vec);
    let pattern = words.iter().map(|word| vec![word.clone()]).collect();
    let rule = NewRule {
        subject: RuleSubject::Command { pattern, exact },
        decision: RuleDecision::Allow,
        reason: None,
        unsandboxed: false,
        example: Some(argv.iter().map(|word| (*word).to_owned()).collect()),
    };
    let begin = words.join(" ");
    let allowed_examples = match exact {
        true => vec![format!("{begin} (these words and no others) in any directory")],
        false => EXAMPLE_ARGS.iter().map(|more| format!("{begin} {more}")).collect(),
    };
    Some(RuleProposal { rule, allowed_examples, chosen_by_model: of_model.is_some() })
}

/// Returns all words of a command whose program is unknown, since the effect of other words is unknown too.
fn exact_words(argv: &[&str]) -> Option<Vec<String>> {
    let harmless = !matches!(classify_command(argv), CommandRisk::Dangerous(_) | CommandRisk::Risky(_));
    let fits = harmless && is_unknown_program(argv[0]) && argv.len() <= MAX_PATTERN_WORDS;
    fits.then(|| argv.iter().map(|word| (*word).to_owned()).collect())
}

/// Proposes the rule that gives one of these grants in advance.
pub(crate) fn propose_grant_rule(grants: &Grants) -> Option<RuleProposal> {
    let [grant] = grants.iter().collect::<Vec<_>>()[..] else { return None };
    let (subject, allows) = match grant {
        Grant::Write(path) => {
            let any = format!("any command that changes `{}`", path.display());
            (
                RuleSubject::Path {
                    paths: vec![RulePath::Absolute(path.clone())],
                    access: PathAccess::Write,
                },
                any,
            )
        }
        Grant::Connect(host) => {
            let any = format!("any command that connects to `{host}`");
            (RuleSubject::Host { hosts: vec![host.clone()] }, any)
        }
        Grant::Socket(_) | Grant::Unconfined => return None,
    };
    let rule =
        NewRule { subject, decision: RuleDecision::Allow, reason: None, unsandboxed: false, example: None };
    Some(RuleProposal { rule, allowed_examples: vec![allows], chosen_by_model: false })
}
