//! A project's configuration: the keys that can only narrow what tools may do. All other keys are refused.

use std::ops::Range;

use toml::Spanned;

use super::config_file::{
    CommandsTable, ConfigTables, ConfinementTable, FilesTable, LimitsTable, ToolsTable, WireTable,
};
use super::{ApprovalMode, ConfinementTier, EnvInheritance, IntegerStyle, NetworkMode, SandboxMode};

/// The values of a project's file. A key that could widen what tools may do has no field here, so no code can apply
/// it.
#[derive(Debug)]
pub(super) struct ProjectTables<'a> {
    pub(super) model: Option<&'a Spanned<String>>,
    pub(super) sandbox: Option<&'a Spanned<SandboxMode>>,
    pub(super) approval: Option<&'a Spanned<ApprovalMode>>,
    pub(super) lists: NarrowingLists<'a>,
    pub(super) inherit: Option<&'a Spanned<EnvInheritance>>,
    pub(super) sessions: Option<&'a Spanned<u64>>,
    pub(super) network: Option<&'a Spanned<NetworkMode>>,
    pub(super) require: Option<&'a Spanned<ConfinementTier>>,
    pub(super) command_limits: CommandLimitKeys<'a>,
    pub(super) limits: &'a LimitsTable,
}

/// Lists to which every file may add, and the spelling of integers.
#[derive(Debug)]
pub(super) struct NarrowingLists<'a> {
    pub(super) only: Option<&'a Spanned<Vec<String>>>,
    pub(super) without: &'a [Spanned<String>],
    /// Tools that their own switch disables.
    pub(super) disabled_tools: Vec<(&'static str, &'a Spanned<bool>)>,
    pub(super) deny_read: &'a [Spanned<String>],
    pub(super) read_only: &'a [Spanned<String>],
    pub(super) integers: Option<&'a Spanned<IntegerStyle>>,
}

impl<'a> NarrowingLists<'a> {
    pub(super) fn from_tables(tables: &'a ConfigTables) -> Self {
        let ConfigTables { tools, files, confinement, wire: WireTable { integers }, .. } = tables;
        Self {
            only: tools.only.as_ref(),
            without: &tools.without,
            disabled_tools: tools.disabled_tools().collect(),
            deny_read: &files.deny_read,
            read_only: &confinement.read_only,
            integers: integers.as_ref(),
        }
    }
}

/// The limits of commands in a file.
#[derive(Debug, Default)]
pub(super) struct CommandLimitKeys<'a> {
    pub(super) processes: Option<&'a Spanned<u64>>,
    pub(super) memory_mb: Option<&'a Spanned<u64>>,
    pub(super) file_size_mb: Option<&'a Spanned<u64>>,
    pub(super) open_files: Option<&'a Spanned<u64>>,
    pub(super) tmp_mb: Option<&'a Spanned<u64>>,
    pub(super) shm_mb: Option<&'a Spanned<u64>>,
}

/// A key that a project may not set, or not to this value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedKey {
    pub(super) span: Range<usize>,
    pub(super) key: &'static str,
}

/// Refuses a key that is given.
fn refuse<T>(value: Option<&Spanned<T>>, key: &'static str) -> Result<(), RefusedKey> {
    refuse_if(value, key, |_| true).map(drop)
}

/// Refuses a key whose value widens what tools may do, and returns it otherwise.
fn refuse_if<'a, T>(
    value: Option<&'a Spanned<T>>,
    key: &'static str,
    widens: impl Fn(&T) -> bool,
) -> Result<Option<&'a Spanned<T>>, RefusedKey> {
    match value {
        Some(value) if widens(value.get_ref()) => Err(RefusedKey { span: value.span(), key }),
        value => Ok(value),
    }
}

impl<'a> ProjectTables<'a> {
    /// Takes the keys that a project may set; `required` is the sandbox tier that the user requires. The patterns name
    /// every key, so a new key does not compile before it is decided here.
    pub(super) fn from_tables(
        tables: &'a ConfigTables,
        required: ConfinementTier,
    ) -> Result<Self, RefusedKey> {
        let ConfigTables {
            model,
            sandbox,
            approval,
            tools,
            models,
            files,
            commands,
            confinement,
            limits,
            wire: WireTable { integers: _ },
            hook,
            mcp_servers,
        } = tables;
        let sandbox = refuse_if(sandbox.as_ref(), "sandbox", |mode| *mode > SandboxMode::ReadOnly)?;
        let tightens = |asks: &ApprovalMode| matches!(asks, ApprovalMode::Untrusted | ApprovalMode::Disabled);
        let approval = refuse_if(approval.as_ref(), "approval", |asks| !tightens(asks))?;
        check_files(files)?;
        check_tools(tools)?;
        let (inherit, sessions) = narrowing_commands(commands)?;
        let (network, require, command_limits) = narrowing_confinement(confinement, required)?;
        refuse(hook.first().map(|hook| &hook.command), "hook")?;
        refuse(mcp_servers.values().next(), "mcp_servers")?;
        refuse(models.values().next(), "models")?;
        let lists = NarrowingLists::from_tables(tables);
        let model = model.as_ref();
        Ok(Self {
            model,
            sandbox,
            approval,
            lists,
            inherit,
            sessions,
            network,
            require,
            command_limits,
            limits,
        })
    }
}

fn check_files(files: &FilesTable) -> Result<(), RefusedKey> {
    let FilesTable { read_roots, deny_read: _, deny_read_defaults } = files;
    refuse(read_roots.first(), "files.read_roots")?;
    refuse_if(deny_read_defaults.as_ref(), "files.deny_read_defaults", |on| !on).map(drop)
}

fn check_tools(tools: &ToolsTable) -> Result<(), RefusedKey> {
    let ToolsTable {
        only: _,
        without: _,
        web_search,
        web_search_request,
        include_plan_tool: _,
        include_apply_patch_tool: _,
        include_view_image_tool: _,
        shell_type,
        apply_patch_tool_type,
        use_experimental_streamable_shell_tool,
    } = tools;
    refuse(web_search.as_ref(), "tools.web_search")?;
    refuse_if(web_search_request.as_ref(), "tools.web_search_request", |on| *on)?;
    refuse(shell_type.as_ref(), "tools.shell_type")?;
    refuse(apply_patch_tool_type.as_ref(), "tools.apply_patch_tool_type")?;
    let streamable = use_experimental_streamable_shell_tool.as_ref();
    refuse(streamable, "tools.use_experimental_streamable_shell_tool")
}

/// The inheritance of variables, and the limit of sessions.
type CommandKeys<'a> = (Option<&'a Spanned<EnvInheritance>>, Option<&'a Spanned<u64>>);

fn narrowing_commands(commands: &CommandsTable) -> Result<CommandKeys<'_>, RefusedKey> {
    let CommandsTable { inherit, pass, set, sessions, shell } = commands;
    let inherit = refuse_if(inherit.as_ref(), "commands.inherit", |scope| *scope > EnvInheritance::Core)?;
    refuse(pass.first(), "commands.pass")?;
    refuse(set.values().next(), "commands.set")?;
    refuse(shell.as_ref(), "commands.shell")?;
    Ok((inherit, sessions.as_ref()))
}

/// The network mode, the required tier and the limits.
type ConfinementKeys<'a> =
    (Option<&'a Spanned<NetworkMode>>, Option<&'a Spanned<ConfinementTier>>, CommandLimitKeys<'a>);

fn narrowing_confinement(
    confinement: &ConfinementTable,
    required: ConfinementTier,
) -> Result<ConfinementKeys<'_>, RefusedKey> {
    let ConfinementTable {
        writable,
        read_only: _,
        network,
        hosts,
        unix_sockets,
        tier,
        require,
        processes,
        memory_mb,
        file_size_mb,
        open_files,
        tmp_mb,
        shm_mb,
    } = confinement;
    refuse(writable.first(), "confinement.writable")?;
    refuse(hosts.first(), "confinement.hosts")?;
    refuse(unix_sockets.first(), "confinement.unix_sockets")?;
    refuse(tier.as_ref(), "confinement.tier")?;
    let require = refuse_if(require.as_ref(), "confinement.require", |tier| *tier < required)?;
    // The available amount depends on the machine, so a number cannot be known to be smaller.
    refuse(tmp_mb.as_ref(), "confinement.tmp_mb")?;
    refuse(shm_mb.as_ref(), "confinement.shm_mb")?;
    let network = refuse_if(network.as_ref(), "confinement.network", |mode| *mode > NetworkMode::Loopback)?;
    let limits = CommandLimitKeys {
        processes: processes.as_ref(),
        memory_mb: memory_mb.as_ref(),
        file_size_mb: file_size_mb.as_ref(),
        open_files: open_files.as_ref(),
        ..CommandLimitKeys::default()
    };
    Ok((network, require, limits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<&'static str> {
        let tables: ConfigTables = toml::from_str(text).expect("the text is valid TOML");
        ProjectTables::from_tables(&tables, ConfinementTier::Landlock).err().map(|refused| refused.key)
    }

    #[test]
    fn a_project_sets_only_keys_that_narrow() {
        let rows = [
            ("sandbox = 'read-only'", None),
            ("sandbox = 'workspace-write'", Some("sandbox")),
            ("approval = 'untrusted'", None),
            ("approval = 'on-request'", Some("approval")),
            ("model = 'gpt-5'", None),
            ("files.deny_read = ['*.key']", None),
            ("files.deny_read_defaults = true", None),
            ("files.deny_read_defaults = false", Some("files.deny_read_defaults")),
            ("tools.without = ['web_search']", None),
            ("tools.web_search_request = false", None),
            ("tools.web_search_request = true", Some("tools.web_search_request")),
            ("tools.shell_type = 'local'", Some("tools.shell_type")),
            ("commands.inherit = 'none'", None),
            ("commands.inherit = 'all'", Some("commands.inherit")),
            ("commands.shell = '/bin/sh'", Some("commands.shell")),
            ("confinement.require = 'namespaces'", None),
            ("confinement.require = 'seccomp'", Some("confinement.require")),
            ("confinement.network = 'off'", None),
            ("confinement.network = 'on'", Some("confinement.network")),
            ("confinement.memory_mb = 64", None),
            ("confinement.tmp_mb = 64", Some("confinement.tmp_mb")),
            ("limits.parallel = 1", None),
            ("[mcp_servers.x]\ncommand = 'x'", Some("mcp_servers")),
            ("[[hook]]\ncommand = ['x']", Some("hook")),
        ];
        for (text, expected) in rows {
            assert_eq!(refused(text), expected, "{text}");
        }
    }
}
