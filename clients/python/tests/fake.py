"""A server that does exactly what a test says, behind a real socket."""

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
    """One connection, as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def heard(self) -> Json:
        """The next message."""
        message: Json = json.loads(await asyncio.wait_for(self._reader.readline(), 5))
        return message

    async def expect(self, method: str) -> Json:
        """The next message, which must be this request."""
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
        """Answers `initialize`, and `session/attach` if something is said about it."""
        hello = await self.expect("initialize")
        self.answer(hello, {"protocol": 1, "server": {"name": "fake"}, "limits": LIMITS})
        if not attached:
            return hello
        attach = await self.expect("session/attach")
        self.answer(attach, {**STARTED, "resumed": False, "busy": False, "cursor": 0, **attached})
        params: Json = attach["params"]
        return params


class Fake:
    """A server whose guests come one after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guests: asyncio.Queue[Guest] = asyncio.Queue()
        # A writer that nobody holds closes its connection.
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
    """A client with one session, and the server's side of it."""

    def __init__(self, fake: Fake, client: Client, session: Session, guest: Guest) -> None:
        self.fake, self.client, self.session, self.guest = fake, client, session, guest


async def begun(fake: Fake, client: Client, **options: Any) -> Talk:
    opening = asyncio.create_task(client.open())
    await (guest := await fake.guest()).welcome()
    await opening
    starting = asyncio.create_task(client.start_session(**options))
    start = await guest.expect("session/start")
    # Told before the answer says that there is such a session.
    guest.event(1, "session")
    guest.answer(start, STARTED)
    return Talk(fake, client, await starting, guest)
