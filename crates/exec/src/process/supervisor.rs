//! Supervisor: a small process that starts one program at a time and is responsible for all of its descendants.
//!
//! The supervisor is their subreaper, so no process escapes it. It lives as long as its host holds the other end of
//! its socket. When that closes, for any reason, it kills all processes and exits.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, getppid};

use super::launch::{LaunchLimits, launch};
use super::messages::{LaunchRequest, LaunchStep, MAX_ORDER_BYTES, SupervisorOrder, SupervisorReport};
use super::resource_guard::ResourceGuard;
use super::supervised_run::SupervisedRun;
use super::{descendants, fd_passing, sys};
use crate::sandbox::cell::ProgramConfinement;
use crate::sandbox::dns_stub::DnsStub;
use crate::sandbox::egress::EgressHosts;
use crate::sandbox::mounted_layers::{LayerMountOutcome, MountedLayers};
use crate::sandbox::{landlock, remount};

/// Serves the host at the other end of `control` until the host is gone. In a cell, the programs are confined by
/// `inside`.
pub(crate) fn supervise(
    control: &OwnedFd,
    limits: LaunchLimits,
    inside: Option<&ProgramConfinement>,
    dns_stub: Option<DnsStub>,
) -> ! {
    let _old_kernel = rustix::thread::set_name(c"toolgate-super");
    let _old_kernel = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // The children run as the same user: they must not inspect or trace this process.
    let _old_kernel = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let Ok(signals) = sys::child_signals() else { sys::exit(1) };
    let _host_is_gone = fd_passing::send_all(control, &SupervisorReport::Ready.encode(), &[], None);
    let spawner = getppid();
    let layers = MountedLayers::new(inside);
    let signals = &signals;
    let guard = ResourceGuard::default();
    let mut supervisor = Supervisor {
        control,
        signals,
        limits,
        confinement: inside,
        spawner,
        layers,
        dns_stub,
        guard,
        rules: None,
        rules_single_run: false,
    };
    // ends: when the host is gone
    while let Some((bytes, fds)) = fd_passing::receive_message(control, MAX_ORDER_BYTES) {
        match SupervisorOrder::decode(&bytes) {
            Some(SupervisorOrder::Run(order)) => supervisor.run(&order, fds),
            // The run that this order was meant for is over.
            Some(SupervisorOrder::End { .. } | SupervisorOrder::Signal(_)) => {}
            None => break,
        }
        if getppid() != spawner {
            break;
        }
    }
    sys::exit(0)
}

/// The state that persists between runs.
pub(super) struct Supervisor<'a> {
    pub(super) control: &'a OwnedFd,
    pub(super) signals: &'a OwnedFd,
    limits: LaunchLimits,
    pub(super) confinement: Option<&'a ProgramConfinement>,
    /// The process that cleans up after this supervisor; `None` where the kernel does.
    pub(super) spawner: Option<Pid>,
    /// The overlays over git directories.
    pub(super) layers: MountedLayers,
    /// The DNS stub for the programs.
    pub(super) dns_stub: Option<DnsStub>,
    /// Resource usage of the runs.
    guard: ResourceGuard,
    /// The Landlock ruleset.
    rules: Option<OwnedFd>,
    /// True if the ruleset holds for one run only.
    rules_single_run: bool,
}

impl Supervisor<'_> {
    fn run(&mut self, order: &LaunchRequest, fds: Vec<OwnedFd>) {
        let mut pending_reports = Vec::new();
        let renewed = self.restore_mounts();
        let mounted = self.layers.mount_missing(&order.layers);
        if mounted == LayerMountOutcome::Failed {
            // The git directory stays read-only.
            pending_reports.extend(SupervisorReport::LayerNotMounted.encode());
        }
        self.dns_stub.iter().for_each(DnsStub::drain);
        let ruled = renewed.and_then(|renewed| {
            self.prepare_ruleset(!renewed && mounted == LayerMountOutcome::AlreadyMounted, &fds)
        });
        let launched = ruled.and_then(|()| {
            let inside = self.confinement.map(|inside| (inside, self.rules.as_ref()));
            launch(order, &fds, self.limits, inside)
        });
        // Now only the program holds the descriptors: when it closes them, the reader sees the end of file.
        drop(fds);
        let mut guard = std::mem::take(&mut self.guard);
        guard.begin_run(self.confinement);
        self.guard = SupervisedRun::new(self, guard, launched, pending_reports).run_until_empty();
        self.layers.prepare_next_run();
    }

    /// Returns the hosts that the next run may reach, if there are any.
    pub(super) fn egress_hosts(&self) -> Option<EgressHosts> {
        let relay = self.confinement?.relay.as_ref()?;
        EgressHosts::new(relay, self.dns_stub.as_ref()?.supervisor_number())
    }

    /// Restores protective mounts that a process outside removed by replacing files. Returns true if any were
    /// missing.
    fn restore_mounts(&self) -> Result<bool, (LaunchStep, Errno)> {
        let Some(inside) = self.confinement.filter(|inside| inside.own_mounts) else { return Ok(false) };
        let renewed =
            remount::remount_lost(&inside.broker_facts.plan).map_err(|errno| (LaunchStep::Confine, errno))?;
        self.layers.forget_lost(&renewed);
        Ok(!renewed.is_empty())
    }

    /// Kills all descendants of the program, and returns those that were found.
    pub(super) fn kill_descendants(&self) -> BTreeSet<i32> {
        if !self.confinement.is_some_and(|inside| inside.own_pid_namespace) {
            return descendants::kill_groups(&BTreeSet::new());
        }
        let all = descendants::descendants_except(&BTreeSet::new());
        sys::kill_all();
        all
    }

    /// Creates the Landlock ruleset, unless that of the previous run is still valid. Rules refer to files by
    /// identity, so a new layer needs new rules, and so do descriptors given to a run.
    fn prepare_ruleset(&mut self, as_before: bool, fds: &[OwnedFd]) -> Result<(), (LaunchStep, Errno)> {
        let Some(inside) = self.confinement else { return Ok(()) };
        if !as_before || self.rules.is_none() || self.rules_single_run {
            self.rules = inside.landlock_rules().map_err(|errno| (LaunchStep::Confine, errno))?;
            self.rules_single_run = false;
        }
        if let Some(rules) = &self.rules {
            self.rules_single_run = landlock::allow_given(rules, fds);
        }
        Ok(())
    }
}
