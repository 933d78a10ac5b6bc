//! The spawner process: small, with one thread, started once; forks all supervisors and cells.
//!
//! It runs this same binary without an environment. It creates supervisors and cleans up after killed ones: it is a
//! subreaper too, so the orphans of a supervisor become its children. It outlives the host, and removes the placeholder
//! directories that a killed host has left.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, Signal};

use super::codec::MessageDecoder;
use super::launch::LaunchLimits;
use super::messages::MAX_ORDER_BYTES;
use super::sys::{self, ChildWaitOutcome, ForkSide, ReapedChild};
use super::{descendants, fd_passing, supervisor};
use crate::sandbox::cell;
use crate::sandbox::cell_plan::CellPlan;
use crate::sandbox::cgroup::CellCgroup;
use crate::sandbox::scratch;
use crate::sandbox::stage_holder;

/// The pause before the next search for orphans of killed supervisors.
const ORPHAN_SEARCH_INTERVAL: Duration = Duration::from_millis(50);

/// Serves the host, whose socket is standard input, until the host and all supervisors are gone.
pub(super) fn serve(limits: LaunchLimits) -> ! {
    let Some((host, signals)) = prepare_process() else { sys::exit(1) };
    let mut host = Some(host);
    let (mut supervisors, mut groups) = (BTreeSet::new(), BTreeMap::new());
    let mut sessions: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    // ends: when the host is gone and there are no children
    loop {
        sys::drain_signals(&signals);
        let none_left = reap(&mut supervisors);
        groups.retain(|cell, group: &mut CellCgroup| supervisors.contains(cell) || !group.remove());
        if none_left && host.is_none() {
            for (scratch, held) in &sessions {
                scratch::remove_abandoned_placeholders(scratch, held);
            }
            sys::exit(0);
        }
        if host.is_none() {
            // Supervisors exit by themselves, unless a program has stopped them.
            supervisors.clear();
        }
        let has_orphans = !none_left && descendants::has_other_children(&supervisors);
        if has_orphans {
            descendants::kill_groups(&supervisors);
        }
        let wait = if has_orphans { Timespec::try_from(ORPHAN_SEARCH_INTERVAL).ok() } else { None };
        let mut ready = vec![PollFd::new(&signals, PollFlags::IN)];
        ready.extend(host.as_ref().map(|host| PollFd::new(host, PollFlags::IN)));
        let host_ready = poll(&mut ready, wait.as_ref()).is_ok()
            && ready.get(1).is_some_and(|host| !host.revents().is_empty());
        drop(ready);
        if host_ready && let Some(open) = &host {
            let Some((order, control)) = receive_request(open) else {
                host = None;
                continue;
            };
            if let SpawnOrder::Cell { plan, .. } = &order {
                sessions.entry(plan.scratch.clone()).or_default().extend(plan.held_paths().cloned());
            }
            let group = match &order {
                SpawnOrder::Cell { plan, .. } => CellCgroup::create(&plan.limits),
                SpawnOrder::Supervisor | SpawnOrder::StageHolder => None,
            };
            match sys::fork() {
                Ok(ForkSide::Child) => {
                    // If the child held the socket, the host would not notice the end of the spawner.
                    drop((host.take(), signals));
                    run_child(order, group.as_ref(), &control, limits)
                }
                Ok(ForkSide::Parent(pid)) => {
                    supervisors.insert(pid);
                    groups.extend(group.map(|group| (pid, group)));
                }
                // The host sees its end of the socket close, and reports the failure.
                Err(_) => {
                    group.as_ref().map(CellCgroup::remove);
                }
            }
        }
    }
}

/// A process that the host requests.
enum SpawnOrder {
    /// A supervisor outside of any cell.
    Supervisor,
    /// A cell, with the mounts of its staged roots.
    Cell { plan: Box<CellPlan>, staged: Vec<OwnedFd> },
    /// The process that mounts the layers of staged changes.
    StageHolder,
}

/// The whole content of the message that requests a stage holder. No plan of a cell begins with this byte.
const STAGE_HOLDER_BYTE: u8 = 0xff;
/// The message that requests a stage holder.
pub(crate) const STAGE_HOLDER_ORDER: &[u8] = &[1, 0, 0, 0, STAGE_HOLDER_BYTE];

fn run_child(order: SpawnOrder, group: Option<&CellCgroup>, control: &OwnedFd, limits: LaunchLimits) -> ! {
    match order {
        SpawnOrder::Cell { plan, staged } => cell::serve(*plan, &staged, group, control, limits),
        SpawnOrder::Supervisor => supervisor::supervise(control, limits, None, None),
        SpawnOrder::StageHolder => stage_holder::serve(control),
    }
}

/// Prepares the process: only the socket to the host remains of what it inherited.
fn prepare_process() -> Option<(OwnedFd, OwnedFd)> {
    // Other open descriptors of the host must not be inherited.
    sys::close_from(3);
    let host = take_stdin().ok()?;
    // Leaves the session of the host's terminal, so that Ctrl-C there does not reach this process.
    let _already = rustix::process::setsid();
    let _old_kernel = rustix::thread::set_name(c"toolgate-spawn");
    let _old_kernel = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // The OOM killer prefers these processes to the host.
    let _may_not =
        rustix::fs::open("/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .and_then(|likely| rustix::io::write(likely, b"200"));
    let _old_kernel = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    sys::reset_signals();
    Some((host, sys::child_signals().ok()?))
}

/// Moves the socket away from standard input, which is replaced.
fn take_stdin() -> rustix::io::Result<OwnedFd> {
    let host = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 10)?;
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    Ok(host)
}

/// Receives a request, and the socket of the new process, which comes last. Returns `None` if the host is gone.
fn receive_request(host: &OwnedFd) -> Option<(SpawnOrder, OwnedFd)> {
    let (bytes, mut fds) = fd_passing::receive_message(host, MAX_ORDER_BYTES)?;
    let control = fds.pop()?;
    let order = match bytes.as_slice() {
        [] => SpawnOrder::Supervisor,
        [STAGE_HOLDER_BYTE] => SpawnOrder::StageHolder,
        plan => SpawnOrder::Cell { plan: Box::new(CellPlan::read(&mut MessageDecoder(plan))?), staged: fds },
    };
    Some((order, control))
}

/// Reaps all processes that have exited. Returns true if no child is left.
fn reap(supervisors: &mut BTreeSet<i32>) -> bool {
    // ends: every round reaps one process, or is the last
    loop {
        match sys::wait_any() {
            ChildWaitOutcome::Reaped(ReapedChild { pid, .. }) => {
                supervisors.remove(&pid);
            }
            // A supervisor never stops by itself: a program has stopped it.
            ChildWaitOutcome::Stopped(pid) if supervisors.contains(&pid) => {
                descendants::signal_all(&BTreeSet::from([pid]), Signal::CONT);
            }
            ChildWaitOutcome::Stopped(_) => {}
            ChildWaitOutcome::Running => return false,
            ChildWaitOutcome::NoChildren => return true,
        }
    }
}
