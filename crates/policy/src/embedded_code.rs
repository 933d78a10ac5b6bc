//! Finds dangers in code for interpreters other than shells: started commands, removed files, downloaded code.
//!
//! It also finds fork bombs. Only well-known calls are found.

use crate::interpreter_args::ScriptSource;
use crate::programs::program_name;
use crate::programs::{CommandRisk, REMOVES_FILES, ShellFamily, is_interpreter};
use crate::risk_in_context::danger_of;
use crate::shell::{ScriptCommand, ScriptRedirect, analyse_argv, analyse_script, literal_text, word_text};

/// Maximum length of the examined code.
const MAX_CODE_BYTES: usize = 16 << 10;
/// Maximum number of examined string literals.
const MAX_LITERALS: usize = 48;

/// Calls that start a program.
const START_CALLS: &[&str] = &[
    "system", "popen", "subprocess", "exec", "spawn", "child_process", "shell", "Popen", "qx", "%x", "`",
    "proc_open", "passthru", "Command", "ProcessBuilder", "os.execute", "getline", "| \"", "|\"", "Deno.run",
    "Bun.$",
];
/// Calls that remove a directory tree or many files.
const REMOVE_TREE_CALLS: &[&str] = &[
    "rmtree(", "rm_rf", "rm_r(", "rm_r ", "remove_tree", "remove_entry", "rimraf", "removedirs(", "emptyDir",
    "deleteDirectory", "delete_all", "delete-directory", "Deno.removeSync", "Deno.remove(",
];
/// Calls that remove one file, and the names that make them remove many.
const UNLINK_CALLS: &[&str] =
    &["unlink", "os.remove", "File.delete", "rmSync", "fs.rm(", "rmdirSync", "unlinkSync", "rmdir("];
const BULK_WORDS: &[&str] = &["glob", "walk", "listdir", "readdir", "recursive", "<*", "scandir", "Dir["];
/// Calls that run a text, and the sources of such a text.
const EVAL_CALLS: &[&str] =
    &["exec(", "eval(", "eval ", "exec ", "compile(", "Function(", "instance_eval", "loadstring", "load("];
const DOWNLOAD_WORDS: &[&str] = &[
    "urlopen", "requests.get", "http://", "https://", "urlretrieve", "LWP::", "open-uri",
    "file_get_contents", "fetch(", "socket", "httpx", "HTTP.get", "Net::HTTP", "curl_exec",
];
const DECODE_WORDS: &[&str] = &[
    "b64decode", "base64", "fromhex", "unhexlify", "atob(", "decode_base64", "unpack", "pack(",
    "codecs.decode", "zlib", "chr(", "fromCharCode", "marshal",
];
/// Keywords of loops.
const LOOPS: &[&str] = &["while", "loop", "until", "for ", "for(", "redo", "times", "forever", "setInterval"];
/// Calls that create a process.
const FORKS: &[&str] = &["fork", "spawn(", "Process(", "Popen(", "posix_spawn", "clone("];

/// Returns the danger of the code that an interpreter is given.
pub(crate) fn find_danger(command: &ScriptCommand) -> Option<CommandRisk> {
    let (name, rest) = command.words.split_first()?;
    let name = program_name(literal_text(name)?);
    // The script of a known shell is among the commands of the line.
    if !is_interpreter(name) || ShellFamily::of(name).is_some_and(ShellFamily::has_known_options) {
        return None;
    }
    let given = || {
        command.redirects.iter().filter_map(|redirect| match redirect {
            ScriptRedirect::Text(given) => Some(word_text(given)),
            ScriptRedirect::Read(_)
            | ScriptRedirect::Write(_)
            | ScriptRedirect::Append(_)
            | ScriptRedirect::ReadWrite(_) => None,
        })
    };
    let texts: Vec<&str> = match ScriptSource::from_args(name, rest) {
        ScriptSource::Text(_) => rest.iter().map(word_text).collect(),
        ScriptSource::Input => given().chain(rest.iter().map(word_text)).collect(),
        ScriptSource::File(_) => {
            rest.iter().map(word_text).filter(|word| word.contains(' ') || word.contains('!')).collect()
        }
    };
    texts.into_iter().filter(|text| text.len() <= MAX_CODE_BYTES).find_map(danger_of_text)
}

/// Returns the danger of code in another language.
pub(crate) fn danger_of_text(text: &str) -> Option<CommandRisk> {
    let joined = ["\"+\"", "'+'", "\" + \"", "' + '"]
        .iter()
        .fold(text.to_owned(), |text, plus| text.replace(plus, ""));
    let text = joined.as_str();
    let has = |list: &[&str]| list.iter().any(|part| text.contains(part));
    if has(FORKS) && has(LOOPS) && (text.contains("fork") || has_endless_loop(text)) {
        return Some(CommandRisk::Dangerous("starts more and more processes"));
    }
    let beside = ["&\"", "& \"", "&'", "& '", "fork(__filename"].iter().any(|beside| text.contains(beside));
    if has(START_CALLS) && beside && (has_endless_loop(text) || text.contains("fork(__filename")) {
        return Some(CommandRisk::Dangerous("starts more and more processes"));
    }
    if has(REMOVE_TREE_CALLS) || has(UNLINK_CALLS) && has(BULK_WORDS) {
        return Some(CommandRisk::Dangerous(REMOVES_FILES));
    }
    if has(EVAL_CALLS) && has(DOWNLOAD_WORDS) {
        return Some(CommandRisk::Dangerous("runs what it downloads"));
    }
    if has(EVAL_CALLS) && has(DECODE_WORDS) {
        return Some(CommandRisk::Dangerous("runs a text that it hides"));
    }
    let scripts = shell_escapes(text);
    let mut literals = if has(START_CALLS) { string_literals(text) } else { Vec::new() };
    literals.extend(bracketed_commands(text));
    let mut commands: Vec<ScriptCommand> = scripts
        .iter()
        .copied()
        .chain(literals.iter().map(String::as_str))
        .flat_map(|text| analyse_script(text).commands)
        .collect();
    // `["rm", "-rf", "x"]` is a list of words; the command may begin at any of them.
    for at in 0..literals.len() {
        commands.extend(analyse_argv(&literals[at..]).commands);
    }
    commands.iter().find_map(danger_of)
}

/// Returns true if `text` contains an endless loop.
fn has_endless_loop(text: &str) -> bool {
    let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    [
        "while1", "while(1", "whileTrue", "while(true", "whiletrue", "loop{", "loopdo", "for(;;", "until0",
        "setInterval",
    ]
    .iter()
    .any(|endless| plain.contains(endless))
}

/// Returns the shell commands that an editor, a debugger or a database prompt runs: `!rm -rf x`, `.shell rm`.
fn shell_escapes(text: &str) -> Vec<&str> {
    let text = text.trim();
    let begins = ["!", ":!", "+!", "+:!", ".shell ", ".system ", "\\! ", "shell ", "sh ", "exec "];
    text.split(['\n', ';'])
        .filter_map(|line| begins.iter().find_map(|begin| line.trim().strip_prefix(begin)))
        .collect()
}

/// Returns the text inside `%x(…)` and `qx{…}`.
fn bracketed_commands(text: &str) -> Vec<String> {
    let inside = |rest: &str| {
        let open = rest.chars().next()?;
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other if !other.is_alphanumeric() && !other.is_whitespace() => other,
            _ => return None,
        };
        rest[open.len_utf8()..].split_once(close).map(|(inside, _)| inside.to_owned())
    };
    let behind = |lead: &'static str| {
        text.match_indices(lead).filter_map(move |(at, _)| inside(&text[at + lead.len()..]))
    };
    behind("%x").chain(behind("qx")).take(MAX_LITERALS).collect()
}

/// Returns the string literals, in any kind of quotes.
fn string_literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut quote, mut inside, mut escaped) = (None, String::new(), false);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(_), _) if escaped => {
                inside.push(letter);
                escaped = false;
            }
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if letter == open => {
                quote = None;
                found.push(std::mem::take(&mut inside));
            }
            (Some(_), _) => inside.push(letter),
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, _) => {}
        }
        if found.len() == MAX_LITERALS {
            break;
        }
    }
    found.retain(|text| !text.is_empty());
    found
}
