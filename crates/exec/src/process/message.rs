//! What a host and a keeper say to each other, as bytes: a length, a kind, the parts.

use std::time::Duration;

/// The longest order: the kernel takes no more than two megabytes of arguments and variables.
pub(super) const MAX_ORDER: usize = 8 << 20;
/// The longest report.
pub(super) const MAX_REPORT: usize = 64 << 10;
/// How many bytes the length takes.
pub(super) const LENGTH: usize = 4;

/// What a host asks of a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Start this. The descriptors come along with it, in the order of [`Launch`].
    Run(Launch),
    /// End every process: ask, wait so long, then kill.
    End { grace: Duration },
    /// Send this signal to the group of the process that was started.
    Signal(i32),
}

/// What to start. Its descriptors: the working directory; the terminal, or standard input, output and error; and the
/// prelude if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) argv: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub(super) env: Vec<Vec<u8>>,
    pub(super) terminal: bool,
    pub(super) prelude: bool,
}

/// What a keeper tells its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The keeper is there.
    Ready,
    /// It runs.
    Started { pid: i32 },
    /// It does not, because of this step.
    Failed { step: Step, errno: i32 },
    /// What was started has ended; so many of its descendants have not.
    Exited { status: i32, left: u32 },
    /// Nothing is left of it. The keeper waits for the next order, unless it has lost its spawner: then it ends too.
    Empty { used: Used, ended: Vec<Ended>, more: u32, again: bool },
    /// These are still there though they were killed; the keeper keeps trying.
    Stuck { left: Vec<Ended> },
}

/// A step on the way to a running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Making a process.
    Fork,
    /// Making the terminal its own.
    Terminal,
    /// Entering the working directory.
    Directory,
    /// Loading the program.
    Exec,
}

/// What all processes of a run took together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Processor time in user code.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// The most memory that one of them had resident, in bytes.
    pub peak_memory: u64,
}

/// A process that had to be ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub pid: i32,
    /// Its name as the kernel has it, at most 15 bytes.
    pub name: String,
}

impl Order {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Out::new();
        match self {
            Self::Run(launch) => {
                out.byte(0);
                out.byte(u8::from(launch.terminal));
                out.byte(u8::from(launch.prelude));
                for list in [&launch.argv, &launch.env] {
                    out.number(list.len() as u64);
                    list.iter().for_each(|text| out.bytes(text));
                }
            }
            Self::End { grace } => {
                out.byte(1);
                out.time(*grace);
            }
            Self::Signal(signal) => {
                out.byte(2);
                out.signed(*signal);
            }
        }
        out.done()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = In(bytes);
        match input.byte()? {
            0 => {
                let (terminal, prelude) = (input.byte()? != 0, input.byte()? != 0);
                let (argv, env) = (input.list()?, input.list()?);
                Some(Self::Run(Launch { argv, env, terminal, prelude }))
            }
            1 => Some(Self::End { grace: input.time()? }),
            2 => Some(Self::Signal(input.signed()?)),
            _ => None,
        }
    }
}

impl Report {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Out::new();
        match self {
            Self::Ready => out.byte(5),
            Self::Started { pid } => {
                out.byte(0);
                out.signed(*pid);
            }
            Self::Failed { step, errno } => {
                out.byte(1);
                out.byte(*step as u8);
                out.signed(*errno);
            }
            Self::Exited { status, left } => {
                out.byte(2);
                out.signed(*status);
                out.number(u64::from(*left));
            }
            Self::Empty { used, ended, more, again } => {
                out.byte(3);
                out.time(used.user);
                out.time(used.system);
                out.number(used.peak_memory);
                out.ended(ended);
                out.number(u64::from(*more));
                out.byte(u8::from(*again));
            }
            Self::Stuck { left } => {
                out.byte(4);
                out.ended(left);
            }
        }
        out.done()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = In(bytes);
        match input.byte()? {
            0 => Some(Self::Started { pid: input.signed()? }),
            1 => Some(Self::Failed { step: Step::decode(input.byte()?)?, errno: input.signed()? }),
            2 => Some(Self::Exited { status: input.signed()?, left: input.number()?.try_into().ok()? }),
            3 => {
                let (user, system, peak_memory) = (input.time()?, input.time()?, input.number()?);
                let used = Used { user, system, peak_memory };
                let (ended, more) = (input.ended()?, input.number()?.try_into().ok()?);
                Some(Self::Empty { used, ended, more, again: input.byte()? != 0 })
            }
            4 => Some(Self::Stuck { left: input.ended()? }),
            5 => Some(Self::Ready),
            _ => None,
        }
    }
}

impl Step {
    const ALL: [Self; 4] = [Self::Fork, Self::Terminal, Self::Directory, Self::Exec];

    pub(super) fn decode(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == byte)
    }
}

/// A message that is being written.
struct Out(Vec<u8>);

impl Out {
    fn new() -> Self {
        Self(vec![0; LENGTH])
    }

    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn signed(&mut self, number: i32) {
        self.0.extend(number.to_le_bytes());
    }

    fn time(&mut self, time: Duration) {
        self.number(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn ended(&mut self, ended: &[Ended]) {
        self.number(ended.len() as u64);
        for one in ended {
            self.signed(one.pid);
            self.bytes(one.name.as_bytes());
        }
    }

    fn done(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - LENGTH).unwrap_or(u32::MAX);
        self.0[..LENGTH].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// A message that is being read. It may come from a process that was tampered with: nothing in it is trusted.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn signed(&mut self) -> Option<i32> {
        Some(i32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<Duration> {
        Some(Duration::from_micros(self.number()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        let count = self.number()?;
        (0..count).map(|_| Some(self.bytes()?.to_owned())).collect()
    }

    fn ended(&mut self) -> Option<Vec<Ended>> {
        let count = self.number()?;
        let one = |_| {
            let (pid, name) = (self.signed()?, self.bytes()?);
            Some(Ended { pid, name: String::from_utf8_lossy(name).into_owned() })
        };
        (0..count).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_is_what_is_heard() {
        let launch = Launch {
            argv: vec![b"sh".to_vec(), b"".to_vec(), vec![0xff]],
            env: vec![b"A=1".to_vec()],
            terminal: true,
            prelude: false,
        };
        for order in [Order::Run(launch), Order::End { grace: Duration::from_millis(5) }, Order::Signal(2)] {
            assert_eq!(Order::decode(&order.encode()[LENGTH..]), Some(order));
        }
        let ended = vec![Ended { pid: 7, name: "sleep".to_owned() }];
        let used = Used { user: Duration::from_micros(3), system: Duration::ZERO, peak_memory: 1 << 40 };
        for report in [
            Report::Ready,
            Report::Started { pid: 1 },
            Report::Failed { step: Step::Exec, errno: 2 },
            Report::Exited { status: 256, left: 3 },
            Report::Empty { used, ended: ended.clone(), more: 4, again: true },
            Report::Stuck { left: ended },
        ] {
            let bytes = report.encode();
            assert_eq!(bytes.len() - LENGTH, usize::from(bytes[0]));
            assert_eq!(Report::decode(&bytes[LENGTH..]), Some(report));
        }
    }

    proptest! {
        /// Law: no bytes make the host or the keeper panic or ask for memory that is not there.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _what_is_it = (Report::decode(&bytes), Order::decode(&bytes));
        }
    }
}
