//! Finds commands that write endless output to a file: `yes > x`, `cat /dev/zero | tee x`.

use crate::programs::program_name;
use crate::programs::{CommandRisk, is_endless_device};
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, literal_text, word_text};

/// Programs that pass on all their input in some form.
const PASS_THROUGH_PROGRAMS: &[&str] = &[
    "base32", "base64", "cat", "cp", "dd", "gzip", "hexdump", "nl", "od", "pv", "rev", "sed", "sponge",
    "strings", "tee", "tr", "uniq", "xxd", "zstd", "xz", "bzip2",
];

/// Returns, for each of `commands`, the danger of endless output to a file.
pub(crate) fn endless_writers(commands: &[ScriptCommand]) -> Vec<Option<CommandRisk>> {
    // The previous command of the pipeline has endless output.
    let mut endless = false;
    let mut risks = Vec::with_capacity(commands.len());
    for command in commands {
        let goes_on = endless && command.has_piped_input && passes_input_on(command);
        endless = has_endless_output(command) || goes_on;
        let writes = command.writes_a_file() || goes_on && names_output_file(command);
        let why = "writes without end, until the disk is full";
        risks.push((endless && writes).then_some(CommandRisk::Dangerous(why)));
    }
    risks
}

fn command_name(command: &ScriptCommand) -> Option<&str> {
    literal_text(&command.words[0]).map(program_name)
}

fn passes_input_on(command: &ScriptCommand) -> bool {
    let counts = command.words.iter().any(|word| word_text(word).starts_with("count="));
    command_name(command).is_some_and(|name| PASS_THROUGH_PROGRAMS.contains(&name)) && !counts
}

/// Returns true if the command itself produces endless output.
fn has_endless_output(command: &ScriptCommand) -> bool {
    let reads = |redirect: &ScriptRedirect| matches!(redirect, ScriptRedirect::Read(ScriptWord::Literal(from)) if is_endless_device(from));
    let operand =
        |word: &ScriptWord| is_endless_device(word_text(word).strip_prefix("if=").unwrap_or(word_text(word)));
    match command_name(command) {
        Some("yes") => true,
        Some(_) if passes_input_on(command) => {
            // `-N 16` and `-l 8` limit the output.
            let bounded = matches!(command_name(command), Some("od" | "xxd" | "hexdump"))
                && command.words.iter().any(|word| {
                    word_text(word).starts_with(['-']) && word_text(word).contains(['N', 'l', 'n'])
                });
            !bounded && (command.words[1..].iter().any(operand) || command.redirects.iter().any(reads))
        }
        _ => false,
    }
}

/// Returns true if the arguments name an output file.
fn names_output_file(command: &ScriptCommand) -> bool {
    let mut operands = command.words[1..].iter().map(word_text).filter(|word| !word.starts_with('-'));
    match command_name(command) {
        Some("tee" | "sponge") => operands.any(|to| !to.starts_with("/dev/")),
        Some("dd") => {
            operands.any(|word| word.strip_prefix("of=").is_some_and(|to| !to.starts_with("/dev/")))
        }
        _ => false,
    }
}
