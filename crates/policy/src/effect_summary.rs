//! Summarizes the files, programs and hosts of a call for a question.
//!
//! The summary is a hint and may be incomplete: a command can do anything with its arguments. [`Gate`](crate::Gate)
//! decides what is allowed, and the sandbox enforces it.

mod file_operands;
mod remote_hosts;
mod removed_paths;

use std::path::Path;

pub(crate) use removed_paths::removed_paths;

use crate::programs::program_name;
use crate::shell::{PatchCommand, ScriptRedirect, ScriptWord};
use crate::{
    ApprovalQuestion, ClassifiedCommand, CommandAnalysis, CommandRisk, Effect, ExecEffect, resolve_path,
};

/// Sources and destinations of data that are not files.
const NON_FILE_PATHS: &[&str] = &[
    "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/", "/dev/tcp/", "/dev/udp/",
];

/// The apparent effects of a call, without duplicates, in the order of their mention. Unknown parts are shown as ‹…›.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectSummary {
    /// Files and directories that the call would read.
    pub reads: Vec<String>,
    /// Files and directories that the call would create, change or remove.
    pub writes: Vec<String>,
    /// Programs that the call would start.
    pub programs: Vec<String>,
    /// Hosts that the call would connect to.
    pub hosts: Vec<String>,
}

impl EffectSummary {
    /// Summarizes a command started in `cwd`. Paths below `cwd` are relative to it.
    ///
    /// ```
    /// # use toolgate_policy::{DenyRead, Gate, Intent, ReadScope, ReadRoot, SandboxPolicy, Verdict};
    /// # let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
    /// # let gate = Gate::new(reach, SandboxPolicy::WorkspaceWrite);
    /// # let argv = ["bash", "-c", "rm -rf ../old && curl https://example.org >page"].map(str::to_owned);
    /// # let Verdict::Ask(question) = gate.decide("shell", &Intent::run(argv.to_vec(), "/w".as_ref())) else { panic!() };
    /// // A question about `bash -c 'rm -rf ../old && curl https://example.org >page'` in `/w`:
    /// let touches = question.effect_summary();
    /// assert_eq!(touches.programs, ["bash (not found)", "rm (not found)", "curl (not found)"]);
    /// assert_eq!(touches.writes, ["/old", "page"]);
    /// assert_eq!(touches.hosts, ["example.org"]);
    /// ```
    pub fn of_command(analysis: &CommandAnalysis, cwd: &Path) -> Self {
        let mut out = Self::default();
        let moves = analysis.commands.iter().any(|part| matches!(part.name(), Some("cd" | "pushd" | "popd")));
        // After a `cd` the target of a path is unknown, so it is shown as written.
        let base = PathBase { cwd: (!moves).then_some(cwd) };
        for part in &analysis.commands {
            out.add_command(part, &base);
        }
        for (_, value, _) in &analysis.assignments {
            out.hosts.extend(remote_hosts::host_in_word(value));
        }
        out.without_duplicates()
    }

    fn add_command(&mut self, part: &ClassifiedCommand, base: &PathBase<'_>) {
        if !part.command.built_in {
            self.programs.push(format_program(part));
        }
        for redirect in &part.command.redirects {
            match redirect {
                ScriptRedirect::Read(from) => self.reads.extend(base.display_path(from)),
                ScriptRedirect::Write(to) | ScriptRedirect::Append(to) => {
                    self.writes.extend(base.display_path(to));
                }
                ScriptRedirect::ReadWrite(both) => {
                    self.reads.extend(base.display_path(both));
                    self.writes.extend(base.display_path(both));
                }
                ScriptRedirect::Text(_) => {}
            }
            self.hosts.extend(remote_hosts::host_in_redirect(redirect));
        }
        // The arguments of a wrapper belong to the command that it starts.
        let Some(name) = part.name().filter(|_| !part.is_wrapper) else { return };
        let words = &part.command.words[1..];
        let used = file_operands::files_used_by(program_name(name), words);
        self.reads.extend(used.reads.into_iter().filter_map(|word| base.display_path(&word)));
        self.writes.extend(used.writes.into_iter().filter_map(|word| base.display_path(&word)));
        // A read-only command may print a URL without connecting to it.
        if part.risk == CommandRisk::ReadOnly {
            return;
        }
        self.hosts.extend(remote_hosts::hosts_named_by(program_name(name), words));
        let variables = part.command.variables.iter().map(|(_, value)| value);
        self.hosts.extend(variables.filter_map(remote_hosts::host_in_word));
    }

    /// Removes duplicates.
    fn without_duplicates(mut self) -> Self {
        for list in [&mut self.reads, &mut self.writes, &mut self.programs, &mut self.hosts] {
            let mut seen = std::collections::HashSet::new();
            list.retain(|thing| seen.insert(thing.clone()));
        }
        self
    }
}

impl ApprovalQuestion {
    /// Summarizes the effects of the call as far as they are known: a hint for the person who is asked.
    pub fn effect_summary(&self) -> EffectSummary {
        let mut out = EffectSummary::default();
        let effects = &self.intent.effects;
        let cwd = self.intent.command().map(ExecEffect::cwd);
        if let (Some(analysis), Some(cwd)) = (&self.analysis, cwd) {
            out = EffectSummary::of_command(analysis, cwd);
        }
        for effect in effects {
            match effect {
                // The working directory says nothing about the files that a command reads.
                Effect::Read(path) if Some(path.as_path()) == cwd => {}
                Effect::Read(path) => out.reads.push(path.display().to_string()),
                Effect::Write(path) => out.writes.push(path.display().to_string()),
                Effect::Network(target) => out.hosts.push(target.clone()),
                Effect::Exec(exec) => {
                    out.writes.extend(exec.analysis().patch.iter().flat_map(patched_files));
                }
                Effect::SendInput(_) | Effect::Foreign(_) | Effect::Remember(_) => {}
            }
        }
        out.without_duplicates()
    }
}

/// Returns the files that a patch says it changes.
fn patched_files(patch: &PatchCommand) -> Vec<String> {
    const FILE_HEADERS: &[&str] =
        &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let named = |line: &str| {
        FILE_HEADERS.iter().find_map(|name| line.strip_prefix(name)).map(|name| name.trim().to_owned())
    };
    patch.text.lines().filter_map(named).map(|name| ScriptWord::Literal(name).to_string()).collect()
}

/// The base directory of relative paths, if it is known.
struct PathBase<'a> {
    cwd: Option<&'a Path>,
}

impl PathBase<'_> {
    /// Formats a path for a person; `None` for sinks and URLs.
    fn display_path(&self, word: &ScriptWord) -> Option<String> {
        let ScriptWord::Literal(text) = word else { return Some(word.to_string()) };
        if text.is_empty()
            || text == "-"
            || NON_FILE_PATHS.iter().any(|sink| text.starts_with(sink))
            || text.contains("://")
        {
            return None;
        }
        let path = self.cwd.and_then(|cwd| Some((cwd, resolve_path(cwd, text).ok()?)));
        let text = match path {
            Some((cwd, path)) => match path.strip_prefix(cwd) {
                Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
                Ok(below) => below.display().to_string(),
                Err(_) => path.display().to_string(),
            },
            None => text.clone(),
        };
        Some(ScriptWord::Literal(text).to_string())
    }
}

/// Returns the program that a command starts: its path if it was looked up, otherwise its name.
fn format_program(part: &ClassifiedCommand) -> String {
    let name = part.command.words[0].to_string();
    match &part.program {
        Some(program) if program.path.as_os_str().is_empty() => format!("{name} (not found)"),
        Some(program) if program.trusted => program.path.display().to_string(),
        Some(program) => format!("{} (anybody could have put it there)", program.path.display()),
        None => name,
    }
}

#[cfg(test)]
mod tests;
