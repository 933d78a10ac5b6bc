"""Fixtures for tests with the real server: the program, a private home directory, and a server that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from toolgate import Client

DEFAULT = Path(__file__).parents[3] / "target" / "debug" / "toolgate"


@dataclass
class World:
    """The program under test, and directories of this test only."""

    binary: str
    work: Path
    env: dict[str, str]

    def client(self) -> Client:
        """Returns a client that starts its own server."""
        return Client.spawn(self.binary, env=self.env, cwd=self.work)

    def script(self, *turns: dict[str, Any] | list[dict[str, Any]], name: str = "script.jsonl") -> str:
        """Writes a model script and returns its path. Each argument is a turn, or the list of items of a turn."""
        path = self.work.parent / name
        lines = [turn if isinstance(turn, dict) else {"items": turn} for turn in turns]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(path)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Script item: the model calls a function."""
    return {"type": "function_call", "name": name, "arguments": arguments}


def message(text: str) -> dict[str, Any]:
    """Script item: the model writes a message."""
    return {"type": "message", "text": text}


@pytest.fixture(scope="session")
def binary() -> str:
    path = Path(os.environ.get("TOOLGATE_BIN", DEFAULT)).absolute()
    if not path.exists():
        pytest.fail(f"there is no program at {path}: build it with `cargo build`, or set TOOLGATE_BIN to its path", pytrace=False)
    return str(path)


@pytest.fixture
def world(binary: str) -> Iterator[World]:
    # Not pytest's `tmp_path`, which may be too long: a socket path has at most 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="tg-py-"))
    (work := root / "work").mkdir()
    home = root / "home"
    home.mkdir(mode=0o700)
    own = {"TOOLGATE_HOME": str(home / "toolgate"), "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    yield World(binary, work, own)
    shutil.rmtree(root, ignore_errors=True)


class Server:
    """A `toolgate serve --socket` process that can be killed and started again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.socket = world.work.parent / "s.sock"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        env = {**os.environ, **self.world.env}
        self._process = await asyncio.create_subprocess_exec(
            self.world.binary,
            "serve",
            "--socket",
            str(self.socket),
            env=env,
            cwd=self.world.work,
            stdin=asyncio.subprocess.DEVNULL,
        )

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def client(self) -> Client:
        # `reconnect` also waits for a server that is still starting.
        return Client.connect_unix(self.socket, reconnect=True)


class Wire:
    """Socket proxy in front of the server. Its connections can be cut while the server keeps running."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.path = server.socket.with_name("wire.sock")
        self._open: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Wire:
        self._listening = await asyncio.start_unix_server(self._join, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    def client(self) -> Client:
        return Client.connect_unix(self.path, reconnect=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_unix_connection(self._server.socket)
        self._open += [writer, to]
        await asyncio.gather(_carry(reader, to), _carry(there, writer))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest_asyncio.fixture
async def server(world: World) -> AsyncIterator[Server]:
    server = Server(world)
    await server.start()
    yield server
    await server.kill()
