//! Collects the commands of scripts that shells get after `-c`, on standard input, or from a wrapper.

use crate::programs::{ShellFamily, program_name};
use crate::shell::builtins::{are_harmless_letters, is_harmless_option};
use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::syntax_tree::{ParsedWord, ShellDialect, ValueKind};
use crate::shell::{ScriptRedirect, ScriptWord};

/// The parsed options of a shell.
#[derive(Default)]
struct ShellInvocation {
    /// The word that contains `-c`.
    script_flag: Option<String>,
    login: bool,
    /// The position of the first operand.
    rest: usize,
}

/// Collects the commands of the script argument of a shell. A script file or standard input has no commands to collect.
pub(crate) fn collect_shell_script(
    collector: &mut CommandCollector,
    family: ShellFamily,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let name = program_name(call.words[0].known_text()?);
    let dialect = family.dialect();
    let invocation = family.has_known_options().then(|| parse_shell_options(args, dialect)).flatten();
    let Some(invocation) = invocation else {
        collect_guessed_script(collector, call, dialect, context);
        return None;
    };
    collector.login |= invocation.login;
    let Some(flag) = invocation.script_flag else {
        // The script is a file or standard input; an added or unknown word may be the file.
        if args.len() == invocation.rest {
            collect_stdin_script(collector, name, dialect, context);
        }
        return Some(());
    };
    let script = args.get(invocation.rest)?;
    let by = format!("{name} {flag}");
    let Some(known) = script.known_text() else {
        // `xargs` and `find` replace only the placeholder; the rest of the script stays as it is.
        let adds = |by: &String| by == "xargs" || by.starts_with("find -");
        if context.wrappers.last().is_some_and(adds) {
            collect_script_text(collector, script.text(), &by, dialect, context);
        }
        for likely in likely_scripts(collector, script) {
            collect_script_text(collector, &likely, &by, dialect, context);
        }
        return None;
    };
    collect_script_text(collector, known, &by, dialect, context);
    Some(())
}

/// Collects the commands of a script on standard input. The script's own commands may consume parts of that input, so
/// the result is only likely.
fn collect_stdin_script(
    collector: &mut CommandCollector,
    name: &str,
    dialect: ShellDialect,
    context: &CommandContext,
) {
    let inner = CommandContext { redirects: Vec::new(), ..context.clone() };
    for redirect in &context.redirects {
        if let ScriptRedirect::Text(ScriptWord::Literal(script)) = redirect {
            collect_script_text(collector, script, &format!("{name} <<<"), dialect, &inner);
        }
    }
}

/// Collects the likely script of a shell that is not understood: the word after `-c`.
fn collect_guessed_script(
    collector: &mut CommandCollector,
    call: &CommandCall,
    dialect: ShellDialect,
    context: &CommandContext,
) {
    let (name, args) = (program_name(call.words[0].text()), &call.words[1..]);
    let is_flag = |word: &str| {
        matches!(word, "--command" | "-Command") || word.strip_prefix('-').is_some_and(|it| it.ends_with('c'))
    };
    let at = args.iter().position(|arg| arg.known_text().is_some_and(is_flag));
    let Some(script) = at.and_then(|at| args.get(at + 1)) else { return };
    for likely in likely_scripts(collector, script) {
        collect_script_text(collector, &likely, &format!("{name} -c"), dialect, context);
    }
}

/// Returns the likely text of a script: the value of its variable, or the text around its variables.
fn likely_scripts(collector: &CommandCollector, script: &ParsedWord) -> Vec<String> {
    if let Some(known) = script.known_text() {
        return vec![known.to_owned()];
    }
    let inside = script.text().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let begins = |text: &&str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = inside.filter(begins).filter(|text| !text.contains(['\\', '"', '`']) && !text.contains("$("));
    collector.likely_values(script.text()).into_iter().chain(plain.map(str::to_owned)).collect()
}

/// Lists the shell that `by` starts, and collects the commands of its script.
pub(crate) fn collect_started_shell(
    collector: &mut CommandCollector,
    script: &str,
    by: &str,
    dialect: ShellDialect,
    context: &CommandContext,
) {
    let words = ["sh", "-c", script].into_iter().map(ParsedWord::literal).collect();
    let context = context.inside_wrapper(by);
    collector
        .push_command(&CommandCall { words, more_args: false, started_by: StartedBy::Program }, &context);
    collect_script_text(collector, script, "sh -c", dialect, &context);
}

/// Collects the commands of a script that `by` runs.
fn collect_script_text(
    collector: &mut CommandCollector,
    script: &str,
    by: &str,
    dialect: ShellDialect,
    context: &CommandContext,
) {
    let mut inner = context.inside_wrapper(by);
    inner.dialect = dialect;
    for (name, word) in &context.variables {
        let kind = match word {
            ScriptWord::Literal(text) => crate::shell::syntax_tree::kind_of(text),
            ScriptWord::Unknown(_) => ValueKind::Any,
        };
        collector.set_variable(name, word, kind);
    }
    if inner.depth > crate::shell::MAX_DEPTH {
        return collector.add_doubt(script, "it is nested too deep");
    }
    collector.collect_text(script, &inner);
}

/// Parses the options of a shell. Returns `None` if one is unknown or changes how scripts are parsed.
fn parse_shell_options(args: &[ParsedWord], dialect: ShellDialect) -> Option<ShellInvocation> {
    let mut invocation = ShellInvocation::default();
    // ends: each round takes a word
    while let Some(arg) = args.get(invocation.rest) {
        let Some(word) = arg.known_text() else {
            // Without `-c` the word is a script file. A word that may be an option is not accepted.
            return arg.is_operand().then_some(invocation);
        };
        match word {
            "--" | "-" => {
                invocation.rest += 1;
                return Some(invocation);
            }
            "--login" | "--noprofile" | "--norc" | "--noediting" if dialect == ShellDialect::Bash => {
                invocation.login |= word == "--login";
                invocation.rest += 1;
                continue;
            }
            "--version" | "--help" if args.len() == 1 => return Some(invocation),
            _ => {}
        }
        let Some(letters) = word.strip_prefix(['-', '+']) else { return Some(invocation) };
        invocation.rest += 1;
        parse_option_letters(letters, word, args, &mut invocation)?;
    }
    Some(invocation)
}

fn parse_option_letters(
    letters: &str,
    word: &str,
    args: &[ParsedWord],
    invocation: &mut ShellInvocation,
) -> Option<()> {
    for letter in letters.chars() {
        match letter {
            'c' if word.starts_with('-') => invocation.script_flag = Some(word.to_owned()),
            'l' => invocation.login = true,
            's' if word == "-s" => {}
            'o' => {
                let name = args.get(invocation.rest)?.known_text()?;
                is_harmless_option(name).then_some(())?;
                invocation.rest += 1;
            }
            _ => are_harmless_letters(&letter.to_string()).then_some(())?,
        }
    }
    Some(())
}
