//! `[[hook]]` tables: programs of the user that run before and after calls.

use std::path::{Path, PathBuf};

use runtime::{CommandHook, EnvironmentPolicy, rules};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::config_file::ConfigFile;
use super::{SourcedValue, UserDirs};
use crate::operation_fault::OperationFault;

const MAX_HOOKS: usize = 64;
const MAX_NAME_CHARS: usize = 64;
const TIMEOUT_MS_RANGE: std::ops::RangeInclusive<u64> = 100..=600_000;

/// A hook as a file spells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HookTable {
    name: Option<Spanned<String>>,
    pub(super) command: Spanned<Vec<String>>,
    on: Option<Spanned<Vec<HookTiming>>>,
    tools: Option<Spanned<Vec<String>>>,
    timeout_ms: Option<Spanned<u64>>,
    on_failure: Option<HookFailureAction>,
    #[serde(default)]
    pass: Vec<Spanned<String>>,
}

/// A hook with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookSetting {
    name: String,
    command: Vec<String>,
    on: Vec<HookTiming>,
    /// Empty means all tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    timeout_ms: u64,
    on_failure: HookFailureAction,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pass: Vec<String>,
}

/// The time at which the hook runs, as a file spells it: [`runtime::HookMoment`] in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HookTiming {
    Before,
    After,
}

/// The effect of a hook's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HookFailureAction {
    Deny,
    Ignore,
}

impl HookTable {
    /// Validates the hooks of `file`.
    pub(super) fn check_all(file: &ConfigFile) -> Result<(), OperationFault> {
        let hooks = &file.content.hook;
        if let Some(one_more) = hooks.get(MAX_HOOKS) {
            let why = format!("more than {MAX_HOOKS} hooks are too many");
            return Err(file.fault_at(&one_more.command.span(), &why));
        }
        hooks.iter().try_for_each(|hook| hook.check(file))
    }

    fn check(&self, file: &ConfigFile) -> Result<(), OperationFault> {
        let words = self.command.get_ref();
        if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
            let why = "`command` must be a program and its arguments, e.g. `[\"python3\", \"~/guard.py\"]`";
            return Err(file.fault_at(&self.command.span(), why));
        }
        let is_name = |name: &str| {
            let letters = name.chars().count();
            (1..=MAX_NAME_CHARS).contains(&letters)
                && !name.contains(|letter: char| letter.is_control() || letter == '`')
        };
        if let Some(name) = self.name.as_ref().filter(|name| !is_name(name.get_ref())) {
            let why = format!("`name` must be 1 to {MAX_NAME_CHARS} letters on one line");
            return Err(file.fault_at(&name.span(), &why));
        }
        if let Some(on) = self.on.as_ref().filter(|on| on.get_ref().is_empty()) {
            return Err(file.fault_at(&on.span(), "it is never run; leave `on` out, or write `[\"before\"]`"));
        }
        if let Some(tools) = &self.tools {
            let wrong = tools.get_ref().iter().find_map(|tool| rules::check_tool(tool).err());
            let never = || "it is for no tool; leave `tools` out, or name some".to_owned();
            if let Some(why) = wrong.or_else(|| tools.get_ref().is_empty().then(never)) {
                return Err(file.fault_at(&tools.span(), &why));
            }
        }
        for name in &self.pass {
            let environment =
                EnvironmentPolicy { pass: vec![name.get_ref().clone()], ..EnvironmentPolicy::default() };
            environment.check().map_err(|fault| file.fault_at(&name.span(), &fault.to_string()))?;
        }
        file.check_range("timeout_ms", self.timeout_ms.as_ref(), TIMEOUT_MS_RANGE)
    }

    /// Returns the hooks of `file`. Unnamed hooks that would share a name get their position in the file appended.
    pub(super) fn settings(file: &ConfigFile, dirs: &UserDirs) -> Vec<SourcedValue<HookSetting>> {
        let hooks = &file.content.hook;
        let mut settings: Vec<SourcedValue<HookSetting>> =
            hooks.iter().map(|hook| hook.setting(file, dirs)).collect();
        let names: Vec<String> = settings.iter().map(|setting| setting.value.name.clone()).collect();
        for (at, (hook, setting)) in hooks.iter().zip(&mut settings).enumerate() {
            let same = names.iter().filter(|name| **name == names[at]).count();
            if hook.name.is_none() && same > 1 {
                setting.value.name = format!("{} #{}", names[at], at + 1);
            }
        }
        settings
    }

    /// Returns the hook that the table describes.
    fn setting(&self, file: &ConfigFile, dirs: &UserDirs) -> SourcedValue<HookSetting> {
        let built_in = CommandHook::new("", Vec::new());
        let timeout = u64::try_from(built_in.timeout.as_millis()).unwrap_or(u64::MAX);
        file.setting(&self.command, |words| {
            let mut command: Vec<String> = words.iter().map(|word| expand_home(word, dirs)).collect();
            if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
                // `components()` normalizes `./x` to `x`.
                let path: PathBuf = file.base_directory().join(&*program).components().collect();
                *program = path.to_string_lossy().into_owned();
            }
            let own_name = || command_file_name(&command).unwrap_or_else(|| "hook".to_owned());
            HookSetting {
                name: self.name.as_ref().map_or_else(own_name, |name| name.get_ref().clone()),
                on: self.on.as_ref().map_or_else(|| vec![HookTiming::Before], |on| on.get_ref().clone()),
                tools: self.tools.as_ref().map(|tools| tools.get_ref().clone()).unwrap_or_default(),
                timeout_ms: self.timeout_ms.as_ref().map_or(timeout, |timeout| *timeout.get_ref()),
                on_failure: self.on_failure.unwrap_or(HookFailureAction::Deny),
                pass: self.pass.iter().map(|name| name.get_ref().clone()).collect(),
                command,
            }
        })
    }
}

/// Returns the file name that a command is about: its program, or the script given to a program found by name.
fn command_file_name(command: &[String]) -> Option<String> {
    let file = match command {
        [program, file, ..] if !program.contains('/') && file.contains('/') && !file.starts_with('-') => file,
        [program, ..] => program,
        [] => return None,
    };
    Some(Path::new(file).file_name()?.to_string_lossy().into_owned())
}

fn expand_home(word: &str, dirs: &UserDirs) -> String {
    match (word.strip_prefix("~/"), &dirs.home) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        (Some(_), None) | (None, _) => word.to_owned(),
    }
}

impl SourcedValue<HookSetting> {
    /// Returns the hook in the form that the engine runs.
    pub fn to_command_hook(&self) -> CommandHook {
        let HookSetting { name, command, on, tools, timeout_ms, on_failure, pass } = self.value.clone();
        let moment = |on: &HookTiming| match on {
            HookTiming::Before => runtime::HookMoment::Before,
            HookTiming::After => runtime::HookMoment::After,
        };
        CommandHook {
            moments: on.iter().map(moment).collect(),
            tools,
            timeout: std::time::Duration::from_millis(timeout_ms),
            on_failure: match on_failure {
                HookFailureAction::Deny => runtime::HookFailurePolicy::Deny,
                HookFailureAction::Ignore => runtime::HookFailurePolicy::Ignore,
            },
            pass,
            from: self.source.to_string(),
            ..CommandHook::new(name, command)
        }
    }
}
