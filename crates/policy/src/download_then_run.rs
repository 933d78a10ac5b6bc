//! Finds files that a line downloads or decodes and then runs: `curl … > x; bash x`. It also analyses scripts that the
//! line itself writes and then runs.

use crate::command_analysis::{literal_text, word_text};
use crate::command_risk::danger_of;
use crate::embedded_code;
use crate::interpreter_args::{SHELLS, ScriptSource};
use crate::programs::program_name;
use crate::programs::{CommandRisk, is_interpreter, normalize_path_text};
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, analyse_script};

const RUNS: &str = "runs what another command of the line downloads or unpacks";

/// Programs that download data.
const DOWNLOADS: &[&str] = &[
    "aria2c", "axel", "curl", "fetch", "ftp", "gsutil", "http", "https", "httpie", "lftp", "links", "lynx",
    "nc", "ncat", "netcat", "rclone", "rsync", "scp", "sftp", "socat", "ssh", "telnet", "w3m", "wget",
    "wget2", "xh",
];
/// Programs that decode or encode data.
const UNPACKS: &[&str] = &[
    "base32", "base64", "basenc", "bunzip2", "bzcat", "gunzip", "gzip", "openssl", "rev", "uudecode", "unxz",
    "xxd", "xzcat", "zcat", "zstdcat",
];
/// Programs that run or install a file in their arguments.
const RUNS_FILES: &[&str] = &[
    "apt",
    "apt-get",
    "dnf",
    "dpkg",
    "gem",
    "installer",
    "java",
    "npm",
    "pip",
    "pip3",
    "pipx",
    "rpm",
    "snap",
    "yum",
];
/// Programs, and the files that they run by default.
const DEFAULTS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["npm", "pnpm", "yarn", "bun"], &["package.json"]),
    (&["pytest"], &["conftest.py"]),
    (&["cargo"], &["build.rs", "Cargo.toml"]),
    (&["just"], &["justfile"]),
    (&["rake", "bundle"], &["Rakefile", "Gemfile"]),
    (&["tox", "nox"], &["tox.ini", "noxfile.py"]),
    (&["pip", "pip3", "python", "python3"], &["setup.py"]),
    (&["gradle", "mvn"], &["build.gradle", "pom.xml"]),
];
/// Options followed by a file to run: `bash --rcfile x`, `node --require x`, `awk -f x`.
const LEADS: &[&str] = &[
    "-f",
    "--file",
    "--rcfile",
    "--init-file",
    "-r",
    "--require",
    "--import",
    "-l",
    "--load",
    "-jar",
    "--makefile",
];
/// Options followed by an output file.
const OUTPUTS: &[&str] =
    &["-o", "-O", "-qO", "-sSLo", "-Lo", "-so", "-sLo", "-fsSLo", "--output", "--output-document"];

/// The files that a line has written so far.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    /// Files with downloaded or decoded content.
    foreign: Vec<String>,
    /// Files with a text of the line itself.
    own: Vec<(String, String)>,
    /// Variables with downloaded content.
    variables: Vec<String>,
    /// The output of the previous command is downloaded or decoded.
    flows: bool,
    /// The output of the previous command, if it is a text of the line itself.
    said: Option<String>,
    /// The line changes the directory.
    moves: bool,
}

impl WrittenFiles {
    /// Starts tracking for a line with these commands and variables.
    pub(crate) fn new(commands: &[ScriptCommand], assigned: &[(String, ScriptWord)]) -> Self {
        let goes = |command: &ScriptCommand| matches!(literal_text(&command.words[0]), Some("cd" | "pushd"));
        let filled =
            |(name, value): &(String, ScriptWord)| takes_from_afar(word_text(value)).then(|| name.clone());
        Self {
            variables: assigned.iter().filter_map(filled).collect(),
            moves: commands.iter().any(goes),
            ..Self::default()
        }
    }

    /// Returns the danger of the next command in its original or a likely form, and records its output files.
    pub(crate) fn check_next(
        &mut self,
        command: &ScriptCommand,
        forms: &[ScriptCommand],
    ) -> Option<CommandRisk> {
        let danger = std::iter::once(command).chain(forms).find_map(|form| self.danger(form));
        let name = literal_text(&command.words[0]).map(program_name);
        let from = |names: &[&str]| name.is_some_and(|name| names.contains(&name));
        let given = |word: &ScriptWord| {
            takes_from_afar(word_text(word)) || self.variables.iter().any(|name| uses(word_text(word), name))
        };
        let read = command.redirects.iter().any(|redirect| match redirect {
            ScriptRedirect::Read(from) => self.is_foreign(word_text(from)),
            ScriptRedirect::Text(given) => {
                takes_from_afar(word_text(given))
                    || self.variables.iter().any(|name| uses(word_text(given), name))
            }
            ScriptRedirect::Write(_) | ScriptRedirect::Append(_) | ScriptRedirect::ReadWrite(_) => false,
        });
        let operands = &command.words[1..];
        let copies = operands.iter().any(|word| self.is_foreign(word_text(word)));
        let foreign = from(DOWNLOADS)
            || from(UNPACKS)
            || self.flows && command.fed
            || read
            || copies
            || operands.iter().any(given);
        self.flows = foreign;
        if foreign {
            for form in std::iter::once(command).chain(forms) {
                self.foreign.extend(outputs(form, name.unwrap_or_default()));
            }
        }
        self.keep_own(command);
        danger
    }

    fn danger(&self, command: &ScriptCommand) -> Option<CommandRisk> {
        let run = runs(command);
        if run.iter().any(|file| self.is_foreign(file)) {
            return Some(CommandRisk::Dangerous(RUNS));
        }
        let name = literal_text(&command.words[0]).map(program_name);
        let is_foreign_language = name.is_some_and(|name| is_interpreter(name) && !SHELLS.contains(&name));
        let mut own = self.own.iter().filter(|(file, _)| run.iter().any(|run| path(run) == *file));
        own.find_map(|(_, text)| {
            if is_foreign_language {
                return embedded_code::danger_of_text(text);
            }
            analyse_script(text).commands.iter().find_map(danger_of)
        })
    }

    fn is_foreign(&self, file: &str) -> bool {
        let file = path(file);
        // In another directory the same file has another path.
        self.foreign.contains(&file)
            || self.moves && self.foreign.iter().any(|foreign| program_name(foreign) == program_name(&file))
    }

    /// Records the text that `echo`, `printf` or `cat` writes to a file.
    fn keep_own(&mut self, command: &ScriptCommand) {
        let name = literal_text(&command.words[0]).map(program_name);
        let given = command.redirects.iter().find_map(|redirect| match redirect {
            ScriptRedirect::Text(given) => Some(word_text(given).to_owned()),
            ScriptRedirect::Read(_)
            | ScriptRedirect::Write(_)
            | ScriptRedirect::Append(_)
            | ScriptRedirect::ReadWrite(_) => None,
        });
        let said = match name {
            Some("echo" | "printf") => {
                let words: Vec<&str> =
                    command.words[1..].iter().map(word_text).filter(|word| !word.starts_with("-")).collect();
                Some(words.join("\n").replace("%s\n", "").replace("\\n", "\n"))
            }
            _ if command.fed => self.said.take(),
            _ => given,
        };
        self.said.clone_from(&said);
        if let Some(said) = said {
            let files = outputs(command, name.unwrap_or_default());
            self.own.extend(files.into_iter().map(|file| (file, said.clone())));
        }
    }
}

/// Returns the files that a command runs, as they are written.
fn runs(command: &ScriptCommand) -> Vec<String> {
    let (first, rest) = (word_text(&command.words[0]), &command.words[1..]);
    let name = program_name(first.trim_matches('"'));
    let mut files = vec![first.to_owned()];
    let by_default = DEFAULTS.iter().filter(|(names, _)| names.contains(&name));
    files.extend(by_default.flat_map(|(_, files)| *files).map(|file| (*file).to_owned()));
    let reads = command.redirects.iter().filter_map(|redirect| match redirect {
        ScriptRedirect::Read(from) => Some(word_text(from).to_owned()),
        ScriptRedirect::Text(_)
        | ScriptRedirect::Write(_)
        | ScriptRedirect::Append(_)
        | ScriptRedirect::ReadWrite(_) => None,
    });
    let operands = || rest.iter().map(|word| word_text(word).to_owned());
    if is_interpreter(name) {
        match ScriptSource::from_args(name, rest) {
            ScriptSource::File(file) => {
                files.push(word_text(file).to_owned());
                // A Python module.
                files.extend(
                    rest.iter()
                        .any(|word| word_text(word) == "-m")
                        .then(|| format!("{}.py", word_text(file))),
                );
            }
            ScriptSource::Input => files.extend(reads),
            ScriptSource::Text(_) => {}
        }
        files.extend(behind(rest));
    } else if matches!(name, "make" | "gmake" | "sed") {
        files.extend(behind(rest));
    } else if RUNS_FILES.contains(&name)
        || matches!(name, "source" | ".")
        || name == "chmod" && rest.iter().any(|mode| gives_execution(word_text(mode)))
    {
        files.extend(operands());
    }
    files
}

/// Returns the files after options that name a file to run.
fn behind(words: &[ScriptWord]) -> impl Iterator<Item = String> {
    let named = words.windows(2).filter(|pair| LEADS.contains(&word_text(&pair[0])));
    named.map(|pair| word_text(&pair[1]).to_owned())
}

/// Returns true if a mode makes a file executable.
fn gives_execution(mode: &str) -> bool {
    let digits = mode.len() >= 3 && mode.bytes().all(|byte| byte.is_ascii_digit());
    digits && mode.contains(['1', '3', '5', '7'])
        || mode.contains('+') && mode.contains('x')
        || mode.contains("=rwx")
}

/// Returns the files that a command writes, by redirections or by its arguments.
fn outputs(command: &ScriptCommand, name: &str) -> Vec<String> {
    let mut files: Vec<String> = command
        .redirects
        .iter()
        .filter_map(|redirect| match redirect {
            ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
                Some(path(word_text(to)))
            }
            ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => None,
        })
        .collect();
    let words: Vec<&str> = command.words[1..].iter().map(word_text).collect();
    let operands = || words.iter().copied().filter(|word| !word.starts_with('-'));
    files.extend(words.windows(2).filter(|pair| is_output(pair[0])).map(|pair| path(pair[1])));
    let attached = |word: &&str| {
        word.strip_prefix("--output=").or_else(|| word.strip_prefix("--output-document=")).map(path)
    };
    files.extend(words.iter().filter_map(attached));
    match name {
        "tee" | "sponge" => files.extend(operands().map(path)),
        "dd" => files.extend(words.iter().filter_map(|word| word.strip_prefix("of=")).map(path)),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" => files.extend(operands().next_back().map(path)),
        "gunzip" | "unxz" | "bunzip2" | "gzip" => {
            let bare = |word: &str| word.rsplit_once('.').map(|(bare, _)| path(bare));
            files.extend(operands().filter_map(bare));
        }
        "curl" | "wget" | "wget2" | "aria2c" | "axel" | "fetch" => {
            files.extend(operands().filter_map(last_of_address));
        }
        _ => {}
    }
    files.retain(|file| !file.is_empty() && !file.starts_with("/dev/"));
    files
}

/// Returns true if the next word is an output file: `-o`, or option letters that end in `o`.
fn is_output(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    OUTPUTS.contains(&word) || letters.is_some_and(|letters| letters.ends_with(['o', 'O']))
}

/// Returns the default file name of a download.
fn last_of_address(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (_, last) = rest.split(['?', '#']).next()?.rsplit_once('/')?;
    (!last.is_empty()).then(|| path(last))
}

/// Normalizes a path.
fn path(written: &str) -> String {
    let path = normalize_path_text(written);
    let here = ["./", "$PWD/", "${PWD}/", "$(pwd)/"].iter().find_map(|here| path.strip_prefix(here));
    here.unwrap_or(&path).to_owned()
}

/// Returns true if a source word contains a substitution of a downloading command.
fn takes_from_afar(raw: &str) -> bool {
    let begins = |at: usize| {
        let inside = raw[at..].trim_start_matches(['(', '`', ' ', '$', '<']);
        let name = inside.split(|c: char| c.is_whitespace() || c == ')').next().unwrap_or_default();
        DOWNLOADS.contains(&program_name(name))
    };
    raw.match_indices("$(")
        .chain(raw.match_indices('`'))
        .chain(raw.match_indices("<("))
        .any(|(at, _)| begins(at))
}

/// Returns true if a source word uses the variable `name`.
fn uses(raw: &str, name: &str) -> bool {
    raw.match_indices('$').any(|(at, _)| {
        let rest = raw[at + 1..].trim_start_matches('{');
        rest.strip_prefix(name)
            .is_some_and(|after| !after.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric()))
    })
}
