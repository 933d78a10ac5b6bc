//! What a host and a keeper say to each other, as bytes: a length, a kind, the parts.

use std::time::Duration;

pub(super) use super::bytes::LENGTH;
use super::bytes::{In, Out};
use crate::sandbox::Refusal;
use crate::sandbox::layers::Wanted;

/// The longest order: the kernel takes no more than two megabytes of arguments and variables.
pub(super) const MAX_ORDER: usize = 8 << 20;
/// The longest report.
pub(super) const MAX_REPORT: usize = 64 << 10;
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
    /// The working directory by its path in the cell; without a cell it comes as a descriptor.
    pub(super) directory: Vec<u8>,
    pub(super) layers: Vec<Wanted>,
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
    /// `touched`: something was written to a layer, which is off now.
    Empty { used: Used, ended: Vec<Ended>, more: u32, again: bool, touched: bool },
    /// These are still there though they were killed; the keeper keeps trying.
    Stuck { left: Vec<Ended> },
    /// These were refused to it.
    Refused(Vec<Refusal>),
    /// No layer could be put over a git directory: it can be read only.
    NoLayer,
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
    /// Confining it.
    Confine,
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
                out.bytes(&launch.directory);
                out.number(launch.layers.len() as u64);
                for layer in &launch.layers {
                    layer.write(&mut out);
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
                let directory = input.bytes()?.to_owned();
                let count = input.number()?;
                let layers = (0..count).map(|_| Wanted::read(&mut input)).collect::<Option<_>>()?;
                Some(Self::Run(Launch { argv, env, terminal, prelude, directory, layers }))
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
            Self::Empty { used, ended, more, again, touched } => {
                out.byte(3);
                out.time(used.user);
                out.time(used.system);
                out.number(used.peak_memory);
                out.ended(ended);
                out.number(u64::from(*more));
                out.byte(u8::from(*again));
                out.byte(u8::from(*touched));
            }
            Self::Stuck { left } => {
                out.byte(4);
                out.ended(left);
            }
            Self::Refused(refusals) => {
                out.byte(6);
                out.number(refusals.len() as u64);
                refusals.iter().for_each(|refusal| refusal.write(&mut out));
            }
            Self::NoLayer => out.byte(7),
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
                let (again, touched) = (input.byte()? != 0, input.byte()? != 0);
                Some(Self::Empty { used, ended, more, again, touched })
            }
            4 => Some(Self::Stuck { left: input.ended()? }),
            5 => Some(Self::Ready),
            6 => {
                let count = input.number()?;
                Some(Self::Refused((0..count).map(|_| Refusal::read(&mut input)).collect::<Option<_>>()?))
            }
            7 => Some(Self::NoLayer),
            _ => None,
        }
    }
}

impl Step {
    const ALL: [Self; 5] = [Self::Fork, Self::Terminal, Self::Directory, Self::Confine, Self::Exec];

    pub(super) fn decode(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == byte)
    }
}

impl Out {
    fn ended(&mut self, ended: &[Ended]) {
        self.number(ended.len() as u64);
        for one in ended {
            self.signed(one.pid);
            self.bytes(one.name.as_bytes());
        }
    }
}

impl In<'_> {
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
            directory: b"/w".to_vec(),
            layers: vec![Wanted {
                at: "/w/.git".into(),
                name: "7".to_owned(),
                ignored: b"/.codex/\n".to_vec(),
            }],
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
            Report::Empty { used, ended: ended.clone(), more: 4, again: true, touched: false },
            Report::Stuck { left: ended },
            Report::Refused(vec![
                Refusal::Socket("@x".to_owned()),
                Refusal::Connect("[::1]:80".parse().unwrap()),
                Refusal::Write("/etc/x".into()),
                Refusal::Excess(policy::Excess::Scratch { most: 5 }),
                Refusal::Excess(policy::Excess::Memory),
                Refusal::Excess(policy::Excess::SharedMemory { most: 5 }),
            ]),
            Report::NoLayer,
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
