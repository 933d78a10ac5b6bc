# Reads one operation per line, does it, says what came of it.
import ctypes, json, os, socket, sys

libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[1] == "twin":
    # As a confined program: no capabilities, under every user.
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capset(header, nothing) == 0
os.umask(0o022)
home = os.open(".", os.O_PATH)
depth = os.getcwd().strip("/").count("/") + 1
opened = []


def libcall(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def spell(path, via):
    """The path as it is to be spelled, and the directory that it starts from."""
    above, name = os.path.split(path)
    up = "/".join([".."] * depth) + path
    if via == "relative":
        return up, None
    if via == "proc-cwd":
        return "/proc/self/cwd/" + up, None
    if via == "proc-root":
        return "/proc/self/root" + path, None
    if via == "chdir":
        os.chdir(above)
        return name, None
    if via in ("fd", "proc-fd"):
        fd = os.open(above, os.O_PATH | os.O_DIRECTORY)
        opened.append(fd)
        return (name, fd) if via == "fd" else ("/proc/self/fd/%d/%s" % (fd, name), None)
    return path, None


def put(path, fd, flags, text):
    file = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644, dir_fd=fd)
    opened.append(file)
    os.write(file, text.encode())


def do(op):
    kind, text, mode = op["op"], op["text"], op["mode"]
    path, fd = spell(op["path"], op["via"])
    plain = path if fd is None else "/proc/self/fd/%d/%s" % (fd, path)
    if kind == "read":
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=fd)
        opened.append(file)
        return os.read(file, 4096).decode()
    if kind == "list":
        return sorted(os.listdir(plain))
    if kind == "stat":
        stat = os.stat(path, dir_fd=fd)
        is_file = stat.st_mode & 0o170000 == 0o100000
        return [stat.st_mode, stat.st_nlink if is_file else 0, stat.st_size if is_file else 0]
    if kind == "readlink":
        return os.readlink(path, dir_fd=fd)
    if kind == "create":
        return put(path, fd, os.O_RDWR | os.O_CREAT | os.O_EXCL, text)
    if kind == "write":
        return put(path, fd, os.O_RDWR | os.O_CREAT | os.O_TRUNC, text)
    if kind == "append":
        return put(path, fd, os.O_RDWR | os.O_APPEND, text)
    if kind == "truncate":
        return os.truncate(plain, 3)
    if kind == "unlink":
        return os.unlink(path, dir_fd=fd)
    if kind == "rmdir":
        return os.rmdir(path, dir_fd=fd)
    if kind == "mkdir":
        return os.mkdir(path, 0o755, dir_fd=fd)
    if kind == "mkfifo":
        return os.mkfifo(path, 0o644, dir_fd=fd)
    if kind == "symlink":
        return os.symlink(text, path, dir_fd=fd)
    if kind == "chmod":
        return os.chmod(path, mode, dir_fd=fd)
    if kind == "utime":
        return os.utime(path, (1000000000 + mode, 1000000000 + mode), dir_fd=fd)
    if kind == "setxattr":
        return os.setxattr(plain, "user.fuzz", text.encode())
    if kind == "removexattr":
        return os.removexattr(plain, "user.fuzz")
    if kind == "tmpfile":
        above, name = os.path.split(plain)
        file = os.open(above or ".", os.O_TMPFILE | os.O_RDWR, 0o644)
        opened.append(file)
        os.write(file, text.encode())
        return libcall("linkat", -100, b"/proc/self/fd/%d" % file, -100, plain.encode(), 0x400)
    if kind == "connect":
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(5)
            return one.connect(path)
    return do_two(kind, path, plain, fd, op)


def do_two(kind, path, plain, fd, op):
    if op["via"] == "chdir":
        to, to_fd = op["to"], None
    else:
        to, to_fd = spell(op["to"], op["via"])
    if kind == "rename":
        return os.rename(path, to, src_dir_fd=fd, dst_dir_fd=to_fd)
    if kind == "exchange":
        at, to_at = (-100 if fd is None else fd), (-100 if to_fd is None else to_fd)
        return libcall("renameat2", at, path.encode(), to_at, to.encode(), 2)
    if kind == "link":
        return os.link(path, to, src_dir_fd=fd, dst_dir_fd=to_fd, follow_symlinks=False)
    raise ValueError(kind)


print("ready", flush=True)
for line in sys.stdin:
    try:
        answer = {"ok": True, "data": do(json.loads(line))}
    except OSError as error:
        answer = {"ok": False, "errno": error.errno, "data": error.strerror}
    except UnicodeDecodeError as error:
        answer = {"ok": True, "data": "not text"}
    for fd in opened:
        os.close(fd)
    opened.clear()
    os.fchdir(home)
    print(json.dumps(answer), flush=True)
