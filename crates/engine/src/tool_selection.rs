//! Selects tools for a model. Of several tools for one job the model is offered one, but all stay callable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tool::{AnyTool, ShellForm, ToolJob};

use crate::ToolsConfig;

/// The tools of a registry builder, grouped by their availability to the model.
pub(crate) struct ToolSelection {
    /// The tools that the model can call.
    pub(crate) callable: Vec<Arc<dyn AnyTool>>,
    /// Names of callable tools that are not offered.
    pub(crate) hidden: BTreeSet<String>,
    /// Names that the configuration removed, each with the offered tools that do the same job.
    pub(crate) removed: BTreeMap<String, Vec<String>>,
}

/// Groups `tools` according to `config`.
pub(crate) fn select_tools(config: &ToolsConfig, tools: Vec<Arc<dyn AnyTool>>) -> ToolSelection {
    let may_call =
        |tool: &Arc<dyn AnyTool>| config.allows_tool(tool.as_ref()) || is_another_shell(config, tool, &tools);
    let callable_flags: Vec<bool> = tools.iter().map(may_call).collect();
    let shell = offered_shell(
        config,
        tools.iter().zip(&callable_flags).filter(|(_, given)| **given).map(|(tool, _)| tool),
    );
    let (mut callable, mut hidden, mut excluded) = (Vec::new(), BTreeSet::new(), Vec::new());
    for (tool, given) in tools.into_iter().zip(callable_flags) {
        if !given {
            excluded.push(tool);
            continue;
        }
        let offered = match tool.job() {
            ToolJob::Unique => true,
            ToolJob::Shell(form) => Some(form) == shell || is_named(config, tool.as_ref()),
            ToolJob::Session => shell == Some(ShellForm::Exec) || is_named(config, tool.as_ref()),
        };
        if !offered {
            hidden.insert(tool.spec().name().to_owned());
        }
        callable.push(tool);
    }
    let removed = excluded.iter().flat_map(|tool| {
        let same = |other: &&Arc<dyn AnyTool>| is_shell(tool.job()) && is_shell(other.job());
        let alternatives = callable.iter().filter(same).map(|other| other.spec().name().to_owned());
        let alternatives: Vec<String> = alternatives.filter(|name| !hidden.contains(name)).collect();
        let names = tool.aliases().into_iter().chain([tool.spec().name().to_owned()]);
        names.map(move |name| (name, alternatives.clone())).collect::<Vec<_>>()
    });
    let removed = removed.collect();
    ToolSelection { callable, hidden, removed }
}

fn is_shell(job: ToolJob) -> bool {
    matches!(job, ToolJob::Shell(_))
}

/// Returns true if the configuration's `only` list names `tool`.
fn is_named(config: &ToolsConfig, tool: &dyn AnyTool) -> bool {
    config.only.is_some() && config.includes(tool.spec().name(), &tool.aliases())
}

/// Returns true for a shell that `only` does not name although it names another shell. Such a tool can do nothing that
/// the named one cannot. `exec_command` can leave processes running, so it must be named itself.
fn is_another_shell(config: &ToolsConfig, tool: &Arc<dyn AnyTool>, all: &[Arc<dyn AnyTool>]) -> bool {
    let weaker = matches!(tool.job(), ToolJob::Shell(ShellForm::Script | ShellForm::Argv));
    let named = |other: &Arc<dyn AnyTool>| is_shell(other.job()) && config.allows_tool(other.as_ref());
    weaker && config.shell_form().is_some() && !config.excludes(tool.spec().name()) && all.iter().any(named)
}

/// Returns the shell form to offer: the one the model prefers, else the first available one.
fn offered_shell<'a>(
    config: &ToolsConfig,
    callable: impl Iterator<Item = &'a Arc<dyn AnyTool>>,
) -> Option<ShellForm> {
    let tools: Vec<&Arc<dyn AnyTool>> = callable.collect();
    let named: Vec<&Arc<dyn AnyTool>> =
        tools.iter().copied().filter(|tool| is_named(config, tool.as_ref())).collect();
    let tools = if config.only.is_some() { named } else { tools };
    let mut forms: Vec<ShellForm> = tools
        .iter()
        .filter_map(|tool| match tool.job() {
            ToolJob::Shell(form) => Some(form),
            ToolJob::Unique | ToolJob::Session => None,
        })
        .collect();
    forms.sort_unstable();
    let wanted = config.shell_form();
    forms.iter().copied().find(|form| Some(*form) == wanted).or(forms.first().copied())
}
