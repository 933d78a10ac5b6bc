//! Analyses built-ins that take variable names, `test` too: some evaluate a subscript, which may run a command.

use crate::shell::ScriptWord;
use crate::shell::command_collector::{CommandCollector, is_loose};
use crate::shell::parser_cursor::ScriptParser;
use crate::shell::syntax_tree::{ParsedWord, ShellDialect, ValueKind, VariableFact};
use crate::shell::wrapper_options::{OptionTable, parse_options};

/// Returns true for a name without a subscript.
fn is_name(text: &str) -> bool {
    let first = text.chars().next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic());
    first && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Records an assignment of an unknown value to each of these names.
fn assign_unknown(collector: &mut CommandCollector, names: &[ParsedWord], by: &str) -> bool {
    names.iter().all(|term| {
        let Some(name) = term.known_text().filter(|name| is_name(name)) else { return false };
        collector.assign(name, &ScriptWord::Unknown(by.to_owned()), ValueKind::Any);
        true
    })
}

/// Handles `declare`, `export` and similar. Their assignments were recorded during parsing.
pub(crate) fn declare(collector: &mut CommandCollector, name: &str, args: &[ParsedWord]) -> bool {
    let mut options = true;
    // Bash prints an exported function and parses it again.
    let has =
        |letter: char| args.iter().any(|arg| arg.prefix.starts_with('-') && arg.prefix.contains(letter));
    if has('f') && (name == "export" || has('x')) {
        return false;
    }
    // Outside a function `local` fails and sets nothing.
    if name == "local" && collector.function_depth == 0 {
        return false;
    }
    let is_array = has('a') || has('A');
    let stays = name == "readonly" || has('r');
    if stays {
        collector.note_possible_error();
    }
    args.iter().all(|arg| {
        let Some(word) = arg.known_text() else {
            return arg.is_assignment && assigns_safely(collector, arg.text(), is_array);
        };
        if options && word.len() > 1 && word.starts_with(['-', '+']) {
            options = word != "--";
            // `-i` evaluates the assigned value, and `-n` assigns to another name.
            return word == "--" || word[1..].chars().all(|letter| "aAfFgIlprtux".contains(letter));
        }
        options = false;
        if is_array && let Some(name) = word.split('=').next() {
            collector.note_array(name);
        }
        if !arg.is_assignment && is_name(word) {
            // The variable is empty or unchanged.
            let kind = if stays { ValueKind::Any } else { ValueKind::Number };
            collector.set_variable_conditionally(word, &ScriptWord::Literal(String::new()), kind);
        }
        // A quoted word is an assignment too.
        match word.split_once('=') {
            // The value would be read as array elements.
            Some((_, value)) if value.starts_with('(') => false,
            Some((name, value)) if !arg.is_assignment && is_name(name) => {
                let value = ScriptWord::Literal(value.to_owned());
                collector.assign(name, &value, ValueKind::Any);
                true
            }
            _ => arg.is_assignment || is_name(word),
        }
    })
}

/// Returns true if assigning an unknown value runs nothing. For an array, a value in parentheses is expanded again.
fn assigns_safely(collector: &mut CommandCollector, text: &str, is_array: bool) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let name = name.trim_end_matches('+');
    // The elements are written out.
    let is_list = value.starts_with('(');
    if is_list || is_array {
        collector.note_array(name);
    } else {
        collector.note_declared(name);
    }
    let is_plain =
        value.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'));
    is_list || is_plain || !is_array
}

pub(crate) fn getopts(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    let [letters, name, ..] = args else { return true };
    letters.known_text().is_some_and(|letters| !letters.starts_with('-'))
        && assign_unknown(collector, std::slice::from_ref(name), "getopts")
}

/// Handles `let`: each word is arithmetic.
pub(crate) fn let_arithmetic(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    args.iter().all(|arg| {
        let Some(word) = arg.known_text() else { return false };
        let text = format!("{word}))");
        let mut parser = ScriptParser::new(&text, ShellDialect::Bash, 0);
        let fine = parser.parse_arithmetic(false).is_ok() && parser.at == text.len();
        for fact in std::mem::take(&mut parser.findings.facts) {
            match fact {
                VariableFact::Set(name, value, kind) => collector.assign(&name, &value, kind),
                VariableFact::Use(name, kind) => collector.require_kind(&name, kind),
                VariableFact::BeginConditional | VariableFact::EndConditional => {}
                VariableFact::MayFail => collector.note_possible_error(),
            }
        }
        fine
    })
}

pub(crate) fn mapfile(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    let options = OptionTable { flags: "t", valued: "dnOsu", ..OptionTable::NONE };
    let Some(parsed) = parse_options(args, &options) else { return false };
    let names = &args[parsed.rest..];
    names.iter().filter_map(ParsedWord::known_text).for_each(|name| collector.note_array(name));
    names.len() <= 1 && assign_unknown(collector, names, "mapfile")
}

pub(crate) fn read(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    let options = OptionTable { flags: "rs", valued: "adnNptu", ..OptionTable::NONE };
    let Some(parsed) = parse_options(args, &options) else { return false };
    let array: Vec<ParsedWord> = parsed.values("a").cloned().collect();
    array.iter().filter_map(ParsedWord::known_text).for_each(|name| collector.note_array(name));
    assign_unknown(collector, &array, "read") && assign_unknown(collector, &args[parsed.rest..], "read")
}

pub(crate) fn unset(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    args.iter().all(|arg| match arg.known_text() {
        Some("-f" | "-v" | "--") => true,
        Some(name) if is_name(name) => {
            // A variable of a calling function may become visible.
            collector.set_variable_conditionally(
                name,
                &ScriptWord::Literal(String::new()),
                ValueKind::Number,
            );
            true
        }
        _ => false,
    })
}

/// Handles `printf`, which sets a variable for `-v` and for `%n`.
pub(crate) fn printf(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    let mut args = args;
    if let [option, name, rest @ ..] = args
        && option.known_text() == Some("-v")
    {
        if !assign_unknown(collector, std::slice::from_ref(name), "printf") {
            return false;
        }
        args = rest;
    }
    let dashes = args.first().and_then(ParsedWord::known_text) == Some("--");
    if dashes {
        args = &args[1..];
    }
    let Some(format) = args.first() else { return true };
    match format.known_text() {
        Some(format) => {
            (dashes || !format.starts_with('-')) && (args.len() == 1 || !has_count_conversion(format))
        }
        None => {
            (dashes || format.is_operand() || begins_no_option(format))
                && (args.len() == 1 && format.spread_is_one())
        }
    }
}

/// Returns true if the format begins with a literal that begins no option.
fn begins_no_option(format: &ParsedWord) -> bool {
    !format.prefix.is_empty() && !format.prefix.starts_with('-')
}

/// Returns true if a format may contain `%n`.
fn has_count_conversion(format: &str) -> bool {
    format.split('%').skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|c: char| {
            !c.is_ascii_alphabetic() || matches!(c, 'h' | 'j' | 'l' | 'L' | 't' | 'z')
        });
        rest.starts_with('n')
    })
}

/// Returns true if `test` or `[` runs nothing with these words, for any value of the unknown ones: `-v` evaluates a
/// subscript in its operand.
pub(crate) fn is_harmless_test(collector: &mut CommandCollector, name: &str, args: &[ParsedWord]) -> bool {
    let args = match (name, args) {
        ("[", [rest @ .., last]) if last.known_text() == Some("]") => rest,
        // Without its closing bracket `[` does nothing, unless an unknown word contains the bracket.
        ("[", _) => {
            return args.iter().all(|arg| arg.known_text().is_some() && arg.known_text() != Some("-v"));
        }
        _ => args,
    };
    let one_each = args.iter().all(|arg| !is_loose(arg) || collector.require_plain(arg));
    let names = args.iter().all(|arg| arg.known_text().is_some() || arg.spread_is_one() || is_loose(arg));
    let looks_up = |arg: &ParsedWord| matches!(arg.known_text(), Some("-v" | "-R"));
    let literal = args.iter().all(|arg| arg.known_text().is_some());
    if args.iter().any(looks_up) {
        return literal && !args.iter().any(|arg| arg.text().contains('['));
    }
    let joins = |arg: &ParsedWord| matches!(arg.known_text(), Some("-a" | "-o"));
    literal || (one_each && names && args.split(joins).all(is_plain_test))
}

/// Returns true if every operator position holds a known operator.
fn is_plain_test(args: &[ParsedWord]) -> bool {
    let nots = args.iter().take_while(|arg| arg.known_text() == Some("!")).count();
    match &args[nots..] {
        [] | [_] => true,
        [operator, _] | [_, operator, _] => operator.known_text().is_some(),
        _ => false,
    }
}
