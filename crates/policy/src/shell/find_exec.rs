//! Collects the commands that `find` runs.

use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::special_wrappers::replace_placeholder;
use crate::shell::syntax_tree::ParsedWord;

const EXEC_ACTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Tests and actions without a value.
const TESTS_WITHOUT_VALUE: &[&str] = &[
    "!", "--help", "--version", "(", ")", ",", "-a", "-and", "-d", "-daystart", "-delete", "-depth",
    "-empty", "-executable", "-false", "-follow", "-help", "-ignore_readdir_race", "-ls", "-mount",
    "-nogroup", "-noignore_readdir_race", "-noleaf", "-not", "-nouser", "-nowarn", "-o", "-or", "-print",
    "-print0", "-prune", "-quit", "-readable", "-true", "-version", "-warn", "-writable", "-xdev", "-H",
    "-L", "-P",
];
/// Tests and actions with one value.
const TESTS_WITH_VALUE: &[&str] = &[
    "-D", "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-context", "-ctime", "-files0-from", "-fls",
    "-fprint", "-fprint0", "-fstype", "-gid", "-group", "-ilname", "-iname", "-inum", "-ipath", "-iregex",
    "-iwholename", "-links", "-lname", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-name", "-newer",
    "-path", "-perm", "-printf", "-regex", "-regextype", "-samefile", "-size", "-type", "-uid", "-used",
    "-user", "-wholename", "-xtype",
];

/// Collects the commands that `find` runs. Returns `None` if they are unknown.
pub(crate) fn collect_find_commands(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let mut at = 0;
    let mut commands = Vec::new();
    // An unknown word occurs that is not certainly the value of a test.
    let mut free = false;
    // ends: each round takes a word
    while let Some(arg) = args.get(at) {
        at += 1;
        let Some(word) = arg.known_text() else {
            free |= !arg.is_operand();
            continue;
        };
        if EXEC_ACTIONS.contains(&word) {
            let (command, more, end) = parse_exec_command(&args[at..])?;
            free |= command.iter().any(|term| term.known_text().is_none());
            commands.push((word, command, more));
            at += end;
        } else {
            let values = value_count(word)?;
            free |= args.iter().skip(at).take(values).any(|value| !value.spread_is_one());
            at += values;
        }
    }
    if call.more_args || (free && !is_unambiguous(collector, args, &commands)) {
        return None;
    }
    for (word, command, more) in commands {
        if command.is_empty() {
            return None;
        }
        let words = command.iter().map(|word| replace_placeholder(word, "{}")).collect();
        collector.collect_call(
            &CommandCall { words, more_args: more, started_by: StartedBy::Program },
            &context.inside_wrapper(&format!("find {word}")),
        );
    }
    Some(())
}

/// Returns true if no unknown word can begin or end a command.
fn is_unambiguous(
    collector: &mut CommandCollector,
    args: &[ParsedWord],
    commands: &[(&str, Vec<ParsedWord>, bool)],
) -> bool {
    let unknown: Vec<&ParsedWord> =
        args.iter().filter(|arg| arg.known_text().is_none() && !arg.is_operand()).collect();
    let ends = args.iter().any(|arg| matches!(arg.known_text(), Some(";" | "+")));
    let harmless = match (unknown.as_slice(), commands) {
        ([], _) => true,
        // The word may begin a command, but nothing ends it.
        ([one], []) => one.spread_is_one() && !ends,
        // The word may end the only command early, and no other command follows.
        ([one], [(_, command, _)]) => {
            let inside = command.iter().position(|term| term.known_text().is_none() && !term.is_operand());
            let after = inside.filter(|at| *at > 0).map(|at| &command[at + 1..]);
            one.spread_is_one()
                && after.is_some_and(|after| after.iter().all(|term| !term.text().starts_with('-')))
        }
        _ => false,
    };
    harmless || unknown.into_iter().all(|term| collector.require_plain(term))
}

/// Returns the number of values of this word; `None` if it is unknown.
fn value_count(word: &str) -> Option<usize> {
    match word {
        "-fprintf" => Some(2),
        _ if TESTS_WITHOUT_VALUE.contains(&word) || !word.starts_with('-') || word.starts_with("-O") => {
            Some(0)
        }
        _ if TESTS_WITH_VALUE.contains(&word)
            || (word.starts_with("-newer") && word.len() == "-newerXY".len()) =>
        {
            Some(1)
        }
        _ => None,
    }
}

/// Returns the words up to `;` or `{} +`, a flag for added arguments, and the number of consumed words.
fn parse_exec_command(args: &[ParsedWord]) -> Option<(Vec<ParsedWord>, bool, usize)> {
    for (at, arg) in args.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| args[before].known_text());
        match arg.known_text() {
            Some(";") => return Some((args[..at].to_vec(), false, at + 1)),
            Some("+") if before == Some("{}") => return Some((args[..at - 1].to_vec(), true, at + 1)),
            _ => {}
        }
    }
    None
}
