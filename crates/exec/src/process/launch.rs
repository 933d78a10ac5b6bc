//! An order → a running program, in a session of its own. What confines it will be put on here.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, Signal, getpid, getppid, setrlimit};

use super::message::{Launch, Step};
use super::sys::{self, Words};

/// Where a shell finds the prelude: `/dev/fd/9`.
pub(crate) const PRELUDE_FD: i32 = 9;

/// What becomes of the limits that the host raised for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Open files, as the host was started with.
    pub(super) open_files: Option<u64>,
}

/// A process that was made, and where it says why it did not become the program.
pub(super) struct Launched {
    pub(super) pid: i32,
    told: OwnedFd,
}

impl Launched {
    /// What went wrong, once it has ended; nothing if it became the program.
    pub(super) fn failure(&self) -> Option<(Step, Errno)> {
        let mut word = [0; 5];
        let read = rustix::io::read(&self.told, &mut word).ok()?;
        if read < word.len() {
            return None;
        }
        let errno = i32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        Some((Step::decode(word[4])?, Errno::from_raw_os_error(errno)))
    }
}

/// Makes a process for `launch` with `fds`. Nobody waits for it to become the program: that would cost a turn.
pub(super) fn launch(launch: &Launch, fds: &[OwnedFd], limits: Limits) -> Result<Launched, (Step, Errno)> {
    let mut program = Program::new(launch).ok_or((Step::Exec, Errno::INVAL))?;
    let (told, tell) =
        pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|errno| (Step::Fork, errno))?;
    // Out of the way of what is placed at fixed numbers.
    let tell = rustix::io::fcntl_dupfd_cloexec(&tell, PRELUDE_FD + 1).map_err(|errno| (Step::Fork, errno))?;
    let keeper = getpid();
    let made = sys::vfork(&mut || {
        let (step, errno) = match prepare(launch, fds, limits, keeper) {
            Ok(()) => (Step::Exec, program.exec()),
            Err(failed) => failed,
        };
        let [a, b, c, d] = errno.raw_os_error().to_le_bytes();
        let _keeper_is_gone = rustix::io::write(&tell, &[a, b, c, d, step as u8]);
        127
    });
    match made {
        Ok(pid) => Ok(Launched { pid, told }),
        Err(error) => Err((Step::Fork, Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))),
    }
}

/// A program to become, made ready so that nothing is left to allocate.
struct Program {
    /// Where it may be.
    paths: Vec<CString>,
    argv: Words,
    env: Words,
    /// What runs a script that does not say what runs it, as the system's shells do.
    shell: Words,
}

impl Program {
    fn new(launch: &Launch) -> Option<Self> {
        let whole = |list: &[Vec<u8>]| -> Option<Vec<CString>> {
            list.iter().map(|text| CString::new(text.as_slice()).ok()).collect()
        };
        let (argv, env) = (whole(&launch.argv)?, whole(&launch.env)?);
        let name = launch.argv.first().filter(|name| !name.is_empty())?;
        let path = launch.env.iter().find_map(|pair| pair.strip_prefix(b"PATH="));
        let paths = candidates(name, path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin"));
        let shell =
            [c"/bin/sh", c""].into_iter().map(CStr::to_owned).chain(argv.iter().skip(1).cloned()).collect();
        Some(Self { paths, argv: Words::new(argv), env: Words::new(env), shell: Words::new(shell) })
    }

    /// Becomes it. Returns only if it cannot.
    fn exec(&mut self) -> Errno {
        let mut worst = Errno::NOENT;
        for path in &self.paths {
            match sys::exec(path, &self.argv, &self.env) {
                Errno::NOEXEC => return sys::exec_script(path, &mut self.shell, &self.env),
                Errno::NOENT | Errno::NOTDIR => {}
                // Another directory may have one that can be run.
                Errno::ACCESS => worst = Errno::ACCESS,
                other => return other,
            }
        }
        worst
    }
}

/// Where a program of this name may be: at its path if it is one, else in each directory of `path`.
fn candidates(name: &[u8], path: &[u8]) -> Vec<CString> {
    if name.contains(&b'/') {
        return CString::new(name).into_iter().collect();
    }
    let directories = path.split(|&byte| byte == b':').filter(|directory| directory.starts_with(b"/"));
    directories.filter_map(|directory| CString::new([directory, b"/", name].concat()).ok()).collect()
}

/// In the child: its own session, its descriptors, its signals.
fn prepare(
    launch: &Launch,
    fds: &[OwnedFd],
    limits: Limits,
    keeper: rustix::process::Pid,
) -> Result<(), (Step, Errno)> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    // Should the keeper be killed, this one goes with it, and the spawner finds the others.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Fork))?;
    if getppid() != Some(keeper) {
        return Err((Step::Fork, Errno::SRCH));
    }
    sys::unblock_signals();
    rustix::process::setsid().map_err(at(Step::Fork))?;
    let mut fds = fds.iter();
    let mut next = || fds.next().ok_or((Step::Fork, Errno::BADF));
    let directory = next()?;
    rustix::process::fchdir(directory).map_err(at(Step::Directory))?;
    let stdio = if launch.terminal {
        let terminal = next()?;
        rustix::process::ioctl_tiocsctty(terminal).map_err(at(Step::Terminal))?;
        [terminal, terminal, terminal]
    } else {
        [next()?, next()?, next()?]
    };
    let prelude = if launch.prelude { Some(next()?) } else { None };
    for (number, fd) in (0..).zip(stdio) {
        place(fd, number)?;
    }
    if let Some(prelude) = prelude {
        place(prelude, PRELUDE_FD)?;
    }
    let _may_not = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    if let Some(open_files) = limits.open_files {
        let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
        let _may_not = setrlimit(Resource::Nofile, Rlimit { current: Some(open_files), maximum });
    }
    Ok(())
}

fn place(fd: impl AsFd, number: i32) -> Result<(), (Step, Errno)> {
    sys::place(fd, number).map_err(|error| (Step::Fork, Errno::from_io_error(&error).unwrap_or(Errno::BADF)))
}
