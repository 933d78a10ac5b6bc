//! Messages between host and supervisor, and their encoding: a length, a kind, the fields.

use std::time::Duration;

use super::codec::{MessageDecoder, MessageEncoder};
use crate::sandbox::SandboxRefusal;
use crate::sandbox::mounted_layers::LayerRequest;

/// The maximum size of an order: the kernel accepts at most two megabytes of arguments and variables.
pub(super) const MAX_ORDER_BYTES: usize = 8 << 20;
/// The maximum size of a report.
pub(super) const MAX_REPORT_BYTES: usize = 64 << 10;
/// An order from the host to a supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SupervisorOrder {
    /// Start this program. Its descriptors come with the message, in the order of [`LaunchRequest`].
    Run(LaunchRequest),
    /// End every process: SIGTERM, then SIGKILL after `grace`.
    End { grace: Duration },
    /// Send this signal to the process group of the program.
    Signal(i32),
}

/// A program to start. Its descriptors: the working directory; the terminal, or standard input, output and error; and
/// the prelude if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaunchRequest {
    pub(super) argv: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub(super) env: Vec<Vec<u8>>,
    pub(super) terminal: bool,
    pub(super) prelude: bool,
    /// The path of the working directory in the cell. Without a cell, the directory comes as a descriptor.
    pub(super) directory: Vec<u8>,
    pub(super) layers: Vec<LayerRequest>,
}

/// A report from a supervisor to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SupervisorReport {
    /// The supervisor is ready.
    Ready,
    /// The program runs.
    Started { pid: i32 },
    /// The program does not run, because this step failed.
    Failed { step: LaunchStep, errno: i32 },
    /// The program has exited; `left` descendants have not.
    Exited { status: i32, left: u32 },
    /// No process is left. If `again`, the supervisor waits for the next order; else it has lost its spawner and
    /// exits. `touched`: the run wrote to a layer, which is unmounted now.
    AllExited { used: ResourceUsage, ended: Vec<KilledProcess>, more: u32, again: bool, touched: bool },
    /// These processes survived SIGKILL. The supervisor keeps trying.
    Stuck { left: Vec<KilledProcess> },
    /// The kernel refused these actions.
    Refused(Vec<SandboxRefusal>),
    /// No layer could be mounted over a git directory, which stays read-only.
    LayerNotMounted,
}

/// A step of launching a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchStep {
    /// Creating the process.
    Fork,
    /// Setting the controlling terminal.
    Terminal,
    /// Entering the working directory.
    Directory,
    /// Applying the confinement.
    Confine,
    /// Executing the program.
    Exec,
}

/// The resources that all processes of a run used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The largest resident memory of one process, in bytes.
    pub peak_memory: u64,
}

/// A process that had to be killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KilledProcess {
    /// The process id.
    pub pid: i32,
    /// The kernel's name of the process, at most 15 bytes.
    pub name: String,
}

impl SupervisorOrder {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MessageEncoder::new();
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
        out.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = MessageDecoder(bytes);
        match input.byte()? {
            0 => {
                let (terminal, prelude) = (input.byte()? != 0, input.byte()? != 0);
                let (argv, env) = (input.list()?, input.list()?);
                let directory = input.bytes()?.to_owned();
                let count = input.number()?;
                let layers = (0..count).map(|_| LayerRequest::read(&mut input)).collect::<Option<_>>()?;
                Some(Self::Run(LaunchRequest { argv, env, terminal, prelude, directory, layers }))
            }
            1 => Some(Self::End { grace: input.time()? }),
            2 => Some(Self::Signal(input.signed()?)),
            _ => None,
        }
    }
}

impl SupervisorReport {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MessageEncoder::new();
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
            Self::AllExited { used, ended, more, again, touched } => {
                out.byte(3);
                out.time(used.user);
                out.time(used.system);
                out.number(used.peak_memory);
                out.killed_processes(ended);
                out.number(u64::from(*more));
                out.byte(u8::from(*again));
                out.byte(u8::from(*touched));
            }
            Self::Stuck { left } => {
                out.byte(4);
                out.killed_processes(left);
            }
            Self::Refused(refusals) => {
                out.byte(6);
                out.number(refusals.len() as u64);
                refusals.iter().for_each(|refusal| refusal.write(&mut out));
            }
            Self::LayerNotMounted => out.byte(7),
        }
        out.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = MessageDecoder(bytes);
        match input.byte()? {
            0 => Some(Self::Started { pid: input.signed()? }),
            1 => Some(Self::Failed { step: LaunchStep::decode(input.byte()?)?, errno: input.signed()? }),
            2 => Some(Self::Exited { status: input.signed()?, left: input.number()?.try_into().ok()? }),
            3 => {
                let (user, system, peak_memory) = (input.time()?, input.time()?, input.number()?);
                let used = ResourceUsage { user, system, peak_memory };
                let (ended, more) = (input.killed_processes()?, input.number()?.try_into().ok()?);
                let (again, touched) = (input.byte()? != 0, input.byte()? != 0);
                Some(Self::AllExited { used, ended, more, again, touched })
            }
            4 => Some(Self::Stuck { left: input.killed_processes()? }),
            5 => Some(Self::Ready),
            6 => {
                let count = input.number()?;
                Some(Self::Refused(
                    (0..count).map(|_| SandboxRefusal::read(&mut input)).collect::<Option<_>>()?,
                ))
            }
            7 => Some(Self::LayerNotMounted),
            _ => None,
        }
    }
}

impl LaunchStep {
    const ALL: [Self; 5] = [Self::Fork, Self::Terminal, Self::Directory, Self::Confine, Self::Exec];

    pub(super) fn decode(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == byte)
    }
}

impl MessageEncoder {
    fn killed_processes(&mut self, ended: &[KilledProcess]) {
        self.number(ended.len() as u64);
        for one in ended {
            self.signed(one.pid);
            self.bytes(one.name.as_bytes());
        }
    }
}

impl MessageDecoder<'_> {
    fn killed_processes(&mut self) -> Option<Vec<KilledProcess>> {
        let count = self.number()?;
        let one = |_| {
            let (pid, name) = (self.signed()?, self.bytes()?);
            Some(KilledProcess { pid, name: String::from_utf8_lossy(name).into_owned() })
        };
        (0..count).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::codec::LENGTH_PREFIX_BYTES;
    use super::*;

    fn unreachable(step: policy::ConnectStep) -> SandboxRefusal {
        let (target, reason) = ("a.org:443".to_owned(), "no route".to_owned());
        SandboxRefusal::Unreachable(policy::UnreachableHost { target, step, reason })
    }

    #[test]
    fn messages_decode_to_what_was_encoded() {
        let launch = LaunchRequest {
            argv: vec![b"sh".to_vec(), b"".to_vec(), vec![0xff]],
            env: vec![b"A=1".to_vec()],
            terminal: true,
            prelude: false,
            directory: b"/w".to_vec(),
            layers: vec![LayerRequest {
                at: "/w/.git".into(),
                name: "7".to_owned(),
                ignore_lines: b"/.codex/\n".to_vec(),
            }],
        };
        for order in [
            SupervisorOrder::Run(launch),
            SupervisorOrder::End { grace: Duration::from_millis(5) },
            SupervisorOrder::Signal(2),
        ] {
            assert_eq!(SupervisorOrder::decode(&order.encode()[LENGTH_PREFIX_BYTES..]), Some(order));
        }
        let ended = vec![KilledProcess { pid: 7, name: "sleep".to_owned() }];
        let used =
            ResourceUsage { user: Duration::from_micros(3), system: Duration::ZERO, peak_memory: 1 << 40 };
        for report in [
            SupervisorReport::Ready,
            SupervisorReport::Started { pid: 1 },
            SupervisorReport::Failed { step: LaunchStep::Exec, errno: 2 },
            SupervisorReport::Exited { status: 256, left: 3 },
            SupervisorReport::AllExited { used, ended: ended.clone(), more: 4, again: true, touched: false },
            SupervisorReport::Stuck { left: ended },
            SupervisorReport::Refused(vec![
                SandboxRefusal::Socket("@x".to_owned()),
                SandboxRefusal::Connect("[::1]:80".parse().unwrap()),
                SandboxRefusal::Write("/etc/x".into()),
                SandboxRefusal::Excess(policy::ResourceExcess::Scratch { most: 5 }),
                SandboxRefusal::Excess(policy::ResourceExcess::Memory),
                SandboxRefusal::Excess(policy::ResourceExcess::SharedMemory { most: 5 }),
                unreachable(policy::ConnectStep::Resolve),
                unreachable(policy::ConnectStep::Connect),
            ]),
            SupervisorReport::LayerNotMounted,
        ] {
            let bytes = report.encode();
            assert_eq!(bytes.len() - LENGTH_PREFIX_BYTES, usize::from(bytes[0]));
            assert_eq!(SupervisorReport::decode(&bytes[LENGTH_PREFIX_BYTES..]), Some(report));
        }
    }

    proptest! {
        /// Law: no input makes the host or the supervisor panic or allocate without bound.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _what_is_it = (SupervisorReport::decode(&bytes), SupervisorOrder::decode(&bytes));
        }
    }
}
