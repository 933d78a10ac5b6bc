//! Passes configured files, approval, rules, hooks and commands to the builder.

use std::path::Path;
use std::sync::Arc;

use agent::WebSearchTool;
use runtime::rules::{RulePath, concerns_tool};
use runtime::{
    ApprovalPolicy, EnvironmentPolicy, InheritScope, InstalledShell, ToolHandler, ToolgateBuilder,
};

use crate::user_rule_file::UserRuleFile;
use crate::web_search;
use config::{Config, OperationFault, SourcedValue, UserDirs, private_dirs};

/// Passes the readable and the denied paths to the builder.
pub(crate) fn with_file_access(
    mut builder: ToolgateBuilder,
    config: &Config,
    dirs: &UserDirs,
) -> Result<ToolgateBuilder, OperationFault> {
    if !config.files.deny_read_defaults.value {
        builder = builder.replace_deny_read(Vec::new());
    }
    for pattern in &config.files.deny_read {
        builder = builder.deny_read(&pattern.value);
    }
    // A program that reads a server's token, or connects to its approval socket, could approve its own calls. Records
    // hold what was said and read in other directories.
    let tokens = private_dirs::token_dir(dirs).into_iter();
    for own in tokens.chain(private_dirs::approval_socket_dirs(dirs)).chain(private_dirs::record_dirs(dirs)) {
        // `components()` removes `//` and `.`, which a pattern cannot contain.
        builder = builder.deny_read(RulePath::Absolute(own.components().collect()).deny_read_pattern());
    }
    for root in &config.files.read_roots {
        let SourcedValue { value, source } = root;
        // The trailing `/.` makes only a directory resolve. Checked here, where the source of the setting is known.
        if let Err(error) = exec::fs::canonicalize(&value.join(".")) {
            let path = value.display();
            return Err(OperationFault::usage(format!(
                "{source}: the read root `{path}` cannot be read as a directory: {error}"
            )));
        }
        builder = builder.read_root(value);
    }
    Ok(builder)
}

/// Passes the approval policy, the hooks and the rules for work in `cwd` to the builder.
pub(crate) fn with_approval(
    builder: ToolgateBuilder,
    config: &Config,
    cwd: &Path,
    dirs: &UserDirs,
) -> Result<ToolgateBuilder, OperationFault> {
    let rules = exec::rules::load(&config::rule_files(cwd, dirs));
    let mut rules = rules.map_err(|fault| OperationFault::usage(fault.to_string()))?;
    rules.extend(web_search::search_rule(config));
    let search = web_search::search_tool_alias(config);
    if let Some(tool) = &search {
        rules.extend_to_tool(WebSearchTool::NAME, tool);
    }
    let mut builder = builder.rules(rules).approval(match config.approval.value {
        config::ApprovalMode::Untrusted => ApprovalPolicy::Untrusted,
        config::ApprovalMode::OnFailure => ApprovalPolicy::OnFailure,
        config::ApprovalMode::OnRequest => ApprovalPolicy::OnRequest,
        config::ApprovalMode::Never => ApprovalPolicy::Never,
        config::ApprovalMode::Auto => ApprovalPolicy::Auto,
        config::ApprovalMode::Disabled => ApprovalPolicy::Disabled,
    });
    if let Some(directory) = &dirs.config {
        builder = builder.rulebook(Arc::new(UserRuleFile { path: directory.join(config::USER_RULES) }));
    }
    Ok(config.hooks.iter().fold(builder, |builder, hook| {
        let mut hook = hook.to_command_hook();
        if hook.tools.iter().any(|pattern| concerns_tool(pattern, WebSearchTool::NAME)) {
            hook.tools.extend(search.clone());
        }
        builder.command_hook(hook)
    }))
}

/// Passes the environment, the session limit and the shell of commands to the builder.
pub(crate) fn with_commands(
    builder: ToolgateBuilder,
    commands: &config::CommandSettings,
) -> Result<ToolgateBuilder, OperationFault> {
    let environment = EnvironmentPolicy {
        inherit: match commands.inherit.value {
            config::EnvInheritance::All => InheritScope::All,
            config::EnvInheritance::Core => InheritScope::Core,
            config::EnvInheritance::None => InheritScope::None,
        },
        pass: commands.pass.iter().map(|name| name.value.clone()).collect(),
        set: commands.set.iter().map(|pair| pair.value.clone()).collect(),
    };
    // Variables from files were checked when the file was read.
    environment.check().map_err(|fault| OperationFault::usage(format!("--env: {fault}")))?;
    let builder = builder.environment(environment).sessions(commands.sessions.value);
    let SourcedValue { value: Some(path), source } = &commands.shell else { return Ok(builder) };
    let shell = InstalledShell::find(&path.to_string_lossy())
        .map_err(|fault| OperationFault::usage(format!("{source}: {fault}")))?;
    Ok(builder.shell(shell))
}
