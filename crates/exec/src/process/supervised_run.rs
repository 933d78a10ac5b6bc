//! Supervised run: one program and its descendants, from the launch until the last process has exited.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid};

use super::launch::LaunchedProcess;
use super::messages::{
    KilledProcess, LaunchStep, MAX_ORDER_BYTES, ResourceUsage, SupervisorOrder, SupervisorReport,
};
use super::resource_guard::ResourceGuard;
use super::supervisor::Supervisor;
use super::sys::{self, ChildWaitOutcome, ReapedChild};
use super::{descendants, fd_passing};
use crate::sandbox::SandboxRefusal;
use crate::sandbox::broker::Broker;
use crate::sandbox::dns_stub::DnsStub;
use crate::sandbox::remount;

/// The maximum number of killed processes that are named.
const MAX_NAMED_PROCESSES: usize = 16;
/// A program that exits within this time is not announced: that would wake the host for nothing.
const ANNOUNCE_DELAY: Duration = Duration::from_millis(20);
/// The interval at which denied files are hidden again while a program runs: a process outside may have re-created
/// them.
const HIDE_INTERVAL: Duration = Duration::from_millis(500);
/// The interval between two kills, and the time after which surviving processes are reported to the host.
const KILL_INTERVAL: Duration = Duration::from_millis(20);
const STUCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The progress of ending a run.
#[derive(Debug, Clone, Copy)]
enum RunShutdown {
    NotRequested,
    /// All processes received SIGTERM, and have until this time.
    Terminating(Instant),
    /// All processes were killed, first at the first time; the next kill is due at the second.
    Killed(Instant, Instant),
    /// The host knows that some processes survive; the next kill is due at this time.
    ReportedStuck(Instant),
}

/// The events that ended a wait.
#[derive(Debug)]
struct WakeEvents {
    /// The host sent an order.
    host_readable: bool,
    /// A system call waits for a decision.
    broker_events: PollFlags,
    /// A program sent a DNS query.
    dns_readable: bool,
    /// The relay sent a message.
    relay_readable: bool,
}

/// One run: the program and its descendants.
pub(super) struct SupervisedRun<'a> {
    supervisor: &'a Supervisor<'a>,
    guard: ResourceGuard,
    leader: Option<LaunchedProcess>,
    usage: ResourceUsage,
    killed_pids: BTreeSet<i32>,
    killed_processes: Vec<KilledProcess>,
    shutdown: RunShutdown,
    /// The time to report that the program runs, unless it exits before: most do.
    announce_at: Option<Instant>,
    /// Reports that are not sent yet, so that simultaneous ones travel together.
    pending_reports: Vec<u8>,
    /// Decides about system calls that the filter cannot.
    broker: Option<Broker>,
    /// The time to hide denied files again, if there are any mounts of its own.
    hide_at: Option<Instant>,
}

impl<'a> SupervisedRun<'a> {
    /// Creates a run of the launched program. A failed launch is reported to the host.
    pub(super) fn new(
        supervisor: &'a Supervisor<'a>,
        guard: ResourceGuard,
        launched: Result<LaunchedProcess, (LaunchStep, Errno)>,
        pending_reports: Vec<u8>,
    ) -> Self {
        let own_mounts = supervisor.confinement.is_some_and(|inside| inside.own_mounts);
        let mut run = Self {
            supervisor,
            guard,
            leader: None,
            usage: ResourceUsage::default(),
            killed_pids: BTreeSet::new(),
            killed_processes: Vec::new(),
            shutdown: RunShutdown::NotRequested,
            announce_at: None,
            pending_reports,
            broker: None,
            hide_at: own_mounts.then(|| Instant::now() + HIDE_INTERVAL),
        };
        match launched {
            Ok(mut leader) => {
                let egress_hosts = supervisor.egress_hosts();
                run.broker = leader.listener.take().map(|listener| Broker::new(listener, egress_hosts));
                run.leader = Some(leader);
                run.announce_at = Some(Instant::now() + ANNOUNCE_DELAY);
            }
            Err((step, errno)) => run.queue_launch_failure(step, errno),
        }
        run
    }

    /// Supervises the run until no process is left. Returns the resource guard for the next run.
    pub(super) fn run_until_empty(mut self) -> ResourceGuard {
        // ends: when no process is left; every ending gets there
        loop {
            sys::drain_signals(self.supervisor.signals);
            if self.reap() {
                self.report_all_exited();
                return self.guard;
            }
            self.send_reports();
            let broker = self.broker.as_ref().and_then(Broker::next_retry);
            let next = self
                .next_deadline()
                .into_iter()
                .chain(broker)
                .chain(self.hide_at)
                .chain(self.guard.next_check())
                .min();
            let wait = next.map(|at| at.saturating_duration_since(Instant::now()));
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let woken = self.wait_for_event(wait.as_ref());
            if woken.host_readable && self.handle_order().is_none() {
                self.kill_all_and_exit();
            }
            self.serve_broker(&woken);
            self.hide_denied_files();
            self.enforce_resource_limits();
            if self.next_deadline().is_some_and(|at| at <= Instant::now()) {
                self.run_due_step();
            }
        }
    }

    /// Waits for the first event: an order, a system call, a DNS query, a relay message, a child's change, or the
    /// timeout.
    fn wait_for_event(&self, wait: Option<&Timespec>) -> WakeEvents {
        let Supervisor { control, signals, dns_stub: names, .. } = self.supervisor;
        let listener = self.broker.as_ref().map(Broker::listener);
        let dns_socket = names.as_ref().filter(|_| listener.is_some()).map(DnsStub::socket);
        let relay = self.broker.as_ref().and_then(|broker| broker.egress.as_ref()?.channel());
        let mut ready = vec![PollFd::new(*control, PollFlags::IN), PollFd::new(*signals, PollFlags::IN)];
        let others = [listener, dns_socket, relay].map(|fd| {
            ready.extend(fd.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            fd.map(|_| ready.len() - 1)
        });
        if poll(&mut ready, wait).is_err() {
            return WakeEvents {
                host_readable: false,
                broker_events: PollFlags::empty(),
                dns_readable: false,
                relay_readable: false,
            };
        }
        let flags = |at: Option<usize>| at.map_or(PollFlags::empty(), |at| ready[at].revents());
        let [asked, named, relayed] = others.map(flags);
        let spoken = !flags(Some(0)).is_empty();
        WakeEvents {
            host_readable: spoken,
            broker_events: asked,
            dns_readable: !named.is_empty(),
            relay_readable: !relayed.is_empty(),
        }
    }

    /// Hides denied files that were created or replaced since. Ends the run if they cannot be hidden.
    fn hide_denied_files(&mut self) {
        let (Some(inside), Some(at)) = (self.supervisor.confinement, self.hide_at) else { return };
        if at > Instant::now() {
            return;
        }
        self.hide_at = Some(Instant::now() + HIDE_INTERVAL);
        if remount::hide_again(&inside.broker_facts.plan).is_err() {
            self.terminate(Duration::ZERO);
        }
    }

    /// Ends a run that exceeds its resources, and reports it.
    fn enforce_resource_limits(&mut self) {
        if let Some(refusal) = self.guard.check(self.supervisor.confinement) {
            self.pending_reports.extend(SupervisorReport::Refused(vec![refusal]).encode());
            self.terminate(Duration::ZERO);
        }
    }

    fn serve_broker(&mut self, woken: &WakeEvents) {
        let (Some(broker), Some(inside)) = (&mut self.broker, self.supervisor.confinement) else { return };
        let outside = broker.egress.as_mut().map(|outside| (outside, &inside.broker_facts.plan.hosts));
        if woken.dns_readable
            && let Some(name) = self.supervisor.dns_stub.as_ref().and_then(|names| names.serve(outside))
        {
            broker.record_refusal(SandboxRefusal::Name(name));
        }
        if woken.relay_readable {
            broker.record_relay_refusals();
        }
        if woken.broker_events.contains(PollFlags::IN) {
            broker.serve(&inside.broker_facts);
        } else if !woken.broker_events.is_empty() {
            // No process is left that could make a call.
            broker.record_relay_refusals();
            self.queue_refusals();
            self.broker = None;
            return;
        }
        broker.retry_due();
        self.queue_refusals();
    }

    /// Reports refusals to the host.
    fn queue_refusals(&mut self) {
        let refusals = self.broker.as_mut().map(Broker::take_refusals).unwrap_or_default();
        if !refusals.is_empty() {
            self.pending_reports.extend(SupervisorReport::Refused(refusals).encode());
        }
    }

    /// Reaps all processes that have exited. Returns true if no child is left.
    fn reap(&mut self) -> bool {
        let mut exited = None;
        // ends: every round reaps one process, or is the last
        let none_left = loop {
            match sys::wait_any() {
                ChildWaitOutcome::Reaped(ReapedChild { pid, status, used }) => {
                    self.usage.user += used.user;
                    self.usage.system += used.system;
                    self.usage.peak_memory = self.usage.peak_memory.max(used.peak_memory);
                    if self.leader.as_ref().is_some_and(|leader| leader.pid == pid) {
                        exited = self.leader.take().map(|leader| (leader, status));
                    }
                }
                // A program may stop itself, or its terminal may stop it.
                ChildWaitOutcome::Stopped(_) => {}
                ChildWaitOutcome::Running => break false,
                ChildWaitOutcome::NoChildren => break true,
            }
        };
        if let Some((leader, status)) = exited {
            self.announce_at = None;
            if let Some((step, errno)) = leader.failure() {
                self.queue_launch_failure(step, errno);
                return none_left;
            }
            let left = if none_left { 0 } else { descendants::descendants_except(&BTreeSet::new()).len() };
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            self.pending_reports.extend(SupervisorReport::Exited { status, left }.encode());
        }
        none_left
    }

    /// Obeys an order of the host. Returns `None` if the host is gone.
    fn handle_order(&mut self) -> Option<()> {
        let (bytes, _) = fd_passing::receive_message(self.supervisor.control, MAX_ORDER_BYTES)?;
        match SupervisorOrder::decode(&bytes)? {
            SupervisorOrder::End { grace } => self.terminate(grace),
            SupervisorOrder::Signal(number) => {
                let signal = Signal::from_named_raw(number);
                let group = self.leader.as_ref().and_then(|leader| Pid::from_raw(leader.pid));
                if let (Some(group), Some(signal)) = (group, signal) {
                    // The leader is not reaped yet, so the process group id is still its own.
                    let _group_is_gone = rustix::process::kill_process_group(group, signal);
                }
            }
            SupervisorOrder::Run(_) => return None,
        }
        Some(())
    }

    /// Sends SIGTERM to all processes, and sets the time of the kill. A later request never postpones it.
    fn terminate(&mut self, grace: Duration) {
        let by = Instant::now() + grace;
        let by = match self.shutdown {
            RunShutdown::NotRequested => by,
            RunShutdown::Terminating(before) => before.min(by),
            RunShutdown::Killed(..) | RunShutdown::ReportedStuck(_) => return,
        };
        let all = descendants::descendants_except(&BTreeSet::new());
        self.record_killed(&all);
        if grace > Duration::ZERO {
            descendants::signal_all(&all, Signal::TERM);
            // A stopped process handles the signal only after it continues.
            descendants::signal_all(&all, Signal::CONT);
        }
        self.shutdown = RunShutdown::Terminating(by);
    }

    fn queue_launch_failure(&mut self, step: LaunchStep, errno: Errno) {
        self.pending_reports.extend(SupervisorReport::Failed { step, errno: errno.raw_os_error() }.encode());
    }

    fn next_deadline(&self) -> Option<Instant> {
        match self.shutdown {
            RunShutdown::NotRequested => self.announce_at,
            RunShutdown::Terminating(at) | RunShutdown::Killed(_, at) | RunShutdown::ReportedStuck(at) => {
                Some(at)
            }
        }
    }

    /// Reports that the program runs, or kills all processes. Kills are repeated: new processes may have been forked
    /// while the old ones died.
    fn run_due_step(&mut self) {
        if let (RunShutdown::NotRequested, Some(_), Some(leader)) =
            (self.shutdown, self.announce_at.take(), &self.leader)
        {
            self.pending_reports.extend(SupervisorReport::Started { pid: leader.pid }.encode());
            return;
        }
        let all = self.supervisor.kill_descendants();
        self.record_killed(&all);
        let now = Instant::now();
        self.shutdown = match self.shutdown {
            RunShutdown::NotRequested | RunShutdown::Terminating(_) => {
                RunShutdown::Killed(now, now + KILL_INTERVAL)
            }
            RunShutdown::Killed(first, _) if now - first < STUCK_TIMEOUT => {
                RunShutdown::Killed(first, now + KILL_INTERVAL)
            }
            RunShutdown::Killed(..) => {
                self.pending_reports.extend(
                    SupervisorReport::Stuck { left: descendants::process_names(&all, MAX_NAMED_PROCESSES) }
                        .encode(),
                );
                RunShutdown::ReportedStuck(now + STUCK_TIMEOUT)
            }
            RunShutdown::ReportedStuck(_) => RunShutdown::ReportedStuck(now + STUCK_TIMEOUT),
        };
    }

    fn record_killed(&mut self, pids: &BTreeSet<i32>) {
        let new: BTreeSet<i32> = pids.difference(&self.killed_pids).copied().collect();
        self.killed_processes.extend(descendants::process_names(
            &new,
            MAX_NAMED_PROCESSES.saturating_sub(self.killed_processes.len()),
        ));
        self.killed_pids.extend(new);
    }

    fn report_all_exited(&mut self) {
        // The relay may have sent a message just before.
        self.broker.as_mut().map(Broker::record_relay_refusals);
        self.queue_refusals();
        let more = u32::try_from(self.killed_pids.len().saturating_sub(self.killed_processes.len()))
            .unwrap_or(u32::MAX);
        let ended = std::mem::take(&mut self.killed_processes);
        let touched = self.supervisor.layers.is_touched();
        let off = !touched || self.supervisor.layers.unmount_all();
        // Without a spawner, no process would clean up after this one. In a process namespace the spawner is not
        // visible.
        let again = off && getppid() == self.supervisor.spawner;
        self.pending_reports
            .extend(SupervisorReport::AllExited { used: self.usage, ended, more, again, touched }.encode());
        self.send_reports();
        if !again {
            sys::exit(0);
        }
    }

    fn send_reports(&mut self) {
        let _host_is_gone = fd_passing::send_all(self.supervisor.control, &self.pending_reports, &[], None);
        self.pending_reports.clear();
    }

    /// Kills all processes without a limit of time, because the host is gone.
    fn kill_all_and_exit(&mut self) -> ! {
        let signals = self.supervisor.signals;
        let began = Instant::now();
        // ends: when no process is left; unkillable ones keep this process alive
        loop {
            self.supervisor.kill_descendants();
            let wait = if began.elapsed() < STUCK_TIMEOUT { KILL_INTERVAL } else { STUCK_TIMEOUT };
            let wait = Timespec::try_from(wait).ok();
            let _woken = poll(&mut [PollFd::new(signals, PollFlags::IN)], wait.as_ref());
            sys::drain_signals(signals);
            if self.reap() {
                sys::exit(0);
            }
        }
    }
}
