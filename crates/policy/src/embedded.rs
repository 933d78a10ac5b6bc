//! What a text for the interpreter of another language does: it may start a shell's commands, remove files, run what it
//! downloads, or start processes without end. Only well-known ways are found.

use crate::account::{base, danger_of, literal, text};
use crate::interpreter::{Program, SHELLS};
use crate::known::{Known, REMOVES, is_interpreter};
use crate::shell::{Command, Redirect, analyse, analyse_argv};

/// The longest text that is looked at.
const LONGEST: usize = 16 << 10;
/// How many texts in quotes are looked at.
const QUOTED: usize = 48;

/// Ways to start a program.
const STARTS: &[&str] = &[
    "system",
    "popen",
    "subprocess",
    "exec",
    "spawn",
    "child_process",
    "shell",
    "Popen",
    "qx",
    "%x",
    "`",
    "proc_open",
    "passthru",
    "Command",
    "ProcessBuilder",
    "os.execute",
    "getline",
    "| \"",
    "|\"",
    "Deno.run",
    "Bun.$",
];
/// Calls that remove a tree, or many files.
const REMOVING: &[&str] = &[
    "rmtree(",
    "rm_rf",
    "rm_r(",
    "rm_r ",
    "remove_tree",
    "remove_entry",
    "rimraf",
    "removedirs(",
    "emptyDir",
    "deleteDirectory",
    "delete_all",
    "delete-directory",
    "Deno.removeSync",
    "Deno.remove(",
];
/// Calls that remove one file, and what makes them remove many.
const UNLINKS: &[&str] =
    &["unlink", "os.remove", "File.delete", "rmSync", "fs.rm(", "rmdirSync", "unlinkSync", "rmdir("];
const MANY: &[&str] = &["glob", "walk", "listdir", "readdir", "recursive", "<*", "scandir", "Dir["];
/// Calls that run a text, and where such a text may come from.
const RUNS_TEXT: &[&str] =
    &["exec(", "eval(", "eval ", "exec ", "compile(", "Function(", "instance_eval", "loadstring", "load("];
const FETCHES: &[&str] = &[
    "urlopen",
    "requests.get",
    "http://",
    "https://",
    "urlretrieve",
    "LWP::",
    "open-uri",
    "file_get_contents",
    "fetch(",
    "socket",
    "httpx",
    "HTTP.get",
    "Net::HTTP",
    "curl_exec",
];
const HIDES: &[&str] = &[
    "b64decode",
    "base64",
    "fromhex",
    "unhexlify",
    "atob(",
    "decode_base64",
    "unpack",
    "pack(",
    "codecs.decode",
    "zlib",
    "chr(",
    "fromCharCode",
    "marshal",
];
/// Words of loops.
const LOOPS: &[&str] = &["while", "loop", "until", "for ", "for(", "redo", "times", "forever", "setInterval"];
/// Calls that make another process.
const FORKS: &[&str] = &["fork", "spawn(", "Process(", "Popen(", "posix_spawn", "clone("];

/// What the text that an interpreter is given deserves.
pub(crate) fn danger(command: &Command) -> Option<Known> {
    let (name, rest) = command.words.split_first()?;
    let name = base(literal(name)?);
    if !is_interpreter(name) || SHELLS.contains(&name) {
        return None;
    }
    let given = || {
        command.redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Text(given) => Some(text(given)),
            Redirect::Read(_) | Redirect::Write(_) | Redirect::Append(_) | Redirect::ReadWrite(_) => None,
        })
    };
    let texts: Vec<&str> = match Program::of(name, rest) {
        Program::Text(_) => rest.iter().map(text).collect(),
        Program::Input => given().chain(rest.iter().map(text)).collect(),
        Program::File(_) => {
            rest.iter().map(text).filter(|word| word.contains(' ') || word.contains('!')).collect()
        }
    };
    texts.into_iter().filter(|text| text.len() <= LONGEST).find_map(of_text)
}

/// What a text of another language does, if that is dangerous.
pub(crate) fn of_text(text: &str) -> Option<Known> {
    let joined = ["\"+\"", "'+'", "\" + \"", "' + '"]
        .iter()
        .fold(text.to_owned(), |text, plus| text.replace(plus, ""));
    let text = joined.as_str();
    let has = |list: &[&str]| list.iter().any(|part| text.contains(part));
    if has(FORKS) && has(LOOPS) && (text.contains("fork") || is_endless(text)) {
        return Some(Known::Dangerous("starts more and more processes"));
    }
    let beside = ["&\"", "& \"", "&'", "& '", "fork(__filename"].iter().any(|beside| text.contains(beside));
    if has(STARTS) && beside && (is_endless(text) || text.contains("fork(__filename")) {
        return Some(Known::Dangerous("starts more and more processes"));
    }
    if has(REMOVING) || has(UNLINKS) && has(MANY) {
        return Some(Known::Dangerous(REMOVES));
    }
    if has(RUNS_TEXT) && has(FETCHES) {
        return Some(Known::Dangerous("runs what it downloads"));
    }
    if has(RUNS_TEXT) && has(HIDES) {
        return Some(Known::Dangerous("runs a text that it hides"));
    }
    let scripts = escapes(text);
    let mut literals = if has(STARTS) { quoted(text) } else { Vec::new() };
    literals.extend(bracketed(text));
    let mut commands: Vec<Command> = scripts
        .iter()
        .copied()
        .chain(literals.iter().map(String::as_str))
        .flat_map(|text| analyse(text).commands)
        .collect();
    // `["rm", "-rf", "x"]`: a list of words, which may begin at any of them.
    for at in 0..literals.len() {
        commands.extend(analyse_argv(&literals[at..]).commands);
    }
    commands.iter().find_map(danger_of)
}

/// Whether a loop in `text` has no end.
fn is_endless(text: &str) -> bool {
    let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    [
        "while1",
        "while(1",
        "whileTrue",
        "while(true",
        "whiletrue",
        "loop{",
        "loopdo",
        "for(;;",
        "until0",
        "setInterval",
    ]
    .iter()
    .any(|endless| plain.contains(endless))
}

/// The shell's commands that an editor, a debugger or a database's prompt is told to run: `!rm -rf x`, `.shell rm`.
fn escapes(text: &str) -> Vec<&str> {
    let text = text.trim();
    let begins = ["!", ":!", "+!", "+:!", ".shell ", ".system ", "\\! ", "shell ", "sh ", "exec "];
    text.split(['\n', ';'])
        .filter_map(|line| begins.iter().find_map(|begin| line.trim().strip_prefix(begin)))
        .collect()
}

/// What stands in the brackets of `%x(…)` and `qx{…}`.
fn bracketed(text: &str) -> Vec<String> {
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
    behind("%x").chain(behind("qx")).take(QUOTED).collect()
}

/// The texts in quotes of any kind.
fn quoted(text: &str) -> Vec<String> {
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
        if found.len() == QUOTED {
            break;
        }
    }
    found.retain(|text| !text.is_empty());
    found
}
