//! Finds each command's worst danger in its line: data flow, `cd`, downloads, variables, loops, embedded code.

use crate::download_then_run::WrittenFiles;
use crate::expand::ScriptVariables;
use crate::programs::CommandRisk;
use crate::risk_in_context::danger_of;
use crate::shell::{ScriptAnalysis, ScriptCommand, UnboundedGrowth, analyse_script, word_text};
use crate::{dataflow, disguised_danger, embedded_code, endless_output, expand, hidden_writes};

/// Returns, for each command of `line`, the danger that the other commands add, if there is one.
pub(crate) fn find_dangers(line: &ScriptAnalysis) -> Vec<Option<CommandRisk>> {
    let ScriptAnalysis { commands, defined, assigned, growth: grows, .. } = line;
    let values = ScriptVariables::from_script(commands, defined, assigned);
    let directories = hidden_writes::directories_changed_to(commands.iter());
    let mut written = WrittenFiles::new(commands, assigned);
    let fills = endless_output::endless_writers(commands);
    let found = commands.iter().zip(fills).enumerate().map(|(at, (command, fills))| {
        let forms = expand::likely_forms(command, &values);
        let runs = written.check_next(command, &forms);
        let by_others = [
            dataflow::danger_by_variable(command, assigned),
            hidden_writes::find_danger(command, &directories),
            hidden_writes::danger_by_variable(command, assigned),
        ];
        let mut all = vec![fills, runs];
        all.extend(by_others.map(|why| why.map(CommandRisk::Dangerous)));
        all.extend(grows.iter().filter(|(of, _)| *of == at).map(|(_, how)| Some(growth_risk(*how))));
        all.push(embedded_code::find_danger(command));
        all.push(danger_in_variable(command));
        all.push(disguised_danger::find_danger(command, &forms, &values));
        worst_risk(all.into_iter().flatten())
    });
    found.collect()
}

/// Variables whose value other programs run as a command.
const COMMAND_VARIABLES: &[&str] =
    &["BROWSER", "EDITOR", "GIT_EDITOR", "GIT_PAGER", "GIT_SEQUENCE_EDITOR", "MANPAGER", "PAGER", "VISUAL"];

/// Finds a danger in the command that a variable, set for this command, makes it run.
fn danger_in_variable(command: &ScriptCommand) -> Option<CommandRisk> {
    let run = command.variables.iter().filter(|(name, _)| COMMAND_VARIABLES.contains(&name.as_str()));
    run.flat_map(|(_, value)| analyse_script(word_text(value)).commands).find_map(|inner| danger_of(&inner))
}

fn growth_risk(how: UnboundedGrowth) -> CommandRisk {
    match how {
        UnboundedGrowth::Processes => CommandRisk::Dangerous("starts more and more processes"),
        UnboundedGrowth::Recursion => CommandRisk::Risky("is a function that calls itself"),
        UnboundedGrowth::Output => CommandRisk::Risky("writes to a file in a loop without end"),
    }
}

/// Returns the first danger, or else the first risk.
fn worst_risk(all: impl Iterator<Item = CommandRisk>) -> Option<CommandRisk> {
    let all: Vec<CommandRisk> = all.collect();
    let danger = all.iter().find(|known| matches!(known, CommandRisk::Dangerous(_)));
    danger.or(all.first()).copied()
}
