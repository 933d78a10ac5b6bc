//! Cell: the process that builds a sandbox once and then forks supervisors, which start confined programs.
//!
//! ```text
//! spawner ── cell        user, mount, network and IPC namespaces; the file system of its plan
//!              └── supervisor   process 1 of a process namespace with its own /proc; reused
//!                    └── program   no capabilities, no new rights, Landlock, seccomp
//! ```
//!
//! A cell and its supervisors run no foreign code. A protection that cannot be applied is an error before anything
//! runs.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

use policy::{EnforcementGap, NetworkPolicy, Tier};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::DumpableBehavior;

use super::bpf::BpfInstruction;
use super::broker::BrokerFacts;
use super::cell_plan::CellPlan;
use super::cgroup::CellCgroup;
use super::dns_stub::DnsStub;
use super::mounts::{self, MountFault};
use super::seccomp_filter::{FilterRules, compile_filter};
use super::socket_origin::BoundSockets;
use super::sys::{self, Namespaces};
use super::{landlock, loopback, relay};
use crate::process::codec::MessageEncoder;
use crate::process::{confined, fd_passing};

/// The confinement that a supervisor applies to the programs that it starts.
#[derive(Debug)]
pub(crate) struct ProgramConfinement {
    pub(crate) broker_facts: BrokerFacts,
    /// The Landlock version in use.
    pub(crate) landlock: Option<u32>,
    pub(crate) filter: Vec<BpfInstruction>,
    /// True if the broker judges calls that the filter cannot.
    pub(crate) brokered: bool,
    /// True if supervisors are process 1 of a process namespace.
    pub(crate) own_pid_namespace: bool,
    /// True if the cell has its own mount namespace, in which layers can be mounted.
    pub(crate) own_mounts: bool,
    pub(crate) gaps: BTreeSet<EnforcementGap>,
    /// The private directory of the session, as it is outside.
    pub(crate) scratch: Option<OwnedFd>,
    /// True if a control group limits memory.
    pub(crate) memory_is_limited: bool,
    /// The socket to the relay, if any host may be reached.
    pub(crate) relay: Option<OwnedFd>,
}

impl ProgramConfinement {
    /// Builds the Landlock ruleset for the current files; `None` without Landlock.
    pub(crate) fn landlock_rules(&self) -> rustix::io::Result<Option<OwnedFd>> {
        let make = |version| landlock::ruleset(&self.broker_facts.plan.writable, self.own_mounts, version);
        self.landlock.map(make).transpose()
    }

    /// Opens the DNS stub of a supervisor if the cell can reach no other DNS server. Returns the gap if allowed hosts
    /// cannot be reached, or not by name.
    fn open_dns_stub(&self) -> (Option<DnsStub>, Option<EnforcementGap>) {
        let has_loopback = self.broker_facts.plan.network == NetworkPolicy::Loopback || self.relay.is_some();
        if !(self.own_mounts && self.brokered && has_loopback) {
            return (None, None);
        }
        let stub = DnsStub::open(&self.broker_facts.plan.hosts);
        let gap = match &stub {
            // No host is allowed: refusals name an address, and not a host.
            _ if self.relay.is_none() => None,
            Ok(stub) if stub.is_configured() => None,
            Ok(_) => Some(EnforcementGap::HostNames),
            Err(_) => Some(EnforcementGap::AllowedHosts),
        };
        (stub.ok(), gap)
    }
}

/// Becomes the cell of `plan`, in the control group `group` if there is one. `staged` are the mounts of its staged
/// roots. Serves the host at the other end of `control`.
pub(crate) fn serve(
    plan: CellPlan,
    staged: &[OwnedFd],
    group: Option<&CellCgroup>,
    control: &OwnedFd,
    limits: confined::LaunchLimits,
) -> ! {
    let _old_kernel = rustix::thread::set_name(c"toolgate-cell");
    let group = group.filter(|group| group.enter().is_ok());
    let asks_memory = plan.limits.memory.is_some();
    let (mut confinement, mut spare) = match build_confinement(plan, staged, limits) {
        Ok(built) => built,
        Err(fault) => {
            let _host_is_gone = fd_passing::send_all(control, &encode_failure(&fault), &[], None);
            confined::exit(0)
        }
    };
    if group.is_some_and(|group| group.limits_processes) {
        confinement.gaps.remove(&EnforcementGap::ProcessLimit);
    }
    confinement.memory_is_limited = group.is_some_and(|group| group.limits_memory);
    if asks_memory && !group.is_some_and(|group| group.limits_memory) {
        confinement.gaps.insert(EnforcementGap::MemoryLimit);
    }
    let own_terminals = confinement.own_mounts.then(open_devpts).flatten();
    let fds: Vec<_> = own_terminals.iter().map(AsFd::as_fd).collect();
    if fd_passing::send(control, &encode_ready(&confinement.gaps), &fds).is_err() {
        confined::exit(0);
    }
    drop(own_terminals);
    let Ok(signals) = confined::child_signals() else { confined::exit(1) };
    let (mut host, mut wants_spare) = (Some(control), false);
    // ends: when the host is gone and there are no children
    loop {
        confined::drain_signals(&signals);
        if confined::reap_all() && host.is_none() {
            confined::exit(0);
        }
        let mut wait = vec![PollFd::new(&signals, PollFlags::IN)];
        wait.extend(host.map(|host| PollFd::new(host, PollFlags::IN)));
        let woken = poll(&mut wait, wants_spare.then_some(&SPARE_CREATION_DELAY));
        let has_message = woken.is_ok() && wait.get(1).is_some_and(|host| !host.revents().is_empty());
        drop(wait);
        if wants_spare && woken == Ok(0) {
            (wants_spare, spare) = (false, SpareSupervisor::make_another(&confinement, limits));
        }
        let Some(open) = host.filter(|_| has_message) else { continue };
        let mut fds = Vec::new();
        let got = fd_passing::receive(open, &mut [0; 1], &mut fds);
        let Some(client) = got.ok().filter(|&got| got > 0).and_then(|_| fds.pop()) else {
            // The spare supervisor exits too.
            (host, wants_spare, spare, confinement.relay) = (None, false, None, None);
            continue;
        };
        // If none can be created, the host sees its end of the socket close, and reports it.
        if let Some(ready) = spare.take().or_else(|| SpareSupervisor::make_another(&confinement, limits)) {
            ready.assign_client(&client);
        }
        wants_spare = true;
    }
}

/// The idle time before the next spare supervisor is created: a host that runs one command needs no other.
const SPARE_CREATION_DELAY: Timespec = Timespec { tv_sec: 0, tv_nsec: 30_000_000 };

/// A supervisor that waits for the host that it will serve.
struct SpareSupervisor(OwnedFd);

/// The gaps that a supervisor notices. The first byte that it sends has a bit for each.
const SUPERVISOR_GAPS: [EnforcementGap; 3] =
    [EnforcementGap::ProcessLimit, EnforcementGap::HostNames, EnforcementGap::AllowedHosts];

/// The treatment of a DNS gap that the cell has not reported to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnreportedDnsGap {
    /// The cell is about to report it.
    Report,
    /// The supervisor ends: the host creates another cell.
    Fail,
}

impl SpareSupervisor {
    /// Creates a spare supervisor. It reports its gaps: see [`SpareSupervisor::receive_gaps`].
    fn make(
        confinement: &ProgramConfinement,
        limits: confined::LaunchLimits,
        unreported: UnreportedDnsGap,
    ) -> rustix::io::Result<Self> {
        let namespaces = match confinement.own_pid_namespace {
            true => Namespaces::PID.union(Namespaces::MOUNT),
            // In its own mount namespace, so that no other supervisor sees its layers.
            false if confinement.own_mounts => Namespaces::MOUNT,
            false => Namespaces::NONE,
        };
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        if sys::fork_into(namespaces)? != 0 {
            return Ok(Self(ours));
        }
        drop(ours);
        let limit_gap = match confinement.own_pid_namespace {
            true => match mounts::mount_own_proc(confinement.broker_facts.plan.limits.processes) {
                Ok(true) => None,
                Ok(false) => Some(EnforcementGap::ProcessLimit),
                Err(_) => confined::exit(1),
            },
            false => None,
        };
        let (dns_stub, dns_gap) = confinement.open_dns_stub();
        if unreported == UnreportedDnsGap::Fail && !dns_gap.is_none_or(|gap| confinement.gaps.contains(&gap))
        {
            confined::exit(1);
        }
        let state = gap_bits([limit_gap, dns_gap]);
        let mut fds = Vec::new();
        // A supervisor that is needed at once is employed before it has written this byte, and the byte is not read.
        let _in_a_hurry = fd_passing::send_all(&theirs, &[state], &[], None);
        let employed = fd_passing::receive(&theirs, &mut [0; 1], &mut fds);
        match fds.pop().filter(|_| employed.is_ok()) {
            Some(control) => {
                drop(theirs);
                confined::supervise(&control, limits, Some(confinement), dns_stub)
            }
            None => confined::exit(0),
        }
    }

    /// Creates a supervisor after the cell has reported its gaps.
    fn make_another(confinement: &ProgramConfinement, limits: confined::LaunchLimits) -> Option<Self> {
        Self::make(confinement, limits, UnreportedDnsGap::Fail).ok()
    }

    /// Returns the gaps that the supervisor reported, or `None` if it could not be created.
    fn receive_gaps(&self) -> Option<Vec<EnforcementGap>> {
        let mut word = [0; 1];
        let got = fd_passing::receive(&self.0, &mut word, &mut Vec::new()).ok()?;
        let is_set = |gap: &EnforcementGap| word[0] & gap_bits([Some(*gap)]) != 0;
        (got == 1).then(|| SUPERVISOR_GAPS.into_iter().filter(is_set).collect())
    }

    /// Makes the supervisor serve the process at the other end of `control`.
    fn assign_client(self, control: &OwnedFd) {
        let _gone = fd_passing::send(&self.0, &[0], &[control.as_fd()]);
    }
}

/// Returns the bits of `gaps` in the byte of a supervisor.
fn gap_bits<const COUNT: usize>(gaps: [Option<EnforcementGap>; COUNT]) -> u8 {
    let bit = |gap| SUPERVISOR_GAPS.iter().position(|known| *known == gap).map_or(0, |at| 1 << at);
    gaps.into_iter().flatten().fold(0, |bits, gap| bits | bit(gap))
}

/// Encodes the message of a cell that is ready.
fn encode_ready(gaps: &BTreeSet<EnforcementGap>) -> Vec<u8> {
    let mut out = MessageEncoder::new();
    out.byte(0);
    out.number(gaps.len() as u64);
    gaps.iter().for_each(|gap| out.byte(*gap as u8));
    out.finish()
}

/// Encodes the message of a cell that could not be built.
fn encode_failure(fault: &MountFault) -> Vec<u8> {
    let (kind, doing, errno) = match fault {
        MountFault::Machine(doing, errno) => (1, doing, errno),
        MountFault::Path(doing, errno) => (2, doing, errno),
    };
    let mut out = MessageEncoder::new();
    out.byte(kind);
    out.bytes(doing.as_bytes());
    out.signed(errno.raw_os_error());
    out.finish()
}

/// Opens the devpts mount in which the host opens terminals for programs of the cell, so that they have a name there.
fn open_devpts() -> Option<OwnedFd> {
    open_directory("/dev/pts".as_ref()).ok()
}

fn open_directory(path: &std::path::Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn build_confinement(
    mut plan: CellPlan,
    staged: &[OwnedFd],
    limits: confined::LaunchLimits,
) -> Result<(ProgramConfinement, Option<SpareSupervisor>), MountFault> {
    let mut gaps = BTreeSet::new();
    let own_mounts = plan.tier >= Tier::Namespaces;
    let own_network = own_mounts && plan.network != NetworkPolicy::On;
    // The relay stays in the namespaces that this process is in now.
    let relay = plan.is_relayed().then(|| relay::start_relay(&plan.hosts)).and_then(std::result::Result::ok);
    let scratch = open_directory(&plan.scratch).ok();
    let bound_sockets = BoundSockets::new(own_network)
        .map_err(|errno| MountFault::Machine("asking about sockets".to_owned(), errno))?;
    enter_sandbox(&mut plan, staged, &mut gaps)?;
    let landlock =
        if plan.tier >= Tier::Landlock { landlock_version(&plan, own_mounts, &mut gaps)? } else { None };
    let brokered = can_install_listener()?;
    if !brokered {
        gaps.insert(EnforcementGap::UnixSockets);
    } else if !bound_sockets.is_supported() {
        gaps.insert(EnforcementGap::BoundSockets);
    }
    let relay = relay.filter(|_| brokered);
    if relay.is_none() && !plan.hosts.is_empty() && plan.network != NetworkPolicy::On {
        gaps.insert(EnforcementGap::AllowedHosts);
    }
    if plan.network == NetworkPolicy::On && !plan.hosts.forbid.is_empty() {
        gaps.insert(EnforcementGap::ForbiddenHosts);
    }
    let rules = FilterRules {
        inet: own_network || plan.network == NetworkPolicy::On,
        own_network,
        namespaces: own_mounts,
        landlock: landlock.is_some(),
        root: rustix::process::geteuid().is_root(),
        brokered,
        notifies_writes: plan.records_denied_writes && brokered && plan.tier >= Tier::Landlock,
    };
    let broker_facts = BrokerFacts { plan, own_network, bound_sockets };
    let mut confinement = ProgramConfinement {
        broker_facts,
        landlock,
        filter: compile_filter(rules),
        brokered,
        own_pid_namespace: own_mounts,
        own_mounts,
        gaps,
        scratch,
        memory_is_limited: false,
        relay,
    };
    let spare = create_first_supervisor(&mut confinement, rules, limits)?;
    Ok((confinement, Some(spare)))
}

/// Moves this process into the namespaces of `plan`, and drops the capabilities that it has there.
fn enter_sandbox(
    plan: &mut CellPlan,
    staged: &[OwnedFd],
    gaps: &mut BTreeSet<EnforcementGap>,
) -> Result<(), MountFault> {
    if plan.tier < Tier::Namespaces {
        if !plan.staged.is_empty() {
            return Err(MountFault::Machine("mounting staged changes".to_owned(), Errno::NOSYS));
        }
        // Only root has capabilities to drop.
        let _has_none = sys::forget_capabilities();
        gaps.extend(without_namespaces(plan));
        return Ok(());
    }
    enter_namespaces(plan)?;
    let missing = mounts::build(plan, staged)?;
    if !missing.is_empty() {
        gaps.insert(EnforcementGap::PackageCaches);
        plan.mounts.retain(|mount| !missing.contains(&mount.at));
        plan.writable.retain(|path| !missing.contains(path));
    }
    sys::forget_capabilities()
        .map_err(|errno| MountFault::Machine("giving up capabilities".to_owned(), errno))
}

/// Creates the first supervisor, which shows what supervisors can do on this machine.
fn create_first_supervisor(
    confinement: &mut ProgramConfinement,
    rules: FilterRules,
    limits: confined::LaunchLimits,
) -> Result<SpareSupervisor, MountFault> {
    let fault = |errno| MountFault::Machine("starting a supervisor".to_owned(), errno);
    let make = |confinement: &ProgramConfinement| {
        let spare = SpareSupervisor::make(confinement, limits, UnreportedDnsGap::Report).map_err(fault)?;
        let gaps = spare.receive_gaps();
        Ok((spare, gaps))
    };
    let (mut spare, mut gaps) = make(confinement)?;
    // Some containers forbid mounting `/proc`: then there is no process namespace either.
    if gaps.is_none() && confinement.own_mounts {
        confinement.own_pid_namespace = false;
        confinement.filter = compile_filter(FilterRules { namespaces: false, ..rules });
        confinement.gaps.extend([EnforcementGap::OuterProc, EnforcementGap::VisibleProcesses]);
        if confinement.broker_facts.plan.limits.processes.is_some() {
            confinement.gaps.insert(EnforcementGap::ProcessLimit);
        }
        (spare, gaps) = make(confinement)?;
    }
    confinement.gaps.extend(gaps.ok_or_else(|| fault(Errno::AGAIN))?);
    Ok(spare)
}

/// Returns the gaps in protection without namespaces.
fn without_namespaces(plan: &CellPlan) -> BTreeSet<EnforcementGap> {
    let mut gaps = BTreeSet::from([
        EnforcementGap::ProtectedFiles,
        EnforcementGap::DenyRead,
        EnforcementGap::Metadata,
        EnforcementGap::VisibleProcesses,
        EnforcementGap::PackageCaches,
    ]);
    if plan.network == NetworkPolicy::Loopback {
        gaps.insert(EnforcementGap::Loopback);
    }
    if plan.limits.processes.is_some() {
        gaps.insert(EnforcementGap::ProcessLimit);
    }
    if plan.tier >= Tier::Landlock {
        gaps.extend([EnforcementGap::PrivateTmp, EnforcementGap::SharedMemory, EnforcementGap::Terminals]);
    } else {
        gaps.extend([EnforcementGap::OutsideWrites, EnforcementGap::ProcessSignals]);
    }
    gaps
}

/// Returns the available Landlock version. With own mounts, Landlock is a second layer: mounts enforce everything
/// except named pipes too.
fn landlock_version(
    plan: &CellPlan,
    own_mounts: bool,
    gaps: &mut BTreeSet<EnforcementGap>,
) -> Result<Option<u32>, MountFault> {
    let oldest = if own_mounts { landlock::MIN_VERSION_WITH_MOUNTS } else { landlock::MIN_VERSION };
    let version = match sys::landlock_version() {
        Ok(version) if version >= oldest => version,
        Ok(_) | Err(_) if own_mounts => {
            gaps.insert(EnforcementGap::NamedPipes);
            return Ok(None);
        }
        Ok(_) => return Err(MountFault::Machine("Landlock is too old here".to_owned(), Errno::NOSYS)),
        Err(errno) => return Err(MountFault::Machine("asking for Landlock".to_owned(), errno)),
    };
    if version < landlock::FULL_VERSION && !own_mounts {
        gaps.insert(EnforcementGap::OldLandlock);
    }
    let rules = landlock::ruleset(&plan.writable, own_mounts, version);
    rules.map_err(|errno| MountFault::Machine("making Landlock's rules".to_owned(), errno))?;
    Ok(Some(version))
}

/// Enters new namespaces, in which the user keeps the same ids.
fn enter_namespaces(plan: &CellPlan) -> Result<(), MountFault> {
    let mut all = Namespaces::MOUNT.union(Namespaces::IPC).union(Namespaces::UTS).union(Namespaces::CGROUP);
    if plan.network != NetworkPolicy::On {
        all = all.union(Namespaces::NETWORK);
    }
    enter_user_namespace(all)?;
    // Allowed hosts are reached over the loopback.
    if plan.network == NetworkPolicy::Loopback || plan.is_relayed() {
        let doing = |errno| MountFault::Machine("starting the loopback network".to_owned(), errno);
        loopback::bring_up().map_err(doing)?;
    }
    Ok(())
}

/// Enters a new user namespace, in which the user keeps the same ids, and the namespaces `others`.
pub(super) fn enter_user_namespace(others: Namespaces) -> Result<(), MountFault> {
    let at = |doing: &str| {
        let doing = doing.to_owned();
        move |errno| MountFault::Machine(doing, errno)
    };
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    sys::unshare(Namespaces::USER.union(others)).map_err(at("making namespaces"))?;
    // Otherwise this process does not own its files in /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(at("naming users"))?;
    write("/proc/self/setgroups", "deny").map_err(at("naming groups"))?;
    let (user, group) = (user.as_raw(), group.as_raw());
    write("/proc/self/uid_map", &format!("{user} {user} 1\n")).map_err(at("naming users"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1\n")).map_err(at("naming groups"))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at("naming users"))
}

fn write(path: &str, text: &str) -> rustix::io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let written = std::fs::File::from(file).write_all(text.as_bytes());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Tests whether a seccomp listener can be installed here: only one sandbox around a process can have one.
fn can_install_listener() -> Result<bool, MountFault> {
    const NO_FILTER: i32 = 2;
    // A process without a filter is in no other sandbox.
    if rustix::fs::open("/proc/self/status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|status| {
            let mut text = [0; 4096];
            let read = rustix::io::read(&status, &mut text)?;
            Ok(String::from_utf8_lossy(&text[..read]).contains("Seccomp:\t0"))
        })
        .unwrap_or(false)
    {
        return Ok(true);
    }
    let doing = |errno| MountFault::Machine("making a filter for system calls".to_owned(), errno);
    let pid = sys::fork_into(Namespaces::NONE).map_err(doing)?;
    if pid == 0 {
        let allow = [BpfInstruction { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }];
        let _old_kernel = rustix::thread::set_no_new_privs(true);
        confined::exit(match sys::install_filter(&allow, true) {
            Ok(_) => 0,
            Err(Errno::BUSY) => 1,
            Err(_) => NO_FILTER,
        });
    }
    match confined::wait_for(pid) {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(doing(Errno::NOSYS)),
    }
}
