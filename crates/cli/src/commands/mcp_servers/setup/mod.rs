//! `toolgate mcp setup`: writes the settings that put Toolgate under another agent, and takes them back.
#![expect(clippy::disallowed_methods, reason = "the user names the agent whose settings are changed")]

mod agent_files;
mod edit_settings;
mod edit_yaml;
mod merge_lines;
mod setup_record;
mod take_back;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use config::{OperationFault, UserDirs};
use private_files::AtomicFile;
use session::compose::working_directory;
use similar::TextDiff;

use self::agent_files::{AgentDirs, AgentFile, advice_for, check_scope, files_for};
use self::edit_settings::apply_settings;
use self::setup_record::{RecordedFile, SetupRecord, UndoneFile};
use self::take_back::SettingLocation;
use crate::args::{McpSetupArgs, WorkspaceArgs};
use crate::terminal_approver::ask_key;

/// A file before and after the change; `None` if it does not exist.
struct SettingsChange {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

pub(crate) fn run(args: &McpSetupArgs) -> Result<ExitCode, OperationFault> {
    check_scope(args)?;
    let dirs = UserDirs::from_env()?;
    let record = SetupRecord::locate(&dirs, args.agent)?;
    let files = agent_files(args)?;
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let (changes, recorded) = match args.undo {
        true => (undo_changes(record.undo_changes(&files)?), Vec::new()),
        // An earlier setup with other flags leaves nothing behind.
        false => {
            let undone = record.undo_changes(&files).unwrap_or_default();
            setup_changes(files, &undone)?
        }
    };
    let changes: Vec<SettingsChange> =
        changes.into_iter().filter(|change| change.before != change.after).collect();
    if changes.is_empty() {
        terminal::print_stderr(if args.undo {
            "there is nothing to take back"
        } else {
            "it is set up already"
        });
        return Ok(ExitCode::SUCCESS);
    }
    for change in &changes {
        terminal::print_diff(&change.to_diff())?;
    }
    if args.dry_run || !is_confirmed(args)? {
        terminal::print_stderr("nothing was changed");
        return Ok(if args.dry_run { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if args.undo {
        write_all(&changes)?;
        record.forget(&paths)?.iter().for_each(|directory| {
            let _not_empty = std::fs::remove_dir(directory);
        });
        terminal::print_stderr("taken back");
        return Ok(ExitCode::SUCCESS);
    }
    record.save(recorded)?;
    write_all(&changes)?;
    let undo = format!("{}{} --undo", args.agent.as_str(), if args.user { " --user" } else { "" });
    terminal::print_stderr(&format!("written; `toolgate mcp setup {undo}` takes it back"));
    let advice = if args.keep_own_tools { &[] } else { advice_for(args.agent) };
    advice.iter().for_each(|line| terminal::print_hint(line));
    if !is_in_path() {
        terminal::print_hint(
            "`toolgate` is not in your PATH: an agent that starts it by name does not find it",
        );
    }
    terminal::print_hint("`toolgate log` shows afterwards what the agent did through Toolgate");
    Ok(ExitCode::SUCCESS)
}

/// Returns the changes of an undo, and names the settings that stay.
fn undo_changes(undone: Vec<UndoneFile>) -> Vec<SettingsChange> {
    for UndoneFile { change, changed } in &undone {
        for setting in changed {
            terminal::print_warning(&format!(
                "`{setting}` in `{}` was changed since the setup, so it stays; remove it by hand",
                change.path.display()
            ));
        }
    }
    undone.into_iter().map(|file| file.change).collect()
}

/// Returns the settings files of the agent.
fn agent_files(args: &McpSetupArgs) -> Result<Vec<AgentFile>, OperationFault> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home =
        home.ok_or_else(|| OperationFault::usage("HOME is not set, so the agent's settings are unknown"))?;
    let project = working_directory(&WorkspaceArgs { cwd: args.cwd.clone(), ..WorkspaceArgs::default() })?;
    let codex = std::env::var_os("CODEX_HOME").map(PathBuf::from).filter(|codex| codex.is_absolute());
    let program = std::env::current_exe()?;
    Ok(files_for(args, &AgentDirs { home, project, codex }, &program))
}

/// Reports whether a program of this name is in a directory of `PATH`.
fn is_in_path() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join("toolgate").is_file())
}

/// Returns the changes of the files, and their record: changes of the texts before any setup. `undone` takes an earlier
/// setup back.
fn setup_changes(
    files: Vec<AgentFile>,
    undone: &[UndoneFile],
) -> Result<(Vec<SettingsChange>, Vec<RecordedFile>), OperationFault> {
    let (mut changes, mut recorded) = (Vec::new(), Vec::new());
    for AgentFile { path, format, settings } in files {
        let fault =
            |why: String| OperationFault::failed(format!("{}: {why}; nothing was changed", path.display()));
        let now = read_if_exists(&path)?;
        let earlier = undone.iter().find(|file| file.change.path == path);
        let clean = earlier.map_or_else(|| now.clone(), |file| file.change.after.clone());
        let after = apply_settings(format, clean.as_deref().unwrap_or_default(), &settings).map_err(fault)?;
        recorded.push(RecordedFile {
            made_directories: missing_directories(&path),
            change: SettingsChange { path: path.clone(), before: clean, after: Some(after.clone()) },
            locations: settings.iter().map(SettingLocation::of).collect(),
        });
        changes.push(SettingsChange { path, before: now, after: Some(after) });
    }
    Ok((changes, recorded))
}

/// Returns the directories that the file needs and that do not exist yet, the innermost first.
fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|directory| !directory.exists());
    above.map(Path::to_owned).collect()
}

fn read_if_exists(path: &Path) -> Result<Option<String>, OperationFault> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(OperationFault::failed(format!("{}: {error}; nothing was changed", path.display())))
        }
    }
}

/// Asks at the terminal, unless `--yes` is given.
fn is_confirmed(args: &McpSetupArgs) -> Result<bool, OperationFault> {
    if args.yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(OperationFault::usage("there is no terminal to confirm this at; nothing was changed")
            .with_hint("--yes writes it without a question"));
    }
    let question = if args.undo { "Take this back?\n" } else { "Write this?\n" };
    Ok(ask_key(question, b"yn")? == Some(b'y'))
}

fn write_all(changes: &[SettingsChange]) -> Result<(), OperationFault> {
    for SettingsChange { path, after, .. } in changes {
        let fault = |error: std::io::Error| OperationFault::failed(format!("{}: {error}", path.display()));
        match after {
            Some(text) => {
                if let Some(directory) = path.parent() {
                    std::fs::create_dir_all(directory).map_err(fault)?;
                }
                AtomicFile::open(path).and_then(|file| file.replace(text)).map_err(fault)?;
            }
            None => std::fs::remove_file(path).map_err(fault)?,
        }
    }
    Ok(())
}

impl SettingsChange {
    /// Returns the change as a diff.
    fn to_diff(&self) -> String {
        let text = |side: &Option<String>| side.clone().unwrap_or_default();
        let path = self.path.display().to_string();
        let name = |side: &Option<String>| side.as_ref().map_or("/dev/null", |_| path.as_str()).to_owned();
        let (before, after) = (text(&self.before), text(&self.after));
        let diff = TextDiff::from_lines(before.as_str(), after.as_str());
        diff.unified_diff().header(&name(&self.before), &name(&self.after)).to_string()
    }
}
