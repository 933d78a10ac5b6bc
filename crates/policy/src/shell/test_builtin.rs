//! Analyses `test` and `[`: `-v` evaluates a subscript in its operand, which may run a command.

use crate::shell::command_collector::{CommandCollector, is_loose};
use crate::shell::syntax_tree::ParsedWord;

/// Returns true if evaluating these words runs nothing, for any value of the unknown words.
pub(crate) fn is_harmless(collector: &mut CommandCollector, name: &str, args: &[ParsedWord]) -> bool {
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
