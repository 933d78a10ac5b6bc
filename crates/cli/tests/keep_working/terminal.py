# Runs a program at a terminal of 33 rows and 101 columns: waits for words, and types answers.
# terminal.py N WAIT SEND … PROGRAM ARG…
import fcntl, os, pty, select, struct, sys, termios, time

count = int(sys.argv[1])
talk = [(sys.argv[2 + 2 * i].encode(), sys.argv[3 + 2 * i].encode().decode("unicode_escape").encode()) for i in range(count)]
command = sys.argv[2 + 2 * count:]
child, master = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    os.execvp(command[0], command)
seen, unread, until = b"", b"", time.monotonic() + 50
while time.monotonic() < until:
    while talk and talk[0][0] in unread:
        wait, send = talk.pop(0)
        unread = unread.split(wait, 1)[1]
        os.write(master, send)
    if not select.select([master], [], [], 1)[0]:
        continue
    try:
        new = os.read(master, 65536)
    except OSError:  # no process has the terminal open any more
        break
    if not new:
        break
    seen, unread = seen + new, unread + new
else:
    seen += b"\n(nothing more came)\n"
sys.stdout.write(seen.decode(errors="replace").replace("\r\n", "\n"))
sys.stdout.flush()
if talk:
    sys.exit(f"never saw {talk[0][0]!r}")
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
