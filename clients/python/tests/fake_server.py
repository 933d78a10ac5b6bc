"""Fake server on a real socket, controlled by the test step by step."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from toolgate import Client, Session

Json = dict[str, Any]
LIMITS = {"message_bytes": 1 << 20, "requests": 256, "sessions": 10, "tools": 10, "processes": 10}
STARTED: Json = {
    "session_id": "s",
    "journal": "",
    "cwd": "/",
    "sandbox": "read-only",
    "approval": "never",
    "model": None,
    "tools": [],
}


class Guest:
    """Server side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def heard(self) -> Json:
        """Returns the next message."""
        message: Json = json.loads(await asyncio.wait_for(self._reader.readline(), 5))
        return message

    async def expect(self, method: str) -> Json:
        """Returns the next message, which must call this method."""
        message = await self.heard()
        assert message["method"] == method, message
        return message

    def answer(self, request: Json, result: Any) -> None:
        self.tell({"id": request["id"], "result": result})

    def event(self, cursor: int, kind: str, **members: Any) -> None:
        event = {"seq": cursor, "kind": kind, **members}
        self.tell({"method": "session/event", "params": {"session_id": "s", "cursor": cursor, "event": event}})

    def tell(self, message: Json) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def drop(self) -> None:
        self._writer.close()

    async def welcome(self, **attached: Any) -> Json:
        """Answers `initialize`, and also `session/attach` if members of its result are given."""
        hello = await self.expect("initialize")
        self.answer(hello, {"protocol": 1, "server": {"name": "fake"}, "limits": LIMITS})
        if not attached:
            return hello
        attach = await self.expect("session/attach")
        self.answer(attach, {**STARTED, "resumed": False, "busy": False, "cursor": 0, **attached})
        params: Json = attach["params"]
        return params


class Fake:
    """Fake server that accepts connections one after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guests: asyncio.Queue[Guest] = asyncio.Queue()
        # Keeps a reference to each connection: a garbage-collected writer closes it.
        self._came: list[Guest] = []

    async def __aenter__(self) -> Fake:
        async def come(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._guests.put_nowait(Guest(reader, writer))

        self._server = await asyncio.start_unix_server(come, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def guest(self) -> Guest:
        self._came.append(await asyncio.wait_for(self._guests.get(), 5))
        return self._came[-1]


class Talk:
    """A client with one session, and the fake server's side of the connection."""

    def __init__(self, fake: Fake, client: Client, session: Session, guest: Guest) -> None:
        self.fake, self.client, self.session, self.guest = fake, client, session, guest


async def begun(fake: Fake, client: Client, **options: Any) -> Talk:
    opening = asyncio.create_task(client.open())
    await (guest := await fake.guest()).welcome()
    await opening
    starting = asyncio.create_task(client.start_session(**options))
    start = await guest.expect("session/start")
    # Sent before the response that names the session.
    guest.event(1, "session")
    guest.answer(start, STARTED)
    return Talk(fake, client, await starting, guest)
