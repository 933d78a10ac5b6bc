//! Runs a program under ptrace and kills it before a system call, or makes the call fail. Contains all unsafe code.
#![expect(unsafe_code, reason = "ptrace has no safe form")]

use std::collections::{HashMap, HashSet};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use libc::{c_int, c_long, pid_t, user_regs_struct};

/// The instructions for a traced program. Calls are counted from 1, starting when it stops itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TraceOrders {
    /// The call before which the program is killed.
    pub(crate) kill_at: Option<usize>,
    /// The call that fails, if it can, and its error.
    pub(crate) fail_at: Option<(usize, c_int)>,
    /// Renames with these flags return EINVAL, as on file systems that lack them.
    pub(crate) lacks: u64,
}

/// Calls that access the file system and can fail.
pub(crate) const FALLIBLE: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_lseek,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_flistxattr,
    libc::SYS_fgetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
    libc::SYS_flock,
    libc::SYS_getdents64,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_clone3,
];

/// The result of a traced run.
#[derive(Debug)]
pub(crate) struct TraceOutcome {
    /// The exit code; `None` if the program was killed.
    pub(crate) code: Option<c_int>,
    /// The numbers of its calls, in order.
    pub(crate) calls: Vec<c_long>,
}

/// A traced program, which is killed on drop.
struct TracedProgram {
    child: Child,
    /// The threads inside a call, with the error that the call is to return.
    inside: HashMap<pid_t, Option<c_int>>,
    known: HashSet<pid_t>,
}

impl Drop for TracedProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `command`, which stops itself with SIGSTOP at the point from which calls are counted.
pub(crate) fn run(command: &mut Command, orders: TraceOrders) -> TraceOutcome {
    let begin = || {
        // SAFETY: a system call without pointers; the parent is this very thread.
        unsafe { ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        Ok(())
    };
    // SAFETY: `begin` makes one system call and nothing else.
    let child = unsafe { command.pre_exec(begin) }.spawn().unwrap();
    let main = pid_t::try_from(child.id()).unwrap();
    let mut traced = TracedProgram { child, inside: HashMap::new(), known: HashSet::from([main]) };
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACECLONE;
    assert_eq!(wait(main), (main, Ok(libc::SIGTRAP)));
    // SAFETY: `main` is stopped and traced by this thread.
    unsafe { ptrace(libc::PTRACE_SETOPTIONS, main, 0, c_long::from(options)) };
    resume(main, libc::PTRACE_CONT, 0);
    // ends: the program stops itself or dies
    loop {
        match wait(main) {
            (_, Ok(libc::SIGSTOP)) => break,
            (_, Ok(signal)) => resume(main, libc::PTRACE_CONT, signal),
            (_, Err(status)) => panic!("ended with {status:x} before it began"),
        }
    }
    resume(main, libc::PTRACE_SYSCALL, 0);
    traced.follow(main, orders)
}

impl TracedProgram {
    fn follow(&mut self, main: pid_t, orders: TraceOrders) -> TraceOutcome {
        const CALL: c_int = libc::SIGTRAP | 0x80;
        let mut calls = Vec::new();
        // ends: the program ends, by itself or killed
        loop {
            match wait(-1) {
                (pid, Err(status)) if pid == main => {
                    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
                    return TraceOutcome { code, calls };
                }
                (_, Err(_)) => {}
                (pid, Ok(CALL)) => {
                    self.call(pid, orders, &mut calls);
                    if orders.kill_at == Some(calls.len()) {
                        let _ = self.child.kill();
                    } else {
                        resume(pid, libc::PTRACE_SYSCALL, 0);
                    }
                }
                (pid, Ok(libc::SIGSTOP)) if self.known.insert(pid) => resume(pid, libc::PTRACE_SYSCALL, 0),
                (pid, Ok(libc::SIGTRAP)) => resume(pid, libc::PTRACE_SYSCALL, 0),
                (pid, Ok(signal)) => resume(pid, libc::PTRACE_SYSCALL, signal),
            }
        }
    }

    fn call(&mut self, pid: pid_t, orders: TraceOrders, calls: &mut Vec<c_long>) {
        let mut regs = registers(pid);
        if let Some(answer) = self.inside.remove(&pid) {
            if let Some(errno) = answer {
                regs.rax = i64::from(-errno).cast_unsigned();
                set_registers(pid, &regs);
            }
            return;
        }
        let number = regs.orig_rax.cast_signed();
        calls.push(number);
        let failing = orders
            .fail_at
            .filter(|(at, _)| *at == calls.len() && FALLIBLE.contains(&number))
            .map(|(_, errno)| errno);
        let lacking = number == libc::SYS_renameat2 && regs.r8 & orders.lacks != 0;
        let answer = failing.or(lacking.then_some(libc::EINVAL));
        if answer.is_some() {
            regs.orig_rax = u64::MAX;
            set_registers(pid, &regs);
        }
        self.inside.insert(pid, answer);
    }
}

/// Returns the next stop of a traced thread with its signal, or its end with its status.
fn wait(pid: pid_t) -> (pid_t, Result<c_int, c_int>) {
    let mut status = 0;
    // SAFETY: the pointer is to a local.
    let pid = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
    assert!(pid > 0, "waitpid: {}", std::io::Error::last_os_error());
    (pid, if libc::WIFSTOPPED(status) { Ok(libc::WSTOPSIG(status)) } else { Err(status) })
}

fn resume(pid: pid_t, how: libc::c_uint, signal: c_int) {
    // SAFETY: no pointers. It fails only if the thread was killed meanwhile, which `wait` reports.
    unsafe { ptrace(how, pid, 0, c_long::from(signal)) };
}

fn registers(pid: pid_t) -> user_regs_struct {
    // SAFETY: all bit patterns are valid numbers.
    let mut regs: user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local of the right type.
    unsafe { ptrace(libc::PTRACE_GETREGS, pid, 0, (&raw mut regs) as c_long) };
    regs
}

fn set_registers(pid: pid_t, regs: &user_regs_struct) {
    // SAFETY: the pointer is to a value of the right type.
    unsafe { ptrace(libc::PTRACE_SETREGS, pid, 0, std::ptr::from_ref(regs) as c_long) };
}

unsafe fn ptrace(request: libc::c_uint, pid: pid_t, address: c_long, value: c_long) -> c_long {
    // SAFETY: the caller vouches for what `value` points to.
    unsafe { libc::ptrace(request, pid, address, value) }
}
