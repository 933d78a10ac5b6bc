"""Whole programs with the synchronous API: Ctrl-C, the end of the program, and a server that does not outlive it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import World, call, message

# Without the report of slow callbacks in the development mode of Python: the machine may be busy.
BEGIN = """
import logging, os, signal, sys, threading, time
logging.getLogger("asyncio").addFilter(lambda record: not record.getMessage().startswith("Executing"))
from toolgate import ConnectionLost, ToolgateError, tool
from toolgate.sync import Client

binary, script = sys.argv[1:]

def spawn():
    return Client.spawn("sh", ["-c", f"echo $$ > pid; exec {binary} serve"])

@tool
def block() -> str:
    "Blocks for ever."
    print("blocked", flush=True)
    threading.Event().wait()
    return ""

@tool
async def wait() -> str:
    "Waits for ever."
    import asyncio
    print("waits", flush=True)
    await asyncio.Event().wait()
    return ""
"""


class Program:
    """A running client program, its output, and the server that it started."""

    def __init__(self, process: subprocess.Popen[bytes], work: Path) -> None:
        self.process = process
        self._work = work

    def expect(self, line: str) -> None:
        """Reads the next line of output."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline().decode().strip() == line

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        """Waits for the end. Returns the exit status, the rest of the output, and the error output."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out.decode().strip(), err.decode()

    def server_has_ended(self) -> bool:
        """Waits until the server has ended, which nobody can report once the program has."""
        pid = int((self._work / "pid").read_text())
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return True
            if state == "Z":  # its parent, the first process of a container, may not collect it
                return True
            time.sleep(0.01)
        return False


@contextmanager
def running(world: World, program: str, *turns: list[dict[str, object]], options: tuple[str, ...] = ()) -> Iterator[Program]:
    """Runs a program with warnings as errors."""
    code = BEGIN + textwrap.dedent(program)
    script = world.script(*turns)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", *options, "-c", code, world.binary, script],
        env={**os.environ, **world.env},
        cwd=world.work,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    ) as process:
        try:
            yield Program(process, world.work)
        finally:
            process.kill()


def test_ctrl_c_stops_the_turn_and_the_client_goes_on(world: World) -> None:
    program = """
    with spawn() as client:
        session = client.start_session(model={"script": script}, tools=[wait])
        try:
            session.prompt("go")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(session.prompt("next").text)
        session.close()
        print([event["ended"] for event in session.events() if event.kind == "turn"])
    """
    with running(world, program, [call("wait")], [message("Next.")]) as run:
        run.expect("waits")
        run.interrupt()
        run.expect("interrupted")
        assert run.end() == (0, "Next.\n['interrupted', 'done']", "")
        assert run.server_has_ended()


@pytest.mark.parametrize("work", ["call", "plain_tool", "prompt", "stream", "process"])
def test_ctrl_c_ends_the_program_at_once_with_a_traceback(world: World, work: str) -> None:
    program = f"""
    def call(session):
        session.call("wait")

    def plain_tool(session):
        session.call("block")

    def prompt(session):
        session.prompt("go")

    def stream(session):
        with session.stream("go") as turn:
            for _ in turn:
                pass

    def process(session):
        for piece in session.start_process("echo waits; cat", stdin=True):
            print(piece.text, end="", flush=True)

    with spawn() as client:
        session = client.start_session(
            sandbox="workspace-write", approval="never", model={{"script": script}}, tools=[wait, block]
        )
        {work}(session)
    """
    with running(world, program, [call("wait")]) as run:
        run.expect("blocked" if work == "plain_tool" else "waits")
        began = time.monotonic()
        run.interrupt()
        status, out, err = run.end()
        assert (status, out) == (-signal.SIGINT, "") and err.rstrip().endswith("KeyboardInterrupt")
        assert "Exception ignored" not in err and "never" not in err and "Task" not in err
        assert time.monotonic() - began < 5 and run.server_has_ended()


def test_another_exception_of_a_signal_handler_cancels_the_call(world: World) -> None:
    program = """
    class Late(Exception): ...

    def late(*_):
        raise Late

    signal.signal(signal.SIGINT, late)
    with spawn() as client:
        session = client.start_session(sandbox="workspace-write", approval="never")
        try:
            for piece in session.start_process("echo ready; sleep 60"):
                print(piece.text, end="", flush=True)
        except Late:
            print("late", session.call("exec_command", {"cmd": "true"}).success)
    """
    with running(world, program) as run:
        run.expect("ready")
        run.interrupt()
        assert run.end() == (0, "late True", "")


TERMINAL = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C in the terminal reaches this process

with spawn() as client:
    session = client.start_session(
        sandbox="workspace-write", approval="untrusted", on_approval=lambda _: input("approve? ") == "yes"
    )
    try:
        session.call("exec_command", {"cmd": "echo > no.txt"})
    except KeyboardInterrupt:
        print("interrupted")
    print("typed", input("next? "))
    session.call("exec_command", {"cmd": "echo > yes.txt"})
"""


def test_ctrl_c_at_a_question_in_the_terminal_leaves_the_next_line_to_the_program(world: World) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", BEGIN + TERMINAL, world.binary, ""],
        env={**os.environ, **world.env},
        cwd=world.work,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        screen = Screen(ours)
        try:
            screen.until("approve? ")
            # Again if need be: between the text of `input` and its read, Python takes note of a signal and reads on.
            while not screen.shows("interrupted", within=1):
                os.write(ours, b"\x03")
            screen.until("next? ")
            os.write(ours, b"mine\n")
            screen.until("typed mine")
            screen.until("approve? ")
            os.write(ours, b"yes\n")
            screen.to_the_end()
            assert process.wait(20) == 0, screen.text
        finally:
            process.kill()
            os.close(ours)
    assert "Traceback" not in screen.text
    assert (world.work / "yes.txt").exists() and not (world.work / "no.txt").exists()


class Screen:
    """Output of a program in a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = ""
        self.text = ""

    def until(self, text: str) -> None:
        """Reads until a text appears."""
        assert self.shows(text, within=30), f"no {text!r} in {self.text!r}"

    def shows(self, text: str, within: float) -> bool:
        """Reads until a text appears. Returns False if it does not appear in time."""
        deadline = time.monotonic() + within
        while text not in self._unread:
            ready, _, _ = select.select([self._descriptor], [], [], max(0, deadline - time.monotonic()))
            if not ready or not self._read():
                return False
        self._unread = self._unread.split(text, 1)[1]
        return True

    def to_the_end(self) -> None:
        while self._read():
            pass

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, 4096).decode()
        except OSError:  # no program has the terminal any more
            return False
        self._unread += data
        self.text += data
        return bool(data)


def test_a_client_that_is_not_closed_ends_with_the_program(world: World) -> None:
    program = """
    client = spawn()
    client.open()
    session = client.start_session(model={"script": script}, tools=[block])
    threading.excepthook = lambda args: None
    events = session.events()
    print(next(events).kind, flush=True)
    threading.Thread(target=session.call, args=["block"], daemon=True).start()
    input()
    """
    with running(world, program, options=("-W", "ignore::ResourceWarning")) as run:
        run.expect("session")
        run.expect("blocked")
        began = time.monotonic()
        status, _, err = run.end()  # closes its input, so `input` raises EOFError
        assert status == 1 and "EOFError" in err and time.monotonic() - began < 5
        assert run.server_has_ended()


def test_a_program_that_is_killed_takes_its_server_along(world: World) -> None:
    program = """
    with spawn() as client:
        client.start_session(tools=[wait]).call("wait")
    """
    with running(world, program) as run:
        run.expect("waits")
        run.process.kill()
        run.process.wait(20)
        assert run.server_has_ended()


def test_a_fork_gets_an_error_and_does_not_close_the_client(world: World) -> None:
    program = """
    with spawn() as client:
        session = client.start_session()
        if (child := os.fork()) == 0:
            try:
                session.list_tools()
            except ToolgateError as error:
                print(error, flush=True)
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        print(len(session.list_tools()) > 5)
    """
    with running(world, program, options=("-W", "ignore::DeprecationWarning", "-W", "ignore::ResourceWarning")) as run:
        run.expect("this process is a fork of the one that opened the client; open another client in this process")
        status, out, err = run.end()
        assert (status, out) == (0, "True") and "Traceback" not in err


@pytest.mark.parametrize("is_closed", [True, False])
def test_an_async_tool_that_blocks_the_event_loop_does_not_hang_the_end(world: World, is_closed: bool) -> None:
    program = f"""
    from toolgate import _loop_thread, sync
    _loop_thread.CANCEL_SECONDS = _loop_thread.STOP_SECONDS = sync.CLOSE_SECONDS = 0.5

    @tool
    async def stuck() -> str:
        "Blocks the event loop, which is a mistake."
        print("stuck", flush=True)
        threading.Event().wait()

    client = spawn()
    client.open()
    session = client.start_session(tools=[stuck])
    try:
        session.call("stuck")
    except KeyboardInterrupt:
        print("interrupted")
    if {is_closed}:
        client.close()
    """
    with running(world, program, options=("-W", "ignore::ResourceWarning")) as run:
        run.expect("stuck")
        began = time.monotonic()
        run.interrupt()
        status, out, err = run.end()
        assert (status, out) == (0, "interrupted") and time.monotonic() - began < 5
        assert ("blocks its event loop" in err) is is_closed
        assert run.server_has_ended()
