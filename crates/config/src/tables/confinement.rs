//! The table `[confinement]`: the sandbox of commands. A project may narrow it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use runtime::HostPattern;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::config_file::ConfigFile;
use crate::flags::ConfinementArgs;
use crate::listing::{
    ConfigRow, list_value, one_value, optional_value, row, text_and_source, value_and_source,
};
use crate::load::UserDirs;
use crate::operation_fault::OperationFault;
use crate::project_file::{RefusedKey, refuse, refuse_if};
use crate::{SettingSource, SourcedValue};

/// Error text for an invalid name of a unix socket.
const INVALID_SOCKET: &str = "a unix socket is a whole path, e.g. `/run/x.sock`, or `@` and an abstract name";

/// The confinement of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinementSettings {
    /// Additional directories that commands may write.
    pub writable: Vec<SourcedValue<PathBuf>>,
    /// Read-only exceptions inside writable directories.
    pub read_only: Vec<SourcedValue<PathBuf>>,
    /// The network access of commands; loopback by default.
    pub network: SourcedValue<NetworkMode>,
    /// Hosts that commands may reach regardless of `network`.
    pub hosts: Vec<SourcedValue<HostPattern>>,
    /// Unix sockets of other programs that commands may connect to.
    pub unix_sockets: Vec<SourcedValue<String>>,
    /// The strongest sandbox layer to use; namespaces by default.
    pub tier: SourcedValue<ConfinementTier>,
    /// The weakest sandbox layer to accept; namespaces by default.
    pub require: SourcedValue<ConfinementTier>,
    /// The maximum number of processes at a time, per session or per command.
    pub processes: SourcedValue<Option<u64>>,
    /// The memory limit in megabytes, per session and per process.
    pub memory_mb: SourcedValue<Option<u64>>,
    /// The maximum size of a file in megabytes.
    pub file_size_mb: SourcedValue<Option<u64>>,
    /// The maximum number of open files per process.
    pub open_files: SourcedValue<Option<u64>>,
    /// The space for `/tmp`, `/var/tmp` and caches in megabytes; half of the free disk space if unset.
    pub tmp_mb: SourcedValue<Option<u64>>,
    /// The space for `/dev/shm` in megabytes; a quarter of the memory if unset.
    pub shm_mb: SourcedValue<Option<u64>>,
}

/// The network access of confined commands, the strictest first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// None
    Off,
    /// Commands of this session, over a private loopback
    Loopback,
    /// Every host
    On,
}

/// A sandbox tier, the weakest first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementTier {
    /// No layer
    Nothing,
    /// A system call filter
    Seccomp,
    /// Also Landlock rules for files
    Landlock,
    /// Also a private file system, process tree and network
    Namespaces,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfinementTable {
    writable: Vec<Spanned<String>>,
    read_only: Vec<Spanned<String>>,
    network: Option<Spanned<NetworkMode>>,
    hosts: Vec<Spanned<String>>,
    unix_sockets: Vec<Spanned<String>>,
    tier: Option<Spanned<ConfinementTier>>,
    require: Option<Spanned<ConfinementTier>>,
    processes: Option<Spanned<u64>>,
    memory_mb: Option<Spanned<u64>>,
    file_size_mb: Option<Spanned<u64>>,
    open_files: Option<Spanned<u64>>,
    tmp_mb: Option<Spanned<u64>>,
    shm_mb: Option<Spanned<u64>>,
}

/// The part of the table that a project may set.
#[derive(Debug)]
pub(crate) struct ProjectConfinement<'a> {
    read_only: &'a [Spanned<String>],
    network: Option<&'a Spanned<NetworkMode>>,
    require: Option<&'a Spanned<ConfinementTier>>,
    processes: Option<&'a Spanned<u64>>,
    memory_mb: Option<&'a Spanned<u64>>,
    file_size_mb: Option<&'a Spanned<u64>>,
    open_files: Option<&'a Spanned<u64>>,
}

impl ConfinementTable {
    pub(crate) fn check(&self, file: &ConfigFile) -> Result<(), OperationFault> {
        file.check_range("processes", self.processes.as_ref(), 1..=4_000_000)?;
        file.check_range("memory_mb", self.memory_mb.as_ref(), 16..=1 << 30)?;
        file.check_range("file_size_mb", self.file_size_mb.as_ref(), 1..=1 << 30)?;
        file.check_range("open_files", self.open_files.as_ref(), 16..=1 << 20)?;
        file.check_range("tmp_mb", self.tmp_mb.as_ref(), 1..=1 << 30)?;
        file.check_range("shm_mb", self.shm_mb.as_ref(), 1..=1 << 30)?;
        for host in &self.hosts {
            file.parse_host(host)?;
        }
        match self.unix_sockets.iter().find(|name| !is_socket_name(name.get_ref())) {
            Some(name) => Err(file.fault_at(&name.span(), INVALID_SOCKET)),
            None => Ok(()),
        }
    }

    /// Returns the part that a project may set; `required` is the sandbox tier that the user requires.
    pub(crate) fn narrowing(&self, required: ConfinementTier) -> Result<ProjectConfinement<'_>, RefusedKey> {
        let Self {
            writable,
            read_only,
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
        } = self;
        refuse(writable.first(), "confinement.writable")?;
        refuse(hosts.first(), "confinement.hosts")?;
        refuse(unix_sockets.first(), "confinement.unix_sockets")?;
        refuse(tier.as_ref(), "confinement.tier")?;
        let require = refuse_if(require.as_ref(), "confinement.require", |tier| *tier < required)?;
        // The available amount depends on the machine, so a number cannot be known to be smaller.
        refuse(tmp_mb.as_ref(), "confinement.tmp_mb")?;
        refuse(shm_mb.as_ref(), "confinement.shm_mb")?;
        let is_wider = |mode: &NetworkMode| *mode > NetworkMode::Loopback;
        let network = refuse_if(network.as_ref(), "confinement.network", is_wider)?;
        Ok(ProjectConfinement {
            read_only,
            network,
            require,
            processes: processes.as_ref(),
            memory_mb: memory_mb.as_ref(),
            file_size_mb: file_size_mb.as_ref(),
            open_files: open_files.as_ref(),
        })
    }
}

impl ConfinementSettings {
    pub(crate) fn built_in() -> Self {
        Self {
            writable: Vec::new(),
            read_only: Vec::new(),
            network: SourcedValue::built_in(NetworkMode::Loopback),
            hosts: Vec::new(),
            unix_sockets: Vec::new(),
            tier: SourcedValue::built_in(ConfinementTier::Namespaces),
            require: SourcedValue::built_in(ConfinementTier::Namespaces),
            processes: SourcedValue::built_in(runtime::CommandLimits::default().processes),
            memory_mb: SourcedValue::built_in(None),
            file_size_mb: SourcedValue::built_in(None),
            open_files: SourcedValue::built_in(None),
            tmp_mb: SourcedValue::built_in(None),
            shm_mb: SourcedValue::built_in(None),
        }
    }

    pub(crate) fn apply_user(
        &mut self,
        file: &ConfigFile,
        table: &ConfinementTable,
        dirs: &UserDirs,
    ) -> Result<(), OperationFault> {
        let absolute = |root: &Spanned<String>| file.setting(root, |root| file.resolve_path(root, dirs));
        self.writable.extend(table.writable.iter().map(absolute));
        self.read_only.extend(file.paths(&table.read_only));
        file.set(&mut self.network, table.network.as_ref(), |&network| network);
        for text in &table.hosts {
            let host = file.parse_host(text)?;
            self.hosts.push(file.setting(text, |_| host));
        }
        self.unix_sockets.extend(file.texts(&table.unix_sockets));
        file.set(&mut self.tier, table.tier.as_ref(), |&tier| tier);
        file.set(&mut self.require, table.require.as_ref(), |&tier| tier);
        for (limit, value) in [
            (&mut self.processes, &table.processes),
            (&mut self.memory_mb, &table.memory_mb),
            (&mut self.file_size_mb, &table.file_size_mb),
            (&mut self.open_files, &table.open_files),
            (&mut self.tmp_mb, &table.tmp_mb),
            (&mut self.shm_mb, &table.shm_mb),
        ] {
            file.set(limit, value.as_ref(), |&value| Some(value));
        }
        Ok(())
    }

    pub(crate) fn apply_project(&mut self, file: &ConfigFile, project: &ProjectConfinement<'_>) {
        self.read_only.extend(file.paths(project.read_only));
        file.lower(&mut self.network, project.network, |&network| network);
        // The strongest requirement wins.
        if project.require.is_some_and(|tier| *tier.get_ref() > self.require.value) {
            file.set(&mut self.require, project.require, |&tier| tier);
        }
        for (limit, value) in [
            (&mut self.processes, project.processes),
            (&mut self.memory_mb, project.memory_mb),
            (&mut self.file_size_mb, project.file_size_mb),
            (&mut self.open_files, project.open_files),
        ] {
            if value.is_some_and(|value| limit.value.is_none_or(|limit| *value.get_ref() < limit)) {
                file.set(limit, value, |&value| Some(value));
            }
        }
    }

    /// Applies the flags. Relative paths start from `cwd`.
    pub(crate) fn apply_flags(&mut self, cwd: &Path, flags: &ConfinementArgs) -> Result<(), OperationFault> {
        let at = |flag| {
            move |path: &PathBuf| SourcedValue { value: cwd.join(path), source: SettingSource::Flag(flag) }
        };
        self.writable.extend(flags.writable.iter().map(at("--writable")));
        self.read_only.extend(flags.read_only.iter().map(at("--read-only")));
        if let Some(value) = flags.network {
            self.network = SourcedValue { value, source: SettingSource::Flag("--network") };
        }
        if let Some(value) = flags.tier {
            self.tier = SourcedValue { value, source: SettingSource::Flag("--tier") };
        }
        if let Some(value) = flags.require {
            self.require = SourcedValue { value, source: SettingSource::Flag("--require") };
        }
        // A user who names a weaker layer wants it to be used.
        if self.require.source == SettingSource::BuiltIn && self.tier.value < self.require.value {
            self.require = self.tier.clone();
        }
        let host =
            |host: &HostPattern| SourcedValue { value: host.clone(), source: SettingSource::Flag("--host") };
        self.hosts.extend(flags.host.iter().map(host));
        for name in &flags.unix_socket {
            if !is_socket_name(name) {
                return Err(OperationFault::usage(format!("--unix-socket {name}: {INVALID_SOCKET}")));
            }
            let source = SettingSource::Flag("--unix-socket");
            self.unix_sockets.push(SourcedValue { value: name.clone(), source });
        }
        Ok(())
    }

    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        vec![
            row("confinement.writable", list_value(self.writable.iter().map(value_and_source))),
            row("confinement.read_only", list_value(self.read_only.iter().map(value_and_source))),
            row("confinement.network", one_value(&self.network)),
            row("confinement.hosts", list_value(self.hosts.iter().map(text_and_source))),
            row("confinement.unix_sockets", list_value(self.unix_sockets.iter().map(value_and_source))),
            row("confinement.tier", one_value(&self.tier)),
            row("confinement.require", one_value(&self.require)),
            row("confinement.processes", optional_value(&self.processes)),
            row("confinement.memory_mb", optional_value(&self.memory_mb)),
            row("confinement.file_size_mb", optional_value(&self.file_size_mb)),
            row("confinement.open_files", optional_value(&self.open_files)),
            row("confinement.tmp_mb", optional_value(&self.tmp_mb)),
            row("confinement.shm_mb", optional_value(&self.shm_mb)),
        ]
    }
}

fn is_socket_name(name: &str) -> bool {
    name.len() > 1 && (name.starts_with('/') || name.starts_with('@'))
}
