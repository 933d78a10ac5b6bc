//! Arguments that shell tools of other agents accept: a command in either form, variables, a user.

use std::borrow::Cow;
use std::collections::BTreeMap;

use policy::{CommandLine, EnvironmentPolicy};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use tool::ToolError;

use super::{CommandRunner, reject_nul};

/// A command: a program with arguments, or a script. Each shell tool documents one form for models and accepts both.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum CommandArg {
    Words(Vec<String>),
    Script(String),
}

impl JsonSchema for CommandArg {
    fn schema_name() -> Cow<'static, str> {
        "CommandArg".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["array", "string"], "items": { "type": "string" }, "minItems": 1 })
    }
}

impl CommandArg {
    /// Returns the command line to run. A script runs in the user's shell, which reads their profile if `login`.
    pub(crate) fn parse(&self, commands: &CommandRunner, login: bool) -> Result<CommandLine, ToolError> {
        match self {
            Self::Script(script) => {
                reject_nul("command", script)?;
                Ok(commands.find_shell(None)?.command_line(script, login))
            }
            Self::Words(words) => {
                if words.first().is_none_or(String::is_empty) {
                    return Err(ToolError::bad_argument("command[0]", "the name of a program, e.g. `ls`"));
                }
                for (at, word) in words.iter().enumerate() {
                    reject_nul(&format!("command[{at}]"), word)?;
                }
                Ok(words.clone().into())
            }
        }
    }

    /// Returns the command as the model wrote it, for lists.
    pub(crate) fn display_text(&self) -> String {
        match self {
            Self::Script(script) => script.clone(),
            Self::Words(words) => words.join(" "),
        }
    }
}

/// Prepends `env` with these variables to `line`, so that rules and the user see them as part of the command.
pub(crate) fn with_env_vars(
    line: CommandLine,
    variables: Option<&BTreeMap<String, String>>,
) -> Result<CommandLine, ToolError> {
    let Some(variables) = variables.filter(|variables| !variables.is_empty()) else { return Ok(line) };
    for (name, value) in variables {
        let set = vec![(name.clone(), value.clone())];
        let checked = EnvironmentPolicy { set, ..EnvironmentPolicy::default() }.check();
        checked.map_err(|fault| ToolError::bad_argument(format!("env.{name}"), fault.to_string()))?;
    }
    let set = variables.iter().map(|(name, value)| format!("{name}={value}"));
    let argv = std::iter::once("env".to_owned()).chain(set).chain(line.argv()).collect();
    Ok(CommandLine::Program { argv })
}

/// Rejects a user other than the current one.
pub(crate) fn check_user(user: Option<&str>) -> Result<(), ToolError> {
    match user.filter(|user| !user.is_empty() && !exec::process::is_own_user(user)) {
        None => Ok(()),
        Some(_) => Err(ToolError::bad_argument(
            "user",
            "commands run as the user who runs this session; leave `user` out",
        )),
    }
}
