//! System calls without a safe wrapper: fork, exec, signals, waiting for children, and descriptor numbers.
//!
//! All but the last function are called by the spawner and its supervisors, which have one thread.
#![expect(unsafe_code, reason = "fork, exec, signals and wait4 have no safe form")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use super::messages::ResourceUsage;

/// The side that returns from [`fork`].
pub(crate) enum ForkSide {
    Parent(i32),
    Child,
}

/// Forks this process.
pub(crate) fn fork() -> io::Result<ForkSide> {
    // SAFETY: this process has one thread, so the child's memory is consistent: no lock is held by a thread that is
    // missing in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkSide::Child),
        pid => Ok(ForkSide::Parent(pid)),
    }
}

/// Exits at once: no destructor runs twice, no buffer is flushed twice.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` can be called from anywhere.
    unsafe { libc::_exit(code) }
}

/// Kills every process of this namespace except process 1, which this one is. No process can fork meanwhile.
pub(super) fn kill_all() {
    debug_assert_eq!(rustix::process::getpid().as_raw_nonzero().get(), 1);
    // SAFETY: the call takes numbers only.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Executes the program at `path`. Returns the error on failure. Allocates nothing.
pub(super) fn exec(path: &CStr, argv: &CStringArray, env: &CStringArray) -> Errno {
    // SAFETY: both lists end with a null pointer, and point to strings that live as long as they do.
    unsafe { libc::execve(path.as_ptr(), argv.pointers.as_ptr(), env.pointers.as_ptr()) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Executes the script at `path` with the shell. `argv` holds the shell, a placeholder, and the script's arguments.
pub(super) fn exec_script(path: &CStr, argv: &mut CStringArray, env: &CStringArray) -> Errno {
    let before = std::mem::replace(&mut argv.pointers[1], path.as_ptr());
    let errno = exec(c"/bin/sh", argv, env);
    argv.pointers[1] = before;
    errno
}

/// A null-terminated array of C strings.
pub(super) struct CStringArray {
    /// Owns the strings that the pointers refer to.
    _texts: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl CStringArray {
    pub(super) fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _texts: texts, pointers }
    }
}

/// Runs `child` in a new process that shares this one's memory until it executes a program or exits; this process
/// waits until then. Nothing is copied, so the cost does not depend on the memory size. Returns the process id.
pub(super) fn vfork(mut child: &mut dyn FnMut() -> i32) -> io::Result<i32> {
    const STACK_BYTES: usize = 64 << 10;
    extern "C" fn enter(child: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is the one passed below, and its target lives as long as the parent waits.
        let child = unsafe { &mut *child.cast::<&mut dyn FnMut() -> i32>() };
        child()
    }
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is aligned, grows down from its end, and is owned here. This process has one thread, which
    // waits until the child has left this memory, so no other thread sees it change. The child makes system calls and
    // allocates nothing.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast();
        libc::clone(enter, top, flags, (&raw mut child).cast())
    };
    if pid == -1 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Resets every signal to its default action, for this process and all descendants.
pub(super) fn reset_signals() {
    // The kernel's own structure, all zero: the default action, no flags, nothing blocked. The C library would not
    // touch the two signals that it uses itself, which a parent may have left ignored.
    let default = [0_u64; 4];
    for signal in 1..=64_i64 {
        let (no_old, set_size) = (std::ptr::null::<u64>(), 8_usize);
        // SAFETY: the structure is at least as large as the kernel's. Signals that cannot be set are refused, which
        // is harmless.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), no_old, set_size) };
    }
    unblock_signals();
}

/// Unblocks all signals.
pub(super) fn unblock_signals() {
    // SAFETY: `none` is initialized by `sigemptyset` before it is used.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Returns a descriptor that is readable when a child changes its state; read it with [`drain_signals`]. All other
/// signals are blocked from then on: `pkill toolgate` ends the host, and this process exits after it has cleaned up.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: both sets are initialized before they are used; the descriptor is new and owned here.
    unsafe {
        let (mut all, mut wanted) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        libc::sigemptyset(&raw mut wanted);
        libc::sigaddset(&raw mut wanted, libc::SIGCHLD);
        match libc::signalfd(-1, &raw const wanted, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Reads all pending signals from the descriptor of [`child_signals`].
pub(crate) fn drain_signals(signals: &OwnedFd) {
    let mut buffer = [0; 1024];
    // ends: the descriptor does not block, and signals of one kind are reported once
    while rustix::io::read(signals, &mut buffer).is_ok_and(|read| read > 0) {}
}

/// A child that was reaped.
pub(super) struct ReapedChild {
    pub(super) pid: i32,
    pub(super) status: i32,
    pub(super) used: ResourceUsage,
}

/// The result of a wait for children.
pub(super) enum ChildWaitOutcome {
    Reaped(ReapedChild),
    Stopped(i32),
    Running,
    NoChildren,
}

/// Reaps one child that has exited, or reports one that was stopped. Does not block.
pub(super) fn wait_any() -> ChildWaitOutcome {
    let mut status = 0;
    // SAFETY: a zeroed `rusage` is valid, and both places outlive the call.
    let (pid, used) = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        let pid =
            libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED | libc::__WALL, &raw mut used);
        (pid, used)
    };
    match pid {
        0 => ChildWaitOutcome::Running,
        -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => ChildWaitOutcome::Running,
        -1 => ChildWaitOutcome::NoChildren,
        pid if libc::WIFSTOPPED(status) => ChildWaitOutcome::Stopped(pid),
        pid => {
            let time = |time: libc::timeval| {
                let micros = time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_usec);
                Duration::from_micros(u64::try_from(micros).unwrap_or(0))
            };
            let peak_memory = u64::try_from(used.ru_maxrss).unwrap_or(0).saturating_mul(1024);
            let used = ResourceUsage { user: time(used.ru_utime), system: time(used.ru_stime), peak_memory };
            ChildWaitOutcome::Reaped(ReapedChild { pid, status, used })
        }
    }
}

/// Reaps all children that have exited. Returns true if none is left.
pub(crate) fn reap_all() -> bool {
    // ends: every round reaps one process, or is the last
    loop {
        match wait_any() {
            ChildWaitOutcome::Reaped(_) | ChildWaitOutcome::Stopped(_) => {}
            ChildWaitOutcome::Running => return false,
            ChildWaitOutcome::NoChildren => return true,
        }
    }
}

/// Waits for this child. Returns its exit code, unless a signal ended it.
pub(crate) fn wait_for(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: the place outlives the call.
    // ends: with the first call that is not interrupted
    while unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } == -1 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
    libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status))
}

/// Duplicates `fd` as descriptor `number`, which stays open across exec.
pub(super) fn dup_onto(fd: impl AsFd, number: RawFd) -> io::Result<()> {
    if fd.as_fd().as_raw_fd() == number {
        return Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?);
    }
    // SAFETY: the child that is about to execute a program owns all of its descriptors, and does not use a descriptor
    // that `number` may have replaced.
    match unsafe { libc::dup2(fd.as_fd().as_raw_fd(), number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Closes every descriptor from `first` on, at the start of a process that uses none of them.
pub(crate) fn close_from(first: RawFd) {
    let (first, last) = (libc::c_long::from(first), libc::c_long::from(u32::MAX));
    // SAFETY: this process uses none of them from now on. A kernel before 5.9 refuses, and they stay open.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_i64) };
}

/// Registers `fd` with the async runtime.
pub(super) fn into_async_fd(fd: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: an owned descriptor stays open and unchanged as long as it is owned.
    Ok(unsafe { AsyncFd::register(fd) }?)
}
