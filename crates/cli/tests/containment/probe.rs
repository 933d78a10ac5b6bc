//! Probe program that asks the kernel for one operation.
//!
//! It prints `LET` and exits with 0 if the kernel allows it. Otherwise it prints `refused` with the error and exits
//! with 1. All raw system calls of these tests are in this file.
#![expect(unsafe_code, reason = "attacks are system calls that no library makes")]
#![expect(clippy::cast_possible_truncation, reason = "arguments are what the kernel makes of them")]

mod files;
mod kernel;
mod memory;
mod mounts;
mod processes;
mod sockets;
mod uring;
mod victim;

use std::ffi::CString;

/// The error number of a failed system call.
pub(crate) type ProbeErrno = i32;
pub(crate) type ProbeResult = Result<(), ProbeErrno>;

/// The function of a probe.
type ProbeFn = fn(&Args<'_>) -> ProbeResult;

pub(crate) struct Args<'a>(&'a [String]);

impl Args<'_> {
    /// Returns the argument at `at`, or ends the program.
    fn text(&self, at: usize) -> &str {
        self.0.get(at).map_or_else(|| usage("an argument is missing"), String::as_str)
    }

    fn path(&self, at: usize) -> CString {
        CString::new(self.text(at)).unwrap()
    }

    fn number(&self, at: usize) -> usize {
        let text = self.text(at);
        let number =
            text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| usize::from_str_radix(hex, 16));
        number.unwrap_or_else(|_| usage(&format!("`{text}` is not a number")))
    }
}

fn usage(why: &str) -> ! {
    println!("usage: {why}");
    std::process::exit(2)
}

pub(crate) fn main(args: &[String]) -> ! {
    let Some((name, rest)) = args.split_first() else { usage("which probe?") };
    let tables =
        [files::PROBES, kernel::PROBES, mounts::PROBES, processes::PROBES, sockets::PROBES, uring::PROBES];
    let tables = tables.into_iter().chain([memory::PROBES, victim::PROBES]);
    let Some((_, probe)) = tables.flatten().find(|(known, _)| known == name) else { usage("no such probe") };
    match probe(&Args(rest)) {
        Ok(()) => {
            println!("LET");
            std::process::exit(0)
        }
        Err(errno) => {
            println!("refused {}", name_of(errno));
            std::process::exit(1)
        }
    }
}

fn name_of(errno: ProbeErrno) -> String {
    let name = match errno {
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::ENOSYS => "ENOSYS",
        libc::EROFS => "EROFS",
        libc::ENOENT => "ENOENT",
        libc::EXDEV => "EXDEV",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        _ => return std::io::Error::from_raw_os_error(errno).to_string(),
    };
    name.to_owned()
}

/// Makes a system call. Pointers are passed as numbers.
pub(crate) fn raw_syscall(number: i64, args: &[usize]) -> Result<usize, ProbeErrno> {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    // SAFETY: every caller passes addresses of values that live until the call returns, and lengths that are theirs;
    // this process has one thread and ends right after. A call that is refused reads nothing.
    let done = unsafe { libc::syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]) };
    if done == -1 {
        Err(std::io::Error::last_os_error().raw_os_error().unwrap())
    } else {
        Ok(done.cast_unsigned() as usize)
    }
}

/// Makes a system call whose result value does not matter.
pub(crate) fn attempt(number: i64, args: &[usize]) -> ProbeResult {
    raw_syscall(number, args).map(drop)
}

/// Returns the address of `value`, for [`raw_syscall`].
pub(crate) fn address_of<T: ?Sized>(value: &T) -> usize {
    std::ptr::from_ref(value).cast::<()>() as usize
}

/// Returns the address of `value`, for calls that write to it.
pub(crate) fn address_of_mut<T: ?Sized>(value: &mut T) -> usize {
    std::ptr::from_mut(value).cast::<()>() as usize
}

/// The current directory, for calls that want a descriptor.
pub(crate) const CWD: usize = libc::AT_FDCWD as usize;

/// Reads the word at `address`, which [`raw_syscall`] has mapped.
pub(crate) fn peek(address: usize) -> u32 {
    // SAFETY: the caller got the address from a mapping of the kernel's that is still there, and it is aligned.
    unsafe { std::ptr::with_exposed_provenance::<u32>(address).read_volatile() }
}

/// Sets the word at `address`, which [`raw_syscall`] has mapped.
pub(crate) fn poke(address: usize, value: u32) {
    // SAFETY: as for `peek`; nothing else in this process has a reference to it.
    unsafe { std::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) }
    // The kernel reads it in a following system call.
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Makes a system call through the 32-bit gate.
#[cfg(target_arch = "x86_64")]
pub(crate) fn int80(number: u32, args: [u32; 3]) -> Result<usize, ProbeErrno> {
    let done: i64;
    // SAFETY: the gate clobbers what is named here; the arguments are numbers, or addresses below 4 GiB.
    unsafe {
        std::arch::asm!(
            "xchg {first}, rbx",
            "int 0x80",
            "xchg {first}, rbx",
            first = inout(reg) u64::from(args[0]) => _,
            inlateout("rax") i64::from(number) => done,
            in("rcx") u64::from(args[1]),
            in("rdx") u64::from(args[2]),
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
        );
    }
    // The gate's result has 32 bits.
    let done = done as i32;
    if done < 0 { Err(-done) } else { Ok(done.cast_unsigned() as usize) }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn int80(_number: u32, _args: [u32; 3]) -> Result<usize, ProbeErrno> {
    Err(libc::ENOSYS)
}
