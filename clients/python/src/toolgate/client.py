"""A program's way to a server: sessions are started, found and attached here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict

from . import _transport
from ._desk import Desk
from ._link import Reconnect
from .asking import OnApproval, OnQuestion
from .session import Session
from .tools import Tool
from .types import Initialized, Json, ListedSession, Started, parse

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

PROTOCOL = 1
# Events of one session that are kept for readers who are slow, or come late.
KEEP_EVENTS = 4096


class Model(TypedDict, total=False):
    """Which model a session has; `script` is a file that plays one (docs/run.md)."""

    name: str
    wire: str
    base_url: str
    script: str
    context: int
    max_turns: int


class Start(TypedDict, total=False):
    """How a session begins. What is left out is as the user's configuration has it; without a `model` it has tools alone."""

    cwd: str | os.PathLike[str]
    sandbox: str
    approval: str
    model: Model
    mcp_servers: Mapping[str, Json]
    instructions: str
    only_tools: Sequence[str]
    agents: bool


class Client:
    """A client of one server. Make it with `spawn`, `connect_unix` or `connect_websocket`, and enter it."""

    def __init__(
        self,
        opener: _transport.Opener,
        *,
        reconnect: bool | Reconnect = False,
        name: str = "toolgate-client (Python)",
    ) -> None:
        policy = Reconnect() if reconnect is True else reconnect or None
        hello = {
            "protocol": PROTOCOL,
            "client": {"name": name, "version": metadata.version("toolgate-client")},
            # Sessions without a handler say so each time: then whoever else follows them is asked.
            "capabilities": {"approvals": True, "questions": True},
        }
        self._desk = Desk(opener, policy, hello)

    @property
    def server(self) -> Initialized | None:
        """Who answers, and within which bounds; unknown before it is open."""
        return self._desk.server

    @classmethod
    def spawn(
        cls,
        binary: str | os.PathLike[str] = "toolgate",
        args: Sequence[str] = ("serve",),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Starts a server of its own, which ends with it; `env` is put over this program's environment."""
        opener = _transport.spawning(binary, args, env, cwd)
        return cls(opener, reconnect=reconnect)

    @classmethod
    def connect_unix(
        cls,
        path: str | os.PathLike[str],
        *,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Connects to the Unix socket of a server."""
        return cls(_transport.unix(path), reconnect=reconnect)

    @classmethod
    def connect_websocket(
        cls,
        url: str,
        token: str,
        *,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Connects to the WebSocket of a server, with its token."""
        return cls(_transport.websocket(url, token), reconnect=reconnect)

    async def open(self) -> None:
        """Connects; `async with` does it too."""
        await self._desk.open()

    async def close(self) -> None:
        """Ends the connection; sessions live on if the server does."""
        await self._desk.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def start_session(
        self,
        *,
        tools: Iterable[Tool] = (),
        on_approval: OnApproval | None = None,
        on_question: OnQuestion | None = None,
        keep_events: int = KEEP_EVENTS,
        **start: Unpack[Start],
    ) -> Session:
        """Begins a session and follows it. Without `on_approval` everything that has to be approved is denied."""
        tools, params = list(tools), _plain(start)
        with self._desk.starting():
            told = {**params, "tools": [each.describe() for each in tools]}
            started = parse(Started, await self.request("session/start", told))
            session = Session(
                self._desk,
                started.session_id,
                start=params,
                tools=tools,
                on_approval=on_approval,
                on_question=on_question,
                keep_events=keep_events,
            )
            self._desk.adopt(session, started)
            return session

    async def attach(
        self,
        session_id: str,
        *,
        cursor: int = 0,
        tools: Iterable[Tool] = (),
        on_approval: OnApproval | None = None,
        on_question: OnQuestion | None = None,
        keep_events: int = KEEP_EVENTS,
        **start: Unpack[Start],
    ) -> Session:
        """Follows a session from after `cursor` on. `start` is for one that the server goes on with from its journal."""
        if self._desk.follows(session_id):
            raise ValueError(f"this client follows session {session_id} already; use the one it has")
        session = Session(
            self._desk,
            session_id,
            start=_plain(start),
            tools=tools,
            on_approval=on_approval,
            on_question=on_question,
            cursor=cursor,
            keep_events=keep_events,
        )
        await self._desk.attach(session)
        return session

    async def sessions(self, *, limit: int | None = None, live: bool = False) -> list[ListedSession]:
        """Says which sessions there are, the newest first; `live` are those that the server has."""
        params = {"live": live, **({} if limit is None else {"limit": limit})}
        listed = await self.request("session/list", params, again=True)
        return [parse(ListedSession, each) for each in listed["sessions"]]

    async def request(self, method: str, params: Json, *, again: bool = False) -> Any:
        """Asks the server anything; `again` says that it may be asked twice if the connection is lost."""
        return await self._desk.link.request(method, params, again=again)


def _plain(start: Start) -> Json:
    """The same as JSON."""
    told: Json = {name: value for name, value in start.items() if value is not None}
    if "cwd" in told:
        told["cwd"] = os.fspath(told["cwd"])
    return told
