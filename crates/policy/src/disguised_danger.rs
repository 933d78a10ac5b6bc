//! Finds dangers disguised with variables that a script sets, braces, `$IFS` or glob patterns as program names.

use crate::expand::{self, ScriptVariables, UnknownExpansion, fits_glob};
use crate::programs::program_name;
use crate::programs::{CommandRisk, programs_matching};
use crate::risk_in_context::danger_of;
use crate::shell::{ScriptCommand, ScriptWord, analyse_argv, literal_text, word_text};

/// Maximum number of programs tried for one glob pattern.
const MAX_GLOB_PROGRAMS: usize = 64;
/// Programs that remove the files in their arguments.
const REMOVERS: &[&str] = &["rm", "unlink", "gio", "trash", "trash-put"];

/// Returns the danger of the likely expanded `forms` of `command`.
pub(crate) fn find_danger(
    command: &ScriptCommand,
    forms: &[ScriptCommand],
    values: &ScriptVariables,
) -> Option<CommandRisk> {
    let found = forms.iter().find_map(|form| danger_of_form(command, form));
    found.or_else(|| danger_of_name_glob(command)).or_else(|| risk_of_unquoted_word(command, values))
}

/// Returns the danger of one expanded form of `command`, or of a command that it starts.
fn danger_of_form(command: &ScriptCommand, form: &ScriptCommand) -> Option<CommandRisk> {
    let argv: Vec<String> = form.words.iter().map(|word| word_text(word).to_owned()).collect();
    analyse_argv(&argv).commands.into_iter().find_map(|inner| {
        let outermost = inner.wrappers.is_empty();
        let redirects = if outermost { form.redirects.clone() } else { inner.redirects };
        danger_of(&ScriptCommand {
            has_piped_input: inner.has_piped_input || command.has_piped_input && outermost,
            redirects,
            ..inner
        })
    })
}

/// Returns the danger of a program that a glob pattern as the command name may mean: `/bin/r?`.
fn danger_of_name_glob(command: &ScriptCommand) -> Option<CommandRisk> {
    let ScriptWord::Unknown(name) = &command.words[0] else { return None };
    let name = name.replace(['"', '\''], "");
    if name.contains(['$', '`']) || !name.contains(['*', '?', '[']) {
        return None;
    }
    let pattern = program_name(&name);
    programs_matching(|program| fits_glob(pattern, program), MAX_GLOB_PROGRAMS).into_iter().find_map(
        |program| {
            let first = std::iter::once(ScriptWord::Literal(program.to_owned()));
            let words: Vec<ScriptWord> = first.chain(command.words[1..].iter().cloned()).collect();
            danger_of_form(command, &ScriptCommand { words, ..command.clone() })
        },
    )
}

/// Returns the risk of an unquoted unknown word as an argument of a removing program.
fn risk_of_unquoted_word(command: &ScriptCommand, values: &ScriptVariables) -> Option<CommandRisk> {
    let name = program_name(literal_text(&command.words[0])?);
    let open = |word: &ScriptWord| match word {
        ScriptWord::Unknown(raw) if !raw.starts_with('"') && raw.contains(['$', '`']) => {
            let expansions = expand::expand_word(raw, values, UnknownExpansion::Kept);
            expansions.iter().flatten().any(|word| word.contains(['$', '`']))
        }
        ScriptWord::Unknown(_) | ScriptWord::Literal(_) => false,
    };
    let risky = REMOVERS.contains(&name) && command.words[1..].iter().any(open);
    risky.then_some(CommandRisk::Risky("removes files that are not known before it runs"))
}
