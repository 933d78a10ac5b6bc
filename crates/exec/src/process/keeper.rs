//! A keeper: a small process that starts one program at a time and answers for every process that comes of it.
//!
//! It is their subreaper, so none of them gets away, and it lives as long as its host holds the other end of its
//! socket: when that closes, for whatever reason, it kills them all and ends.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, getppid};

use super::guard::ResourceGuard;
use super::launch::{Launched, Limits, launch};
use super::message::{Ended, Launch, MAX_ORDER, Order, Report, Step, Used};
use super::sys::{self, Reaped, Wait};
use super::{link, tree};
use crate::sandbox::Refusal;
use crate::sandbox::broker::Broker;
use crate::sandbox::cell::Inside;
use crate::sandbox::layers::{Layers, Put};
use crate::sandbox::names::Names;
use crate::sandbox::outside::Outside;
use crate::sandbox::{landlock, remount};

/// How many of the processes that had to be ended are named.
const NAMED: usize = 16;
/// A program that has ended by then is not announced: that would wake the host for nothing.
const ANNOUNCE: Duration = Duration::from_millis(20);
/// How long to wait for killed processes before they are killed again, and before the host is told of them.
const AGAIN: Duration = Duration::from_millis(20);
const STUCK: Duration = Duration::from_secs(2);
/// How often what may not be read is hidden again while a program runs: somebody outside may have saved it anew.
const HIDE: Duration = Duration::from_millis(500);

/// Serves the host at the other end of `control` until it is gone.
pub(super) fn keep(control: &OwnedFd, limits: Limits) -> ! {
    serve(control, limits, None)
}

/// The same in a cell: what it starts is confined.
pub(crate) fn keep_inside(control: &OwnedFd, limits: Limits, inside: &Inside) -> ! {
    serve(control, limits, Some(inside))
}

fn serve(control: &OwnedFd, limits: Limits, inside: Option<&Inside>) -> ! {
    let _old_kernel = rustix::thread::set_name(c"toolgate-keeper");
    let _old_kernel = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // Its children run as the same user: they are not to look into it, nor to take it over.
    let _old_kernel = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let Ok(signals) = sys::child_signals() else { sys::exit(1) };
    let _host_is_gone = link::write(control, &Report::Ready.encode());
    // ends: when the host is gone
    let spawner = getppid();
    let names = inside.filter(|inside| inside.has_names());
    let names = names.and_then(|inside| Names::open(&inside.bounds.plan.hosts).ok());
    let layers = Layers::new(inside);
    let signals = &signals;
    let guard = ResourceGuard::default();
    let mut keeper =
        Keeper { control, signals, limits, inside, spawner, layers, names, guard, rules: None, gave: false };
    while let Some((bytes, fds)) = link::message(control, MAX_ORDER) {
        match Order::decode(&bytes) {
            Some(Order::Run(order)) => keeper.run(&order, fds),
            // The run that this was meant for is over.
            Some(Order::End { .. } | Order::Signal(_)) => {}
            None => break,
        }
        if getppid() != spawner {
            break;
        }
    }
    sys::exit(0)
}

/// What stays the same from run to run.
struct Keeper<'a> {
    control: &'a OwnedFd,
    signals: &'a OwnedFd,
    limits: Limits,
    inside: Option<&'a Inside>,
    /// Who cleans up after this keeper; nobody needs to where the kernel does.
    spawner: Option<Pid>,
    /// What lies over git directories.
    layers: Layers,
    /// Where programs ask for names.
    names: Option<Names>,
    /// What its runs take of the machine.
    guard: ResourceGuard,
    /// Landlock's, and whether they hold for one run only.
    rules: Option<OwnedFd>,
    gave: bool,
}

impl Keeper<'_> {
    fn run(&mut self, order: &Launch, fds: Vec<OwnedFd>) {
        let mut news = Vec::new();
        let renewed = self.renew();
        let put = self.layers.put(&order.layers);
        if put == Put::Failed {
            // It stays as it is: nobody can write there.
            news.extend(Report::NoLayer.encode());
        }
        self.names.iter().for_each(Names::drain);
        let ruled = renewed.and_then(|renewed| self.rule(!renewed && put == Put::Before, &fds));
        let launched = ruled.and_then(|()| {
            let inside = self.inside.map(|inside| (inside, self.rules.as_ref()));
            launch(order, &fds, self.limits, inside)
        });
        // Only the program holds them now: when it lets go of them, its reader knows.
        drop(fds);
        let mut guard = std::mem::take(&mut self.guard);
        guard.begin(self.inside);
        let mut run = Run {
            keeper: self,
            guard,
            leader: None,
            used: Used::default(),
            ended: BTreeSet::new(),
            names: Vec::new(),
            ending: Ending::No,
            announce: None,
            news,
            broker: None,
            hide: self.inside.filter(|inside| inside.own_mounts).map(|_| Instant::now() + HIDE),
        };
        match launched {
            Ok(mut leader) => {
                let outside = run.keeper.outside();
                run.broker = leader.listener.take().map(|listener| Broker::new(listener, outside));
                run.leader = Some(leader);
                run.announce = Some(Instant::now() + ANNOUNCE);
            }
            Err((step, errno)) => run.failed(step, errno),
        }
        run.watch();
        self.guard = run.guard;
        self.layers.rest();
    }

    /// The hosts that the next run may reach, if there are any.
    fn outside(&self) -> Option<Outside> {
        let relay = self.inside?.relay.as_ref()?;
        Outside::new(relay, self.names.as_ref()?.number())
    }

    /// Puts back what keeps files as they are, where somebody outside has taken it away with them; says whether it had to.
    fn renew(&self) -> Result<bool, (Step, Errno)> {
        let Some(inside) = self.inside.filter(|inside| inside.own_mounts) else { return Ok(false) };
        let renewed = remount::renew(&inside.bounds.plan).map_err(|errno| (Step::Confine, errno))?;
        self.layers.lost(&renewed);
        Ok(!renewed.is_empty())
    }

    /// Kills all that came of the program; says who they were, as far as they were found.
    fn kill(&self) -> BTreeSet<i32> {
        if !self.inside.is_some_and(|inside| inside.own_processes) {
            return tree::kill(&BTreeSet::new());
        }
        let all = tree::below(&BTreeSet::new());
        sys::kill_all();
        all
    }

    /// Makes Landlock's rules, unless those of the run before are as good: they know what lies where by the files
    /// themselves, so a new layer needs new ones, and so does what a run is given.
    fn rule(&mut self, as_before: bool, fds: &[OwnedFd]) -> Result<(), (Step, Errno)> {
        let Some(inside) = self.inside else { return Ok(()) };
        if !as_before || self.rules.is_none() || self.gave {
            self.rules = inside.rules().map_err(|errno| (Step::Confine, errno))?;
            self.gave = false;
        }
        if let Some(rules) = &self.rules {
            self.gave = landlock::allow_given(rules, fds);
        }
        Ok(())
    }
}

/// How far the end of a run is.
#[derive(Debug, Clone, Copy)]
enum Ending {
    No,
    /// All were asked, and have until then.
    Asked(Instant),
    /// All were killed, first at the one time; again at the other.
    Killed(Instant, Instant),
    /// The host knows that some will not go.
    Told(Instant),
}

/// What ended a wait.
#[derive(Debug)]
struct Woken {
    /// The host says something.
    spoken: bool,
    /// A call has to be judged.
    asked: PollFlags,
    /// Somebody asks for a name.
    named: bool,
    /// The relay says something.
    relayed: bool,
}

/// One program and what came of it.
struct Run<'a> {
    keeper: &'a Keeper<'a>,
    guard: ResourceGuard,
    leader: Option<Launched>,
    used: Used,
    ended: BTreeSet<i32>,
    names: Vec<Ended>,
    ending: Ending,
    /// When the host is told that it runs, if it does not end before: most do.
    announce: Option<Instant>,
    /// Reports that are not sent yet: news of one moment travel together.
    news: Vec<u8>,
    /// Judges what the filter cannot.
    broker: Option<Broker>,
    /// When what may not be read is hidden again, if anything is.
    hide: Option<Instant>,
}

impl Run<'_> {
    fn watch(&mut self) {
        // ends: when no process is left; every ending gets there
        loop {
            sys::drain(self.keeper.signals);
            if self.reap() {
                return self.empty();
            }
            self.send();
            let broker = self.broker.as_ref().and_then(Broker::next);
            let next =
                self.next_step().into_iter().chain(broker).chain(self.hide).chain(self.guard.next()).min();
            let wait = next.map(|at| at.saturating_duration_since(Instant::now()));
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let woken = self.wait(wait.as_ref());
            if woken.spoken && self.obey().is_none() {
                self.abandon();
            }
            self.judge(&woken);
            self.hide();
            self.guard();
            if self.next_step().is_some_and(|at| at <= Instant::now()) {
                self.step();
            }
        }
    }

    /// Waits for whatever comes first: the host speaks, a call has to be judged, somebody asks for a name, a child changes,
    /// the time is up.
    fn wait(&self, wait: Option<&Timespec>) -> Woken {
        let Keeper { control, signals, names, .. } = self.keeper;
        let listener = self.broker.as_ref().map(Broker::listener);
        let names = names.as_ref().filter(|_| listener.is_some()).map(Names::socket);
        let relay = self.broker.as_ref().and_then(|broker| broker.outside.as_ref()?.channel());
        let mut ready = vec![PollFd::new(*control, PollFlags::IN), PollFd::new(*signals, PollFlags::IN)];
        let others = [listener, names, relay].map(|fd| {
            ready.extend(fd.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            fd.map(|_| ready.len() - 1)
        });
        if poll(&mut ready, wait).is_err() {
            return Woken { spoken: false, asked: PollFlags::empty(), named: false, relayed: false };
        }
        let flags = |at: Option<usize>| at.map_or(PollFlags::empty(), |at| ready[at].revents());
        let [asked, named, relayed] = others.map(flags);
        let spoken = !flags(Some(0)).is_empty();
        Woken { spoken, asked, named: !named.is_empty(), relayed: !relayed.is_empty() }
    }

    /// Hides what has come to be since, or was put in the place of what was hidden. Nobody reads what cannot be hidden.
    fn hide(&mut self) {
        let (Some(inside), Some(at)) = (self.keeper.inside, self.hide) else { return };
        if at > Instant::now() {
            return;
        }
        self.hide = Some(Instant::now() + HIDE);
        if remount::hide_again(&inside.bounds.plan).is_err() {
            self.end(Duration::ZERO);
        }
    }

    /// Ends what takes more of the machine than it may, and says so.
    fn guard(&mut self) {
        if let Some(refusal) = self.guard.look(self.keeper.inside) {
            self.news.extend(Report::Refused(vec![refusal]).encode());
            self.end(Duration::ZERO);
        }
    }

    fn judge(&mut self, woken: &Woken) {
        let (Some(broker), Some(inside)) = (&mut self.broker, self.keeper.inside) else { return };
        let outside = broker.outside.as_mut().map(|outside| (outside, &inside.bounds.plan.hosts));
        if woken.named
            && let Some(name) = self.keeper.names.as_ref().and_then(|names| names.serve(outside))
        {
            broker.tell(Refusal::Name(name));
        }
        if woken.relayed {
            broker.hear();
        }
        if woken.asked.contains(PollFlags::IN) {
            broker.serve(&inside.bounds);
        } else if !woken.asked.is_empty() {
            // Nobody is left who could ask.
            broker.hear();
            self.tell();
            self.broker = None;
            return;
        }
        broker.again();
        self.tell();
    }

    /// Has the host know what was refused.
    fn tell(&mut self) {
        let news = self.broker.as_mut().map(Broker::news).unwrap_or_default();
        if !news.is_empty() {
            self.news.extend(Report::Refused(news).encode());
        }
    }

    /// Takes leave of all that have ended; says whether none is left.
    fn reap(&mut self) -> bool {
        let mut exited = None;
        // ends: every round takes leave of one process, or is the last
        let none_left = loop {
            match sys::wait_any() {
                Wait::Reaped(Reaped { pid, status, used }) => {
                    self.used.user += used.user;
                    self.used.system += used.system;
                    self.used.peak_memory = self.used.peak_memory.max(used.peak_memory);
                    if self.leader.as_ref().is_some_and(|leader| leader.pid == pid) {
                        exited = self.leader.take().map(|leader| (leader, status));
                    }
                }
                // A program may do that to itself, or a terminal to it.
                Wait::Stopped(_) => {}
                Wait::Running => break false,
                Wait::NoChildren => break true,
            }
        };
        if let Some((leader, status)) = exited {
            self.announce = None;
            if let Some((step, errno)) = leader.failure() {
                self.failed(step, errno);
                return none_left;
            }
            let left = if none_left { 0 } else { tree::below(&BTreeSet::new()).len() };
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            self.news.extend(Report::Exited { status, left }.encode());
        }
        none_left
    }

    /// Does what the host says; `None` if it is gone.
    fn obey(&mut self) -> Option<()> {
        let (bytes, _) = link::message(self.keeper.control, MAX_ORDER)?;
        match Order::decode(&bytes)? {
            Order::End { grace } => self.end(grace),
            Order::Signal(number) => {
                let signal = Signal::from_named_raw(number);
                let group = self.leader.as_ref().and_then(|leader| Pid::from_raw(leader.pid));
                if let (Some(group), Some(signal)) = (group, signal) {
                    // The leader was not waited for yet, so the number is still its own.
                    let _nobody_there = rustix::process::kill_process_group(group, signal);
                }
            }
            Order::Run(_) => return None,
        }
        Some(())
    }

    /// Asks all to end by then. Whoever asks again does not put it off.
    fn end(&mut self, grace: Duration) {
        let by = Instant::now() + grace;
        let by = match self.ending {
            Ending::No => by,
            Ending::Asked(before) => before.min(by),
            Ending::Killed(..) | Ending::Told(_) => return,
        };
        let all = tree::below(&BTreeSet::new());
        self.name(&all);
        if grace > Duration::ZERO {
            tree::signal(&all, Signal::TERM);
            // Whoever is stopped hears of it only when it goes on.
            tree::signal(&all, Signal::CONT);
        }
        self.ending = Ending::Asked(by);
    }

    fn failed(&mut self, step: Step, errno: Errno) {
        self.news.extend(Report::Failed { step, errno: errno.raw_os_error() }.encode());
    }

    fn next_step(&self) -> Option<Instant> {
        match self.ending {
            Ending::No => self.announce,
            Ending::Asked(at) | Ending::Killed(_, at) | Ending::Told(at) => Some(at),
        }
    }

    /// Tells that it runs; or kills, or kills again: new ones may have come while the old ones died.
    fn step(&mut self) {
        if let (Ending::No, Some(_), Some(leader)) = (self.ending, self.announce.take(), &self.leader) {
            self.news.extend(Report::Started { pid: leader.pid }.encode());
            return;
        }
        let all = self.keeper.kill();
        self.name(&all);
        let now = Instant::now();
        self.ending = match self.ending {
            Ending::No | Ending::Asked(_) => Ending::Killed(now, now + AGAIN),
            Ending::Killed(first, _) if now - first < STUCK => Ending::Killed(first, now + AGAIN),
            Ending::Killed(..) => {
                self.news.extend(Report::Stuck { left: tree::named(&all, NAMED) }.encode());
                Ending::Told(now + STUCK)
            }
            Ending::Told(_) => Ending::Told(now + STUCK),
        };
    }

    fn name(&mut self, pids: &BTreeSet<i32>) {
        let new: BTreeSet<i32> = pids.difference(&self.ended).copied().collect();
        self.names.extend(tree::named(&new, NAMED.saturating_sub(self.names.len())));
        self.ended.extend(new);
    }

    fn empty(&mut self) {
        // The relay may have said so just before.
        self.broker.as_mut().map(Broker::hear);
        self.tell();
        let more = u32::try_from(self.ended.len().saturating_sub(self.names.len())).unwrap_or(u32::MAX);
        let ended = std::mem::take(&mut self.names);
        let touched = self.keeper.layers.touched();
        let off = !touched || self.keeper.layers.take_off();
        // Without a spawner nobody would clean up after it any more. In a process namespace there is none to see.
        let again = off && getppid() == self.keeper.spawner;
        self.news.extend(Report::Empty { used: self.used, ended, more, again, touched }.encode());
        self.send();
        if !again {
            sys::exit(0);
        }
    }

    fn send(&mut self) {
        let _host_is_gone = link::write(self.keeper.control, &self.news);
        self.news.clear();
    }

    /// The host is gone: nobody waits, nothing may be left.
    fn abandon(&mut self) -> ! {
        let signals = self.keeper.signals;
        let began = Instant::now();
        // ends: when no process is left; those that cannot be killed keep this one with them
        loop {
            self.keeper.kill();
            let wait = if began.elapsed() < STUCK { AGAIN } else { STUCK };
            let wait = Timespec::try_from(wait).ok();
            let _woken = poll(&mut [PollFd::new(signals, PollFlags::IN)], wait.as_ref());
            sys::drain(signals);
            if self.reap() {
                sys::exit(0);
            }
        }
    }
}
