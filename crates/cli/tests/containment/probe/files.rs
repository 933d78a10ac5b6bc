//! Probes that open, create, change and move files in ways that a shell cannot.

use std::ffi::CString;

use super::{Args, CWD, ProbeFn, ProbeResult, address_of, address_of_mut, attempt, raw_syscall};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[
    ("openr", |args| open(args, libc::O_RDONLY)),
    ("openw", |args| open(args, libc::O_WRONLY)),
    ("openrw", |args| open(args, libc::O_RDWR)),
    ("create", |args| open(args, libc::O_WRONLY | libc::O_CREAT)),
    ("rewrite", rewrite),
    ("exchange", |args| rename(args, libc::RENAME_EXCHANGE)),
    ("rename", |args| rename(args, 0)),
    ("whiteout", |args| rename(args, libc::RENAME_WHITEOUT)),
    ("tmpfile-link", tmpfile_link),
    ("link-fd", link_fd),
    ("chmod", |args| {
        attempt(libc::SYS_fchmodat, &[CWD, address_of(args.path(0).as_c_str()), args.number(1)])
    }),
    ("fchmodat2", |args| {
        attempt(libc::SYS_fchmodat2, &[CWD, address_of(args.path(0).as_c_str()), args.number(1), 0])
    }),
    ("fchmod", |args| attempt(libc::SYS_fchmod, &[args.number(0), args.number(1)])),
    ("fchmod-path", fchmod_path),
    ("fchown", |args| attempt(libc::SYS_fchown, &[args.number(0), NOBODY_ELSE, NOBODY_ELSE])),
    ("chown", chown),
    ("utime", |args| attempt(libc::SYS_utimensat, &[CWD, address_of(args.path(0).as_c_str()), 0, 0])),
    ("futime", |args| attempt(libc::SYS_utimensat, &[args.number(0), 0, 0, 0])),
    ("setxattr", |args| xattr(&args.path(0), c"user.tgc")),
    ("setcap", |args| xattr(&args.path(0), c"security.capability")),
    ("setxattrat", setxattrat),
    ("fsetxattr", fsetxattr),
    ("setflags", setflags),
    ("truncate", |args| attempt(libc::SYS_truncate, &[address_of(args.path(0).as_c_str()), 0])),
    ("fallocate", fallocate),
    ("mknod", |args| mknod(args, libc::S_IFCHR)),
    ("mknod-block", |args| mknod(args, libc::S_IFBLK)),
    ("mode-create", mode_create),
    ("mode-mkdir", |args| {
        attempt(libc::SYS_mkdirat, &[CWD, address_of(args.path(0).as_c_str()), args.number(1)])
    }),
    ("mode-mknod", mode_mknod),
    ("openat", openat),
    ("openat-dots", openat_dots),
    ("handle", handle),
    ("ioctl", |args| attempt(libc::SYS_ioctl, &[args.number(0), args.number(1), 0])),
    ("inherited-socket", inherited_socket),
    ("send-file", send_file),
];

/// Keeps the owner: even that is a change of the inode.
const NOBODY_ELSE: usize = u32::MAX as usize;

pub(super) fn descriptor(path: &CString, flags: i32) -> Result<usize, i32> {
    raw_syscall(
        libc::SYS_openat,
        &[CWD, address_of(path.as_c_str()), flags as usize | libc::O_CLOEXEC as usize, 0o600],
    )
}

fn open(args: &Args<'_>, flags: i32) -> ProbeResult {
    descriptor(&args.path(0), flags).map(drop)
}

/// Writes a file's content back to it: nothing changes, but it is a write.
fn rewrite(args: &Args<'_>) -> ProbeResult {
    let text = std::fs::read(args.text(0)).map_err(|error| error.raw_os_error().unwrap_or(0))?;
    let file = descriptor(&args.path(0), libc::O_WRONLY)?;
    attempt(libc::SYS_write, &[file, address_of(text.as_slice()), text.len()])
}

fn rename(args: &Args<'_>, flags: u32) -> ProbeResult {
    let (from, to) = (args.path(0), args.path(1));
    attempt(
        libc::SYS_renameat2,
        &[CWD, address_of(from.as_c_str()), CWD, address_of(to.as_c_str()), flags as usize],
    )
}

fn link_to(file: usize, to: &CString) -> ProbeResult {
    let from = CString::new(format!("/proc/self/fd/{file}")).unwrap();
    let follow = libc::AT_SYMLINK_FOLLOW as usize;
    attempt(libc::SYS_linkat, &[CWD, address_of(from.as_c_str()), CWD, address_of(to.as_c_str()), follow])
}

fn tmpfile_link(args: &Args<'_>) -> ProbeResult {
    link_to(descriptor(&args.path(0), libc::O_TMPFILE | libc::O_WRONLY)?, &args.path(1))
}

fn link_fd(args: &Args<'_>) -> ProbeResult {
    link_to(descriptor(&args.path(0), libc::O_RDONLY)?, &args.path(1))
}

fn fchmod_path(args: &Args<'_>) -> ProbeResult {
    let file = descriptor(&args.path(0), libc::O_RDONLY)?;
    attempt(libc::SYS_fchmod, &[file, args.number(1)])
}

fn chown(args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_fchownat, &[CWD, address_of(args.path(0).as_c_str()), NOBODY_ELSE, NOBODY_ELSE, 0])?;
    // The kernel may skip a change to -1, but not one to the owner's own ids.
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    attempt(libc::SYS_fchownat, &[CWD, address_of(args.path(0).as_c_str()), uid as usize, gid as usize, 0])
}

/// A well-formed value for `security.capability`: version 2, nothing permitted.
const VALUE: [u8; 20] = [0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn xattr(path: &CString, name: &std::ffi::CStr) -> ProbeResult {
    attempt(
        libc::SYS_setxattr,
        &[address_of(path.as_c_str()), address_of(name), address_of(&VALUE), VALUE.len(), 0],
    )
}

fn setxattrat(args: &Args<'_>) -> ProbeResult {
    const SETXATTRAT: i64 = 463;
    let value = [address_of(&VALUE), VALUE.len()];
    attempt(
        SETXATTRAT,
        &[CWD, address_of(args.path(0).as_c_str()), 0, address_of(c"user.tgc"), address_of(&value), 16],
    )
}

fn fsetxattr(args: &Args<'_>) -> ProbeResult {
    attempt(
        libc::SYS_fsetxattr,
        &[args.number(0), address_of(c"user.tgc"), address_of(&VALUE), VALUE.len(), 0],
    )
}

/// Toggles the no-dump attribute, which needs only a readable descriptor.
fn setflags(args: &Args<'_>) -> ProbeResult {
    const GET: usize = 0x8008_6601;
    const SET: usize = 0x4008_6602;
    const NO_DUMP: u64 = 0x40;
    let file = descriptor(&args.path(0), libc::O_RDONLY)?;
    let mut flags = 0u64;
    raw_syscall(libc::SYS_ioctl, &[file, GET, address_of_mut(&mut flags)])?;
    flags ^= NO_DUMP;
    attempt(libc::SYS_ioctl, &[file, SET, address_of(&flags)])
}

fn fallocate(args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_fallocate, &[args.number(0), 0, 0, 4096])
}

fn mknod(args: &Args<'_>, kind: u32) -> ProbeResult {
    let path = args.path(0);
    let device = libc::makedev(args.number(1) as u32, args.number(2) as u32);
    attempt(
        libc::SYS_mknodat,
        &[CWD, address_of(path.as_c_str()), (kind | 0o666) as usize, device as usize],
    )?;
    descriptor(&path, libc::O_RDONLY).map(drop)
}

fn mode_create(args: &Args<'_>) -> ProbeResult {
    let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
    attempt(libc::SYS_openat, &[CWD, address_of(args.path(0).as_c_str()), flags, args.number(1)])
}

fn mode_mknod(args: &Args<'_>) -> ProbeResult {
    let mode = libc::S_IFREG as usize | args.number(1);
    attempt(libc::SYS_mknodat, &[CWD, address_of(args.path(0).as_c_str()), mode, 0])
}

/// Creates a file below an inherited directory.
fn openat(args: &Args<'_>) -> ProbeResult {
    let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
    attempt(libc::SYS_openat, &[args.number(0), address_of(args.path(1).as_c_str()), flags, 0o644])
}

/// Creates a file relative to an inherited directory that becomes the current one.
fn openat_dots(args: &Args<'_>) -> ProbeResult {
    raw_syscall(libc::SYS_fchdir, &[args.number(0)])?;
    let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
    attempt(libc::SYS_openat, &[CWD, address_of(args.path(1).as_c_str()), flags, 0o644])
}

/// Opens a file for writing by its handle, which resolves no path.
fn handle(args: &Args<'_>) -> ProbeResult {
    let mut handle = [0u32; 34];
    handle[0] = 128;
    let mut mount = 0i32;
    let path = args.path(0);
    raw_syscall(
        libc::SYS_name_to_handle_at,
        &[CWD, address_of(path.as_c_str()), address_of_mut(&mut handle), address_of_mut(&mut mount), 0],
    )?;
    let above = descriptor(&c"/".into(), libc::O_RDONLY)?;
    attempt(libc::SYS_open_by_handle_at, &[above, address_of(&handle), libc::O_WRONLY as usize])
}

fn inherited_socket(args: &Args<'_>) -> ProbeResult {
    let text = b"x";
    attempt(libc::SYS_sendto, &[args.number(0), address_of(text), 1, libc::MSG_NOSIGNAL as usize, 0, 0])
}

/// Writes to an inherited descriptor with a call other than `write`.
fn send_file(args: &Args<'_>) -> ProbeResult {
    let from = descriptor(&args.path(1), libc::O_RDONLY)?;
    attempt(libc::SYS_sendfile, &[args.number(0), from, 0, 1])
}
