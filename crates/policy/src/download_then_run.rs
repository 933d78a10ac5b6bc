//! Finds files that a line downloads or decodes and then runs: `curl … > x; bash x`.
//!
//! It also analyses scripts that the line itself writes and then runs.

use crate::embedded_code;
use crate::interpreter_args::ScriptSource;
use crate::programs::program_name;
use crate::programs::{CommandRisk, ShellFamily, is_interpreter, normalize_path_text, script_file_options};
use crate::risk_in_context::danger_of;
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, analyse_script, literal_text, word_text};

const RUNS_DOWNLOAD: &str = "runs what another command of the line downloads or unpacks";

/// Programs that download data.
const DOWNLOADERS: &[&str] = &[
    "aria2c", "axel", "curl", "fetch", "ftp", "gsutil", "http", "https", "httpie", "lftp", "links", "lynx",
    "nc", "ncat", "netcat", "rclone", "rsync", "scp", "sftp", "socat", "ssh", "telnet", "w3m", "wget",
    "wget2", "xh",
];
/// Programs that decode or encode data.
const DECODERS: &[&str] = &[
    "base32", "base64", "basenc", "bunzip2", "bzcat", "gunzip", "gzip", "openssl", "rev", "uudecode", "unxz",
    "xxd", "xzcat", "zcat", "zstdcat",
];
/// Programs that run or install a file in their arguments.
const FILE_RUNNERS: &[&str] = &[
    "apt", "apt-get", "dnf", "dpkg", "gem", "installer", "java", "npm", "pip", "pip3", "pipx", "rpm", "snap",
    "yum",
];
/// Programs, and the files that they run by default.
const DEFAULT_FILES: &[(&[&str], &[&str])] = &[
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
/// Options of most interpreters followed by a file to run: `node --require x`, `awk -f x`.
const SCRIPT_FILE_OPTIONS: &[&str] = &["-f", "--file", "-r", "--require", "--import", "-l", "--load"];
/// Options followed by an output file.
const OUTPUT_OPTIONS: &[&str] =
    &["-o", "-O", "-qO", "-sSLo", "-Lo", "-so", "-sLo", "-fsSLo", "--output", "--output-document"];

/// The files that a line has written so far.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    /// Files with downloaded or decoded content.
    downloaded: Vec<String>,
    /// Files with a text of the line itself.
    literal_files: Vec<(String, String)>,
    /// Variables with downloaded content.
    downloaded_variables: Vec<String>,
    /// The output of the previous command is downloaded or decoded.
    output_is_download: bool,
    /// The output of the previous command, if it is a text of the line itself.
    literal_output: Option<String>,
    /// The line changes the directory.
    changes_directory: bool,
}

impl WrittenFiles {
    /// Starts tracking for a line with these commands and variables.
    pub(crate) fn new(commands: &[ScriptCommand], assigned: &[(String, ScriptWord)]) -> Self {
        let goes = |command: &ScriptCommand| matches!(literal_text(&command.words[0]), Some("cd" | "pushd"));
        let filled = |(name, value): &(String, ScriptWord)| {
            substitutes_download(word_text(value)).then(|| name.clone())
        };
        Self {
            downloaded_variables: assigned.iter().filter_map(filled).collect(),
            changes_directory: commands.iter().any(goes),
            ..Self::default()
        }
    }

    /// Returns the danger of the next command in its original or a likely form, and records its output files.
    pub(crate) fn check_next(
        &mut self,
        command: &ScriptCommand,
        forms: &[ScriptCommand],
    ) -> Option<CommandRisk> {
        let danger = std::iter::once(command).chain(forms).find_map(|form| self.check_danger(form));
        let name = literal_text(&command.words[0]).map(program_name);
        let from = |names: &[&str]| name.is_some_and(|name| names.contains(&name));
        let given = |word: &ScriptWord| {
            substitutes_download(word_text(word))
                || self.downloaded_variables.iter().any(|name| uses_variable(word_text(word), name))
        };
        let read = command.redirects.iter().any(|redirect| match redirect {
            ScriptRedirect::Read(from) => self.is_downloaded(word_text(from)),
            ScriptRedirect::Text(given) => {
                substitutes_download(word_text(given))
                    || self.downloaded_variables.iter().any(|name| uses_variable(word_text(given), name))
            }
            ScriptRedirect::Write(_) | ScriptRedirect::Append(_) | ScriptRedirect::ReadWrite(_) => false,
        });
        let operands = &command.words[1..];
        let copies = operands.iter().any(|word| self.is_downloaded(word_text(word)));
        let is_download = from(DOWNLOADERS)
            || from(DECODERS)
            || self.output_is_download && command.has_piped_input
            || read
            || copies
            || operands.iter().any(given);
        self.output_is_download = is_download;
        if is_download {
            for form in std::iter::once(command).chain(forms) {
                self.downloaded.extend(files_written(form, name.unwrap_or_default()));
            }
        }
        self.record_literal_output(command);
        danger
    }

    fn check_danger(&self, command: &ScriptCommand) -> Option<CommandRisk> {
        let run = files_run(command);
        if run.iter().any(|file| self.is_downloaded(file)) {
            return Some(CommandRisk::Dangerous(RUNS_DOWNLOAD));
        }
        let name = literal_text(&command.words[0]).map(program_name);
        let is_interpreter = name.is_some_and(is_interpreter);
        let shell = name.and_then(ShellFamily::of);
        let is_code = is_interpreter && !shell.is_some_and(ShellFamily::has_known_options);
        let is_script = !is_interpreter || shell.is_some();
        let mut literal_files =
            self.literal_files.iter().filter(|(file, _)| run.iter().any(|run| normalize_file(run) == *file));
        literal_files.find_map(|(_, text)| {
            let of_code = is_code.then(|| embedded_code::danger_of_text(text)).flatten();
            let of_script = || analyse_script(text).commands.iter().find_map(danger_of);
            of_code.or_else(|| is_script.then(of_script).flatten())
        })
    }

    fn is_downloaded(&self, file: &str) -> bool {
        let file = normalize_file(file);
        // In another directory the same file has another path.
        self.downloaded.contains(&file)
            || self.changes_directory
                && self.downloaded.iter().any(|foreign| program_name(foreign) == program_name(&file))
    }

    /// Records the text that `echo`, `printf` or `cat` writes to a file.
    fn record_literal_output(&mut self, command: &ScriptCommand) {
        let name = literal_text(&command.words[0]).map(program_name);
        let given = command.redirects.iter().find_map(|redirect| match redirect {
            ScriptRedirect::Text(given) => Some(word_text(given).to_owned()),
            ScriptRedirect::Read(_)
            | ScriptRedirect::Write(_)
            | ScriptRedirect::Append(_)
            | ScriptRedirect::ReadWrite(_) => None,
        });
        let literal_output = match name {
            Some("echo" | "printf") => {
                let words: Vec<&str> =
                    command.words[1..].iter().map(word_text).filter(|word| !word.starts_with("-")).collect();
                Some(words.join("\n").replace("%s\n", "").replace("\\n", "\n"))
            }
            _ if command.has_piped_input => self.literal_output.take(),
            _ => given,
        };
        self.literal_output.clone_from(&literal_output);
        if let Some(literal_output) = literal_output {
            let files = files_written(command, name.unwrap_or_default());
            self.literal_files.extend(files.into_iter().map(|file| (file, literal_output.clone())));
        }
    }
}

/// Returns the files that a command runs, as they are written.
fn files_run(command: &ScriptCommand) -> Vec<String> {
    let (first, rest) = (word_text(&command.words[0]), &command.words[1..]);
    let name = program_name(first.trim_matches('"'));
    let mut files = vec![first.to_owned()];
    let by_default = DEFAULT_FILES.iter().filter(|(names, _)| names.contains(&name));
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
    } else if FILE_RUNNERS.contains(&name)
        || matches!(name, "source" | ".")
        || name == "chmod" && rest.iter().any(|mode| makes_executable(word_text(mode)))
    {
        files.extend(operands());
    }
    let own_options = script_file_options(name);
    if is_interpreter(name) || !own_options.is_empty() {
        let options = [SCRIPT_FILE_OPTIONS, own_options].concat();
        files.extend(files_after_options(&options, rest));
    }
    files
}

/// Returns the files after `options`.
fn files_after_options(options: &[&str], words: &[ScriptWord]) -> impl Iterator<Item = String> {
    let named = words.windows(2).filter(|pair| options.contains(&word_text(&pair[0])));
    named.map(|pair| word_text(&pair[1]).to_owned())
}

/// Returns true if a mode makes a file executable.
fn makes_executable(mode: &str) -> bool {
    let digits = mode.len() >= 3 && mode.bytes().all(|byte| byte.is_ascii_digit());
    digits && mode.contains(['1', '3', '5', '7'])
        || mode.contains('+') && mode.contains('x')
        || mode.contains("=rwx")
}

/// Returns the files that a command writes, by redirections or by its arguments.
fn files_written(command: &ScriptCommand, name: &str) -> Vec<String> {
    let mut files: Vec<String> = command
        .redirects
        .iter()
        .filter_map(|redirect| match redirect {
            ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
                Some(normalize_file(word_text(to)))
            }
            ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => None,
        })
        .collect();
    let words: Vec<&str> = command.words[1..].iter().map(word_text).collect();
    let operands = || words.iter().copied().filter(|word| !word.starts_with('-'));
    files.extend(
        words.windows(2).filter(|pair| is_output_option(pair[0])).map(|pair| normalize_file(pair[1])),
    );
    let attached = |word: &&str| {
        word.strip_prefix("--output=").or_else(|| word.strip_prefix("--output-document=")).map(normalize_file)
    };
    files.extend(words.iter().filter_map(attached));
    match name {
        "tee" | "sponge" => files.extend(operands().map(normalize_file)),
        "dd" => files.extend(words.iter().filter_map(|word| word.strip_prefix("of=")).map(normalize_file)),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" => {
            files.extend(operands().next_back().map(normalize_file));
        }
        "gunzip" | "unxz" | "bunzip2" | "gzip" => {
            let bare = |word: &str| word.rsplit_once('.').map(|(bare, _)| normalize_file(bare));
            files.extend(operands().filter_map(bare));
        }
        "curl" | "wget" | "wget2" | "aria2c" | "axel" | "fetch" => {
            files.extend(operands().filter_map(download_file_name));
        }
        _ => {}
    }
    files.retain(|file| !file.is_empty() && !file.starts_with("/dev/"));
    files
}

/// Returns true if the next word is an output file: `-o`, or option letters that end in `o`.
fn is_output_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    OUTPUT_OPTIONS.contains(&word) || letters.is_some_and(|letters| letters.ends_with(['o', 'O']))
}

/// Returns the default file name of a download.
fn download_file_name(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (_, last) = rest.split(['?', '#']).next()?.rsplit_once('/')?;
    (!last.is_empty()).then(|| normalize_file(last))
}

/// Normalizes a path.
fn normalize_file(written: &str) -> String {
    let path = normalize_path_text(written);
    let here = ["./", "$PWD/", "${PWD}/", "$(pwd)/"].iter().find_map(|here| path.strip_prefix(here));
    here.unwrap_or(&path).to_owned()
}

/// Returns true if a source word contains a substitution of a downloading command.
fn substitutes_download(raw: &str) -> bool {
    let begins = |at: usize| {
        let inside = raw[at..].trim_start_matches(['(', '`', ' ', '$', '<']);
        let name = inside.split(|c: char| c.is_whitespace() || c == ')').next().unwrap_or_default();
        DOWNLOADERS.contains(&program_name(name))
    };
    raw.match_indices("$(")
        .chain(raw.match_indices('`'))
        .chain(raw.match_indices("<("))
        .any(|(at, _)| begins(at))
}

/// Returns true if a source word uses the variable `name`.
fn uses_variable(raw: &str, name: &str) -> bool {
    raw.match_indices('$').any(|(at, _)| {
        let rest = raw[at + 1..].trim_start_matches('{');
        rest.strip_prefix(name)
            .is_some_and(|after| !after.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric()))
    })
}
