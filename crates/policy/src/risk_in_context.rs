//! Classifies one command of a script by its words, its variables, and the source and destination of its data.

use crate::dataflow::{self, SINKS};
use crate::programs::{CommandRisk, classify_command, classify_words, dangerous_variable, may_be_read};
use crate::shell::{ScriptCommand, ScriptRedirect, literal_text, word_text};

/// Returns the risk of a single command if it is dangerous even in the sandbox.
pub(crate) fn danger_of(command: &ScriptCommand) -> Option<CommandRisk> {
    Some(classify_in_context(command, false, false))
        .filter(|known| matches!(known, CommandRisk::Dangerous(_)))
}

/// Classifies a command by its words, its variables, and the source and destination of its data.
/// With `starts`, words added by `xargs` or `find` do not change the result.
pub(crate) fn classify_in_context(command: &ScriptCommand, is_wrapper: bool, starts: bool) -> CommandRisk {
    let mut words: Vec<Option<&str>> = command.words.iter().map(literal_text).collect();
    words.extend(command.more_args.then_some(None));
    let risk = classify_words(&words);
    let written: Vec<&str> = command.words.iter().map(|word| word_text(word).trim_matches('"')).collect();
    let dangers = [
        [Some(risk), words.contains(&None).then(|| classify_command(&written))]
            .into_iter()
            .flatten()
            .find(|known| matches!(known, CommandRisk::Dangerous(_))),
        command.variables.iter().find_map(|(name, _)| dangerous_variable(name)).map(CommandRisk::Dangerous),
        dataflow::find_danger(command).map(CommandRisk::Dangerous),
    ];
    if let Some(danger) = dangers.into_iter().flatten().next() {
        return danger;
    }
    // The source text of an unknown word such as `~` is enough here.
    if words.contains(&None)
        && let risk @ CommandRisk::Risky(_) = classify_command(&written)
    {
        return risk;
    }
    let risk = if is_wrapper || starts { CommandRisk::ReadOnly } else { risk };
    let writes = command.redirects.iter().any(|redirect| match redirect {
        ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
            !literal_text(to).is_some_and(|to| SINKS.contains(&to))
        }
        ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => false,
    });
    let expands = words.contains(&None) && !starts;
    // Input must be a readable file or a known text.
    let unreadable_input = command.redirects.iter().any(|redirect| match redirect {
        ScriptRedirect::Read(from) => !literal_text(from).is_some_and(may_be_read),
        ScriptRedirect::Text(text) => literal_text(text).is_none(),
        ScriptRedirect::Write(_) | ScriptRedirect::Append(_) | ScriptRedirect::ReadWrite(_) => false,
    });
    match risk {
        CommandRisk::Risky(_) => risk,
        _ if writes || expands || unreadable_input || !command.variables.is_empty() => CommandRisk::Ordinary,
        _ => risk,
    }
}
