"""Ways to a server: a process that is started, a Unix socket, a WebSocket. Each carries one message at a time."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from .errors import CannotConnect

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

# A journal line has at most 16 MiB; what is put around it has to fit as well.
LONGEST = 32 << 20
# How long a server that we started may take to leave once its input is closed.
LEAVE = 5.0


class Transport(Protocol):
    """Messages in both directions."""

    async def send(self, message: bytes) -> None:
        """Sends a message, which has no newline in it."""

    async def receive(self) -> bytes | None:
        """Waits for the next message; nothing at the end."""

    async def close(self) -> None:
        """Ends it."""


Opener = Callable[[], Awaitable[Transport]]


class Lines:
    """A message a line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class Child(Lines):
    """The standard input and output of a server that we started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None and process.stdin is not None, "both are pipes"
        super().__init__(process.stdout, process.stdin)
        self._process = process

    async def close(self) -> None:
        """Closes its input, which ends a server, and kills one that stays."""
        await super().close()
        try:
            await asyncio.wait_for(self._process.wait(), LEAVE)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()


class WebSocket:
    """A message a WebSocket message."""

    def __init__(self, socket: ClientConnection) -> None:
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

    async def close(self) -> None:
        await self._socket.close()


def spawning(
    binary: str | os.PathLike[str],
    args: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
) -> Opener:
    """Starts a server; `env` is put over our own environment."""

    async def open() -> Transport:
        pipe = asyncio.subprocess.PIPE
        whole = None if env is None else {**os.environ, **env}
        # A session of its own, so that a Ctrl-C at our terminal is ours to handle.
        try:
            process = await asyncio.create_subprocess_exec(
                binary, *args, stdin=pipe, stdout=pipe, env=whole, cwd=cwd, limit=LONGEST, start_new_session=True
            )
        except (FileNotFoundError, PermissionError) as error:
            raise CannotConnect(f"`{os.fspath(binary)}` cannot be started: {error.strerror}") from error
        return Child(process)

    return open


def unix(path: str | os.PathLike[str]) -> Opener:
    """Connects to a Unix socket."""

    async def open() -> Transport:
        return Lines(*await asyncio.open_unix_connection(path, limit=LONGEST))

    return open


def websocket(url: str, token: str) -> Opener:
    """Connects to a WebSocket, with the token that the server wants to see."""

    async def open() -> Transport:
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidHandshake, InvalidStatus
        except ImportError as missing:
            raise CannotConnect("a WebSocket needs `pip install toolgate-client[websocket]`") from missing
        headers = {"Authorization": f"Bearer {token}"}
        try:
            # No proxy: the server is on this machine only, and the token is for nobody else.
            socket = await connect(url, additional_headers=headers, max_size=LONGEST, proxy=None)
        except InvalidStatus as refused:
            raise CannotConnect(f"{url} does not let this client in: {refused}") from refused
        except InvalidHandshake as broken:
            raise ConnectionRefusedError(str(broken)) from broken
        return WebSocket(socket)

    return open
