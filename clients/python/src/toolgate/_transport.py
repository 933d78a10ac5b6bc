"""Transports to a server: a child process, a Unix socket, a WebSocket. Each carries one message at a time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ._find_program import find_program
from .errors import CannotConnect

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.http11 import Response

# Longest message in bytes: a journal line has at most 16 MiB, plus its JSON-RPC envelope.
LONGEST = 32 << 20
# Seconds a child server may take to exit after its standard input is closed.
LEAVE = 5.0
# Seconds to wait for the exit status of a child server that closed its output.
STATUS = 1.0
# Resource shortages: a later attempt may succeed.
SHORT_OF = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class Transport(Protocol):
    """Carries messages in both directions."""

    async def send(self, message: bytes) -> None:
        """Sends a message, which must not contain a newline."""

    async def receive(self) -> bytes | None:
        """Waits for the next message. Returns None at the end."""

    async def why(self) -> str:
        """Returns why the connection ended, after `receive` returned None."""

    def unanswered(self, why: str) -> CannotConnect:
        """Returns the error for a connection that ended before the first response."""

    async def close(self) -> None:
        """Closes the transport."""


Opener = Callable[[], Awaitable[Transport]]


class Lines:
    """Transport with one message per line."""

    def __init__(self, place: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.place = place
        self._reader = reader
        self._writer = writer
        self._draining = asyncio.Lock()  # Python 3.10 allows only one task in `drain`

    async def send(self, message: bytes) -> None:
        self._writer.write(message + b"\n")
        async with self._draining:
            await self._writer.drain()

    async def receive(self) -> bytes | None:
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):  # ValueError: a line longer than LONGEST, after which nothing can be read
            return None
        return line if line.endswith(b"\n") else None

    async def why(self) -> str:
        return f"the server at {self.place} closed the connection"

    def unanswered(self, why: str) -> CannotConnect:
        # The server may be shutting down. It also closes the connection without a message if it rejects the client.
        hint = "it accepts only the user who started it, and no program that a tool has started"
        return CannotConnect(f"{why} before it answered; {hint}", is_passing=True)

    async def close(self) -> None:
        """Closes the transport, and discards output that the server does not read."""
        self._writer.close()
        closing = asyncio.ensure_future(self._writer.wait_closed())
        await asyncio.wait([closing], timeout=LEAVE)
        if not closing.done():
            self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await closing


class Child(Lines):
    """Transport over the standard input and output of a child server, which inherits standard error."""

    def __init__(
        self, command: str, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, output: asyncio.ReadTransport
    ) -> None:
        assert process.stdin is not None, "it is a pipe"
        super().__init__(command, reader, process.stdin)
        self._process = process
        self._output = output

    async def why(self) -> str:
        """Returns the exit status or signal of the server as a sentence."""
        try:
            status = await asyncio.wait_for(self._process.wait(), STATUS)
        except asyncio.TimeoutError:
            return f"`{self.place}` closed its output"
        if status >= 0:
            return f"`{self.place}` ended with exit status {status}"
        return f"`{self.place}` was ended by {_signal(-status)}"

    def unanswered(self, why: str) -> CannotConnect:
        # Not retried: it would fail again. Its error output has gone to our own standard error.
        return CannotConnect(f"{why} before it answered; see its messages on standard error, if any")

    async def close(self) -> None:
        """Closes the server's input and output, which ends it, and kills a server that does not exit."""
        # Closes the output too: otherwise the server would first answer pending requests.
        self._output.close()
        try:
            await super().close()
            await asyncio.wait_for(self._process.wait(), LEAVE)
        except asyncio.TimeoutError:
            self._kill()
            await self._process.wait()
        except asyncio.CancelledError:
            self._kill()
            raise

    def _kill(self) -> None:
        # Kills the process group: a descendant of a wrapper script could keep the output open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class WebSocket:
    """Transport with one message per WebSocket message."""

    def __init__(self, url: str, socket: ClientConnection) -> None:
        self._url = url
        self._socket = socket

    async def send(self, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(message.decode())
        except ConnectionClosed as closed:
            raise ConnectionResetError(str(closed)) from closed

    async def receive(self) -> bytes | None:
        from websockets.exceptions import ConnectionClosed

        try:
            message = await self._socket.recv()
        except ConnectionClosed:
            return None
        return message.encode() if isinstance(message, str) else message

    async def why(self) -> str:
        reason = self._socket.close_reason
        return f"the server at {self._url} closed the connection{f': {reason}' if reason else ''}"

    def unanswered(self, why: str) -> CannotConnect:
        return CannotConnect(f"{why} before it answered", is_passing=True)

    async def close(self) -> None:
        await self._socket.close()


def spawning(
    command: str | os.PathLike[str] | None,
    args: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
) -> Opener:
    """Returns an opener that starts a server. `env` is merged over this program's environment."""

    async def start(program: str, whole_env: Mapping[str, str], stdout: int) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        try:
            # A separate session: Ctrl-C in our terminal must not reach the server.
            return await asyncio.create_subprocess_exec(
                program, *args, stdin=pipe, stdout=stdout, env=whole_env, cwd=cwd, start_new_session=True
            )
        except OSError as error:
            raise _not_started(program, error) from error

    async def open() -> Transport:
        whole_env = {**os.environ, **(env or {})}
        program = find_program(whole_env) if command is None else os.fspath(command)
        # A pipe of our own: asyncio's pipe cannot be closed while the child runs.
        read, write = os.pipe()
        file = os.fdopen(read, "rb", 0)
        try:
            process = await start(program, whole_env, write)
        except BaseException:
            file.close()
            raise
        finally:
            os.close(write)
        reader = asyncio.StreamReader(limit=LONGEST)
        output, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        return Child(shlex.join([program, *args]), process, reader, output)

    return open


def _not_started(program: str, error: OSError) -> CannotConnect:
    why = f"`{program}` cannot be started: {error.strerror or error}"
    if error.filename is not None and os.fspath(error.filename) != program:
        why += f": {os.fspath(error.filename)}"  # the working directory of the server
    elif isinstance(error, FileNotFoundError):
        why += "; `Client.spawn()` without a command finds an installed Toolgate"
    return CannotConnect(why, is_passing=error.errno in SHORT_OF)


def unix(path: str | os.PathLike[str]) -> Opener:
    """Returns an opener that connects to a Unix socket."""
    place = os.fspath(path)

    async def open() -> Transport:
        try:
            return Lines(place, *await asyncio.open_unix_connection(place, limit=LONGEST))
        except OSError as error:
            raise _not_at_socket(place, error) from error

    return open


def _not_at_socket(place: str, error: OSError) -> CannotConnect:
    start = f"`toolgate serve --socket {shlex.quote(place)}` starts a server there"
    if isinstance(error, FileNotFoundError):
        return CannotConnect(f"there is no socket {place}; {start}", is_passing=True)
    if isinstance(error, ConnectionRefusedError):
        return CannotConnect(f"no server listens at {place}; {start}", is_passing=True)
    if isinstance(error, PermissionError):
        return CannotConnect(f"permission denied for the socket {place}; only the user who started its server can connect")
    # An error without a number is raised by Python itself: the path is too long for a socket. A retry cannot help.
    return CannotConnect(f"cannot connect to the socket {place}: {error.strerror or error}", is_passing=bool(error.errno))


def websocket(url: str, token: str) -> Opener:
    """Returns an opener that connects to a WebSocket with the server's token."""

    async def open() -> Transport:
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
        except ImportError as missing:
            raise CannotConnect("a WebSocket needs `pip install 'websockets>=15'`") from missing
        # A token that was read from a file may end with a newline.
        headers = {"Authorization": f"Bearer {token.strip()}"}
        start = "`toolgate serve --websocket 127.0.0.1:PORT` starts a server, and prints its URL and the location of its token"
        try:
            # No proxy: the server is on this machine, and a proxy must not see the token.
            socket = await connect(url, additional_headers=headers, max_size=LONGEST, proxy=None)
        except InvalidStatus as refused:
            raise CannotConnect(f"{url} rejected this client: {_sentence(refused.response)}; {start}") from refused
        except InvalidURI as wrong:
            raise CannotConnect(f"{url} is not a WebSocket URL such as ws://127.0.0.1:8719; {start}") from wrong
        except InvalidHandshake as broken:
            why = f"the server at {url} does not speak WebSocket: {broken}; {start}"
            raise CannotConnect(why, is_passing=True) from broken
        except OSError as error:
            why = "no server listens there" if isinstance(error, ConnectionRefusedError) else str(error)
            raise CannotConnect(f"cannot connect to {url}: {why}; {start}", is_passing=True) from error
        return WebSocket(url, socket)

    return open


def _sentence(response: Response) -> str:
    """Returns the text of an HTTP error response, such as "the token is wrong", with its status code."""
    said = bytes(response.body or b"").decode("utf-8", "replace").strip() or response.reason_phrase
    return f"{said[:200]} ({response.status_code})"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
