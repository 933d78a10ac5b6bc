//! Offered and callable are two sets: of several tools for one job a model is told of one, and can call all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tool::{AnyTool, Job, ShellForm};

use crate::ToolsConfig;

/// The tools of a builder, sorted by what a model can do with them.
pub(crate) struct Sorted {
    /// Tools that it can call.
    pub(crate) callable: Vec<Arc<dyn AnyTool>>,
    /// Names of those that it is not told of.
    pub(crate) hidden: BTreeSet<String>,
    /// Names that were taken away, each with the names of tools that do the same job.
    pub(crate) taken: BTreeMap<String, Vec<String>>,
}

/// Sorts `tools` as `config` says.
pub(crate) fn sorted(config: &ToolsConfig, tools: Vec<Arc<dyn AnyTool>>) -> Sorted {
    let given =
        |tool: &Arc<dyn AnyTool>| config.gives(tool.as_ref()) || is_another_shell(config, tool, &tools);
    let is_given: Vec<bool> = tools.iter().map(given).collect();
    let shell =
        offered_shell(config, tools.iter().zip(&is_given).filter(|(_, given)| **given).map(|(tool, _)| tool));
    let (mut callable, mut hidden, mut gone) = (Vec::new(), BTreeSet::new(), Vec::new());
    for (tool, given) in tools.into_iter().zip(is_given) {
        if !given {
            gone.push(tool);
            continue;
        }
        let told = match tool.job() {
            Job::Own => true,
            Job::Shell(form) => Some(form) == shell || is_named(config, tool.as_ref()),
            Job::Session => shell == Some(ShellForm::Exec) || is_named(config, tool.as_ref()),
        };
        if !told {
            hidden.insert(tool.spec().name().to_owned());
        }
        callable.push(tool);
    }
    let taken = gone.iter().flat_map(|tool| {
        let same = |other: &&Arc<dyn AnyTool>| is_shell(tool.job()) && is_shell(other.job());
        let told = callable.iter().filter(same).map(|other| other.spec().name().to_owned());
        let told: Vec<String> = told.filter(|name| !hidden.contains(name)).collect();
        let names = tool.aliases().into_iter().chain([tool.spec().name().to_owned()]);
        names.map(move |name| (name, told.clone())).collect::<Vec<_>>()
    });
    let taken = taken.collect();
    Sorted { callable, hidden, taken }
}

fn is_shell(job: Job) -> bool {
    matches!(job, Job::Shell(_))
}

/// Whether somebody named `tool` as one of those that the model gets.
fn is_named(config: &ToolsConfig, tool: &dyn AnyTool) -> bool {
    config.only.is_some() && config.admits(tool.spec().name(), &tool.aliases())
}

/// Whether `tool` is a shell that `only` does not name though it names another: it can do nothing that the other cannot.
/// `exec_command` could leave something running, so it has to be named.
fn is_another_shell(config: &ToolsConfig, tool: &Arc<dyn AnyTool>, all: &[Arc<dyn AnyTool>]) -> bool {
    let weaker = matches!(tool.job(), Job::Shell(ShellForm::Script | ShellForm::Words));
    let named = |other: &Arc<dyn AnyTool>| is_shell(other.job()) && config.gives(other.as_ref());
    weaker && config.shell_form().is_some() && !config.takes_away(tool.spec().name()) && all.iter().any(named)
}

/// The form of shell that the model is told of: the one it wants, else the first that there is.
fn offered_shell<'a>(
    config: &ToolsConfig,
    given: impl Iterator<Item = &'a Arc<dyn AnyTool>>,
) -> Option<ShellForm> {
    let tools: Vec<&Arc<dyn AnyTool>> = given.collect();
    let named: Vec<&Arc<dyn AnyTool>> =
        tools.iter().copied().filter(|tool| is_named(config, tool.as_ref())).collect();
    let tools = if config.only.is_some() { named } else { tools };
    let mut forms: Vec<ShellForm> = tools
        .iter()
        .filter_map(|tool| match tool.job() {
            Job::Shell(form) => Some(form),
            Job::Own | Job::Session => None,
        })
        .collect();
    forms.sort_unstable();
    let wanted = config.shell_form();
    forms.iter().copied().find(|form| Some(*form) == wanted).or(forms.first().copied())
}
