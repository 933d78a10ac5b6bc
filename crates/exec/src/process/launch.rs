//! Launches a program from an order: in its own session, with the confinement applied last.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, Signal, getpid, getppid, getrlimit, setrlimit};

use super::fd_passing;
use super::messages::{LaunchRequest, LaunchStep};
use super::sys::{self, CStringArray};
use crate::sandbox::cell::ProgramConfinement;
use crate::sandbox::sys as confinement;

/// The descriptor at which a shell finds the prelude: `/dev/fd/9`.
pub(crate) const PRELUDE_FD: i32 = 9;

/// Resource limits that the host raised for itself and that programs must not inherit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaunchLimits {
    /// The limit of open files that the host was started with.
    pub(super) open_files: Option<u64>,
}

/// A created process, and the pipe through which it reports a failure before exec.
pub(super) struct LaunchedProcess {
    pub(super) pid: i32,
    failure_pipe: OwnedFd,
    /// The seccomp listener for calls that need a decision.
    pub(super) listener: Option<OwnedFd>,
}

impl LaunchedProcess {
    /// Returns the failure of a process that has exited, or `None` if it became the program.
    pub(super) fn failure(&self) -> Option<(LaunchStep, Errno)> {
        let mut word = [0; 5];
        let read = rustix::io::read(&self.failure_pipe, &mut word).ok()?;
        if read < word.len() {
            return None;
        }
        let errno = i32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        Some((LaunchStep::decode(word[4])?, Errno::from_raw_os_error(errno)))
    }
}

/// Creates a process for `launch` with `fds`, confined as `inside` says, with a Landlock ruleset. It does not wait
/// for the exec: that would cost a round trip.
pub(super) fn launch(
    launch: &LaunchRequest,
    fds: &[OwnedFd],
    limits: LaunchLimits,
    inside: Option<(&ProgramConfinement, Option<&OwnedFd>)>,
) -> Result<LaunchedProcess, (LaunchStep, Errno)> {
    let mut program = PreparedProgram::new(launch).ok_or((LaunchStep::Exec, Errno::INVAL))?;
    let (failure_pipe, failure_sender) =
        pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|errno| (LaunchStep::Fork, errno))?;
    // Above the fixed descriptor numbers.
    let failure_sender = rustix::io::fcntl_dupfd_cloexec(&failure_sender, PRELUDE_FD + 1)
        .map_err(|errno| (LaunchStep::Fork, errno))?;
    let supervisor = getpid();
    let directory =
        CString::new(launch.directory.as_slice()).map_err(|_| (LaunchStep::Directory, Errno::INVAL))?;
    let flags = SocketFlags::CLOEXEC;
    let (listener_receiver, listener_sender) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .map_err(|errno| (LaunchStep::Fork, errno))?;
    let forked = sys::vfork(&mut || {
        let prepared = prepare(launch, fds, limits, supervisor, &directory)
            .and_then(|()| inside.map_or(Ok(()), |(inside, rules)| confine(inside, rules, &listener_sender)));
        let (step, errno) = match prepared {
            Ok(()) => (LaunchStep::Exec, program.exec()),
            Err(failed) => failed,
        };
        let [a, b, c, d] = errno.raw_os_error().to_le_bytes();
        let _supervisor_is_gone = rustix::io::write(&failure_sender, &[a, b, c, d, step as u8]);
        127
    });
    drop(listener_sender);
    match forked {
        Ok(pid) => Ok(LaunchedProcess {
            pid,
            failure_pipe,
            listener: inside.and_then(|_| receive_listener(&listener_receiver)),
        }),
        Err(error) => Err((LaunchStep::Fork, Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))),
    }
}

/// A program prepared for exec, so that nothing has to be allocated.
struct PreparedProgram {
    /// The candidate paths.
    paths: Vec<CString>,
    argv: CStringArray,
    env: CStringArray,
    /// The shell that runs a script without a `#!` line, as the system's shells do.
    shell: CStringArray,
}

impl PreparedProgram {
    fn new(launch: &LaunchRequest) -> Option<Self> {
        let whole = |list: &[Vec<u8>]| -> Option<Vec<CString>> {
            list.iter().map(|text| CString::new(text.as_slice()).ok()).collect()
        };
        let (argv, env) = (whole(&launch.argv)?, whole(&launch.env)?);
        let name = launch.argv.first().filter(|name| !name.is_empty())?;
        let path = launch.env.iter().find_map(|pair| pair.strip_prefix(b"PATH="));
        let paths = candidates(name, path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin"));
        let shell =
            [c"/bin/sh", c""].into_iter().map(CStr::to_owned).chain(argv.iter().skip(1).cloned()).collect();
        Some(Self {
            paths,
            argv: CStringArray::new(argv),
            env: CStringArray::new(env),
            shell: CStringArray::new(shell),
        })
    }

    /// Executes the program. Returns only on failure.
    fn exec(&mut self) -> Errno {
        let mut worst = Errno::NOENT;
        for path in &self.paths {
            match sys::exec(path, &self.argv, &self.env) {
                Errno::NOEXEC => return sys::exec_script(path, &mut self.shell, &self.env),
                Errno::NOENT | Errno::NOTDIR => {}
                // Another directory may have an executable one.
                Errno::ACCESS => worst = Errno::ACCESS,
                other => return other,
            }
        }
        worst
    }
}

/// Returns the candidate paths of a program: `name` if it contains a slash, else one for each directory of `path`.
fn candidates(name: &[u8], path: &[u8]) -> Vec<CString> {
    if name.contains(&b'/') {
        return CString::new(name).into_iter().collect();
    }
    let directories = path.split(|&byte| byte == b':').filter(|directory| directory.starts_with(b"/"));
    directories.filter_map(|directory| CString::new([directory, b"/", name].concat()).ok()).collect()
}

/// Prepares the child: its session, descriptors and signals.
fn prepare(
    launch: &LaunchRequest,
    fds: &[OwnedFd],
    limits: LaunchLimits,
    supervisor: rustix::process::Pid,
    path: &CStr,
) -> Result<(), (LaunchStep, Errno)> {
    let at = |step: LaunchStep| move |errno: Errno| (step, errno);
    // If the supervisor is killed, the child dies with it, and the spawner finds the descendants.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(LaunchStep::Fork))?;
    if getppid() != Some(supervisor) {
        return Err((LaunchStep::Fork, Errno::SRCH));
    }
    sys::unblock_signals();
    rustix::process::setsid().map_err(at(LaunchStep::Fork))?;
    let mut fds = fds.iter();
    let mut next = || fds.next().ok_or((LaunchStep::Fork, Errno::BADF));
    if path.is_empty() {
        rustix::process::fchdir(next()?).map_err(at(LaunchStep::Directory))?;
    } else {
        rustix::process::chdir(path).map_err(at(LaunchStep::Directory))?;
    }
    let stdio = if launch.terminal {
        let terminal = next()?;
        rustix::process::ioctl_tiocsctty(terminal).map_err(at(LaunchStep::Terminal))?;
        [terminal, terminal, terminal]
    } else {
        [next()?, next()?, next()?]
    };
    let prelude = if launch.prelude { Some(next()?) } else { None };
    for (number, fd) in (0..).zip(stdio) {
        dup_to_number(fd, number)?;
    }
    if let Some(prelude) = prelude {
        dup_to_number(prelude, PRELUDE_FD)?;
    }
    let _may_not = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    if let Some(open_files) = limits.open_files {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let _may_not = setrlimit(Resource::Nofile, Rlimit { current: Some(open_files), maximum });
    }
    Ok(())
}

/// Confines the child, as the last step: from here on it has no more rights than the program.
fn confine(
    inside: &ProgramConfinement,
    rules: Option<&OwnedFd>,
    listener_sender: &OwnedFd,
) -> Result<(), (LaunchStep, Errno)> {
    let at = |errno: Errno| (LaunchStep::Confine, errno);
    let limits = inside.broker_facts.plan.limits;
    for (resource, limit) in [
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_size),
        (Resource::Data, limits.memory),
    ] {
        if let Some(limit) = limit {
            let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).map_err(at)?;
        }
    }
    rustix::thread::set_no_new_privs(true).map_err(at)?;
    confinement::drop_capabilities().map_err(at)?;
    if let Some(rules) = rules {
        confinement::landlock_restrict(rules).map_err(at)?;
    }
    if let Some(listener) = confinement::install_filter(&inside.filter, inside.brokered).map_err(at)? {
        fd_passing::send(listener_sender, &[0], &[listener.as_fd()])
            .map_err(|error| at(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    }
    Ok(())
}

/// Receives the listener that the child has sent, if it got so far.
fn receive_listener(listener_receiver: &OwnedFd) -> Option<OwnedFd> {
    let mut fds = Vec::new();
    fd_passing::receive(listener_receiver, &mut [0; 1], &mut fds).ok()?;
    fds.pop()
}

fn dup_to_number(fd: impl AsFd, number: i32) -> Result<(), (LaunchStep, Errno)> {
    sys::dup_onto(fd, number)
        .map_err(|error| (LaunchStep::Fork, Errno::from_io_error(&error).unwrap_or(Errno::BADF)))
}
