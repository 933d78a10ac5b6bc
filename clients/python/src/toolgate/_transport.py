"""Ways to a server: a process that is started, a Unix socket, a WebSocket. Each carries one message at a time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from .errors import CannotConnect

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.http11 import Response

# A journal line has at most 16 MiB; what is put around it has to fit as well.
LONGEST = 32 << 20
# How long a server that we started may take to leave once its input is closed.
LEAVE = 5.0
# How long a server that wrote its last may take until it is known how it ended.
STATUS = 1.0
# A machine that has too little of something now may have it later.
SHORT_OF = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class Transport(Protocol):
    """Messages in both directions."""

    async def send(self, message: bytes) -> None:
        """Sends a message, which has no newline in it."""

    async def receive(self) -> bytes | None:
        """Waits for the next message; nothing at the end."""

    async def why(self) -> str:
        """Says how it ended, once `receive` gave nothing."""

    def unanswered(self, why: str) -> CannotConnect:
        """Makes the error of one that ended before anything was answered."""

    async def close(self) -> None:
        """Ends it."""


Opener = Callable[[], Awaitable[Transport]]


class Lines:
    """A message a line."""

    def __init__(self, place: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.place = place
        self._reader = reader
        self._writer = writer
        self._draining = asyncio.Lock()  # two tasks at once in `drain` are too many for Python 3.10

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
        # It may have been about to end. Those whom a server does not let in get no other answer than this one.
        hint = "it lets in only the user who started it, and nothing that a tool has started"
        return CannotConnect(f"{why} before it answered; {hint}", is_passing=True)

    async def close(self) -> None:
        """Ends it, and gives up what the other side does not read."""
        self._writer.close()
        closing = asyncio.ensure_future(self._writer.wait_closed())
        await asyncio.wait([closing], timeout=LEAVE)
        if not closing.done():
            self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await closing


class Child(Lines):
    """The standard input and output of a server that we started; its standard error is ours."""

    def __init__(
        self, command: str, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, output: asyncio.ReadTransport
    ) -> None:
        assert process.stdin is not None, "it is a pipe"
        super().__init__(command, reader, process.stdin)
        self._process = process
        self._output = output

    async def why(self) -> str:
        """Says with which status it ended."""
        try:
            status = await asyncio.wait_for(self._process.wait(), STATUS)
        except asyncio.TimeoutError:
            return f"`{self.place}` closed its output"
        if status >= 0:
            return f"`{self.place}` ended with exit status {status}"
        return f"`{self.place}` was ended by {_signal(-status)}"

    def unanswered(self, why: str) -> CannotConnect:
        # It would do the same again. What it wrote has gone to our own standard error.
        return CannotConnect(f"{why} before it answered; if it wrote to standard error, that says why")

    async def close(self) -> None:
        """Closes its input and output, which ends a server, and kills one that stays."""
        # The output as well: else it would first answer what nobody waits for any more.
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
        # With all that it started, if it is a script around a server: who holds its output would keep it open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class WebSocket:
    """A message a WebSocket message."""

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
    binary: str | os.PathLike[str],
    args: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
) -> Opener:
    """Starts a server; `env` is put over our own environment."""
    command = shlex.join([os.fspath(binary), *args])

    async def start(stdout: int) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        whole = None if env is None else {**os.environ, **env}
        try:
            # A session of its own, so that a Ctrl-C at our terminal is ours to handle.
            return await asyncio.create_subprocess_exec(
                binary, *args, stdin=pipe, stdout=stdout, env=whole, cwd=cwd, start_new_session=True
            )
        except OSError as error:
            raise _not_started(os.fspath(binary), error) from error

    async def open() -> Transport:
        # Not asyncio's own pipe, which cannot be closed while the child lives.
        read, write = os.pipe()
        file = os.fdopen(read, "rb", 0)
        try:
            process = await start(write)
        except BaseException:
            file.close()
            raise
        finally:
            os.close(write)
        reader = asyncio.StreamReader(limit=LONGEST)
        output, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        return Child(command, process, reader, output)

    return open


def _not_started(binary: str, error: OSError) -> CannotConnect:
    why = f"`{binary}` cannot be started: {error.strerror or error}"
    if error.filename is not None and os.fspath(error.filename) != binary:
        why += f": {os.fspath(error.filename)}"  # the directory that it was to be started in
    elif isinstance(error, FileNotFoundError):
        why += '; is Toolgate installed? `Client.spawn("/path/to/toolgate")` takes one that is not in PATH'
    return CannotConnect(why, is_passing=error.errno in SHORT_OF)


def unix(path: str | os.PathLike[str]) -> Opener:
    """Connects to a Unix socket."""
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
        return CannotConnect(f"nobody listens at {place}; {start}", is_passing=True)
    if isinstance(error, PermissionError):
        return CannotConnect(f"the socket {place} is not for this user; only who started its server gets in")
    # One without a number is Python's own: the path is too long for a socket, now and later.
    return CannotConnect(f"cannot connect to the socket {place}: {error.strerror or error}", is_passing=bool(error.errno))


def websocket(url: str, token: str) -> Opener:
    """Connects to a WebSocket, with the token that the server wants to see."""

    async def open() -> Transport:
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
        except ImportError as missing:
            raise CannotConnect("a WebSocket needs `pip install 'websockets>=15'`") from missing
        # What is read from a file may end with a newline.
        headers = {"Authorization": f"Bearer {token.strip()}"}
        start = "`toolgate serve --websocket 127.0.0.1:PORT` starts a server, and says its URL and where its token is"
        try:
            # No proxy: the server is on this machine only, and the token is for nobody else.
            socket = await connect(url, additional_headers=headers, max_size=LONGEST, proxy=None)
        except InvalidStatus as refused:
            raise CannotConnect(f"{url} does not let this client in: {_sentence(refused.response)}; {start}") from refused
        except InvalidURI as wrong:
            raise CannotConnect(f"{url} is no URL of a WebSocket, as ws://127.0.0.1:8719 is; {start}") from wrong
        except InvalidHandshake as broken:
            why = f"what answers at {url} is no WebSocket: {broken}; {start}"
            raise CannotConnect(why, is_passing=True) from broken
        except OSError as error:
            why = "nobody listens there" if isinstance(error, ConnectionRefusedError) else str(error)
            raise CannotConnect(f"cannot connect to {url}: {why}; {start}", is_passing=True) from error
        return WebSocket(url, socket)

    return open


def _sentence(response: Response) -> str:
    """What a server says beside its number, such as that the token is wrong."""
    said = bytes(response.body or b"").decode("utf-8", "replace").strip() or response.reason_phrase
    return f"{said[:200]} ({response.status_code})"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
