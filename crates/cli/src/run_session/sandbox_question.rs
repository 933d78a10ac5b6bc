//! Asks what commands may do in a directory, if neither a flag nor a file says it, and can save the answer.

use std::path::Path;

use config::{Config, OperationFault, SandboxMode, SettingSource, SourcedValue, UserDirs};
use toml_edit::{Item, Table, value};

use crate::edit_config::edit_config;
use crate::terminal_approver::ask_key;
use terminal::{NAME, to_one_line};

const DIRECTORIES_KEY: &str = "directories";

/// An answer to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectoryAnswer {
    ReadOnly,
    ChangeFiles,
    ChangeFilesAlways,
}

/// Asks for the sandbox mode, if neither a flag nor a file sets it. `None` if the user stops.
pub(super) fn choose_sandbox(
    config: &Config,
    cwd: &Path,
    dirs: &UserDirs,
) -> Result<Option<SourcedValue<SandboxMode>>, OperationFault> {
    if config.sandbox.source != SettingSource::BuiltIn {
        return Ok(Some(config.sandbox.clone()));
    }
    let can_remember = !is_home_or_above(cwd, dirs);
    let Some(answer) = ask(cwd, can_remember)? else { return Ok(None) };
    let value = match answer {
        DirectoryAnswer::ReadOnly => SandboxMode::ReadOnly,
        DirectoryAnswer::ChangeFiles | DirectoryAnswer::ChangeFilesAlways => SandboxMode::WorkspaceWrite,
    };
    if answer == DirectoryAnswer::ChangeFilesAlways {
        remember(cwd, dirs)?;
    }
    Ok(Some(SourcedValue { value, source: SettingSource::Flag("your answer") }))
}

/// A home directory holds too much to be opened for ever.
fn is_home_or_above(cwd: &Path, dirs: &UserDirs) -> bool {
    dirs.home.as_ref().is_some_and(|home| home.starts_with(cwd))
}

fn ask(cwd: &Path, can_remember: bool) -> Result<Option<DirectoryAnswer>, OperationFault> {
    let mut keys = vec![
        (b'w', DirectoryAnswer::ChangeFiles, "change files here, in this session"),
        (b'a', DirectoryAnswer::ChangeFilesAlways, "change files here, always"),
        (b'r', DirectoryAnswer::ReadOnly, "only read; you are asked before anything changes"),
    ];
    keys.retain(|(_, answer, _)| can_remember || *answer != DirectoryAnswer::ChangeFilesAlways);
    let lines = keys.iter().map(|(key, _, label)| format!("  {NAME}{}{NAME:#}  {label}\n", char::from(*key)));
    let text = format!(
        "What may the model do in `{}`? Commands are sandboxed in any case.\n\n{}\n",
        to_one_line(&cwd.display().to_string()),
        lines.collect::<String>()
    );
    let allowed: Vec<u8> = keys.iter().map(|(key, ..)| *key).collect();
    let pressed = ask_key(&text, &allowed).map_err(|error| OperationFault::failed(error.to_string()))?;
    Ok(pressed
        .and_then(|pressed| keys.iter().find(|(key, ..)| *key == pressed))
        .map(|(_, answer, _)| *answer))
}

/// Saves the answer in the user's configuration.
fn remember(cwd: &Path, dirs: &UserDirs) -> Result<(), OperationFault> {
    let file = edit_config(dirs, |document| {
        let directories = document.entry(DIRECTORIES_KEY).or_insert_with(|| {
            let mut directories = Table::new();
            directories.set_implicit(true);
            Item::Table(directories)
        });
        let directories =
            directories.as_table_like_mut().ok_or_else(|| format!("`{DIRECTORIES_KEY}` is not a table"))?;
        let name = cwd.to_str().ok_or("the name of the directory is not UTF-8")?;
        let mut table = Table::new();
        table.insert("sandbox", value("workspace-write"));
        directories.insert(name, Item::Table(table));
        Ok(())
    })?;
    terminal::print_hint(&format!("saved in {}; `toolgate config` shows it", file.display()));
    Ok(())
}
