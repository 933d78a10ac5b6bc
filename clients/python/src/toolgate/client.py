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
from .tools import Tool, checked
from .types import ApprovalPolicy, Initialized, Json, ListedSession, Sandbox, Started, Wire, parse

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

PROTOCOL = 1
# Events of one session that are kept for readers who are slow, or come late.
KEEP_EVENTS = 4096


class Model(TypedDict, total=False):
    """Which model a session has. Keys are read from the server's environment and nowhere else."""

    name: str
    """What the provider calls it; by default what the configuration names."""
    wire: Wire
    """Which API: `responses`, `chat` or `anthropic`; by default what the name suggests."""
    base_url: str
    """Where the API is, such as `http://127.0.0.1:8080/v1`; by default the provider's own."""
    script: str | os.PathLike[str]
    """A file that plays the model, one JSON turn a line (docs/run.md), instead of one behind a URL."""
    context: int
    """Tokens that it can read (200000)."""
    max_turns: int
    """Requests to it in one turn (500)."""


class Start(TypedDict, total=False):
    """How a session begins. What is left out is as the user's configuration has it."""

    cwd: str | os.PathLike[str]
    """The directory to work in, from where the server runs; by default that one."""
    sandbox: Sandbox
    """What commands may do: `read-only`, `workspace-write`, `external` or `danger-full-access`."""
    approval: ApprovalPolicy
    """When somebody is asked: `untrusted`, `on-failure`, `on-request`, `never`, `auto` or `disabled`."""
    model: Model
    """The model; without one the session has tools alone."""
    mcp_servers: Mapping[str, Json]
    """MCP servers beside those of the configuration, each as `[mcp_servers.NAME]` has it there (docs/mcp.md)."""
    instructions: str
    """What the model is told beside Toolgate's own words and the project's."""
    only_tools: Sequence[str]
    """Of the tools that come with Toolgate, only these; all if it is left out."""
    agents: bool
    """Whether the model may start other agents."""


class Client:
    """A client of one server. Make it with `spawn`, `connect_unix` or `connect_websocket`, and enter it:

    `async with Client.spawn() as client: ...`
    """

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
        """Starts a server of its own, which ends with it; `env` is put over this program's environment.

        What the server writes to standard error comes to this program's own.
        """
        opener = _transport.spawning(binary, args, env, cwd)
        return cls(opener, reconnect=reconnect)

    @classmethod
    def connect_unix(
        cls,
        path: str | os.PathLike[str],
        *,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Connects to the Unix socket of a server: of `toolgate serve --socket PATH`."""
        return cls(_transport.unix(path), reconnect=reconnect)

    @classmethod
    def connect_websocket(
        cls,
        url: str,
        token: str,
        *,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Connects to the WebSocket of a server, with its token: of `toolgate serve --websocket 127.0.0.1:PORT`."""
        return cls(_transport.websocket(url, token), reconnect=reconnect)

    async def open(self) -> None:
        """Connects, once; `async with` does it too. Who opens it has to `close` it."""
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
        """Begins a session and follows it.

        tools: functions of this program that the model may call, each with `@tool` above it.
        on_approval: decides what has to be approved; without it, all of that is denied.
        on_question: answers what the model asks.
        keep_events: how many of the newest events are kept for readers who are slow, or come late.

        The others are the members of `Start`; what is left out is as the user's configuration has it:

        cwd: the directory to work in, from where the server runs; by default that one.
        sandbox: what commands may do: "read-only", "workspace-write", "external" or "danger-full-access".
        approval: when somebody is asked: "untrusted", "on-failure", "on-request", "never", "auto" or "disabled".
        model: the model, a dict with members of `Model`: `name`, `wire`, `base_url`, `script`, `context` and `max_turns`.
            Without one the session has tools alone.
        mcp_servers: MCP servers beside those of the configuration, by name, each as the configuration has it (docs/mcp.md).
        instructions: what the model is told beside Toolgate's own words and the project's.
        only_tools: of the tools that come with Toolgate, only these.
        agents: whether the model may start other agents.
        """
        tools, params = checked(tools), _plain(start)
        with self._desk.starting():
            told = {**params, "tools": [each._describe() for each in tools]}
            started = parse(Started, await self._desk.link.request("session/start", told, late=self._unwanted))
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
        """Follows a session from after `cursor` on: the last event that was seen of it, 0 for none.

        The other parameters are those of `start_session`. The members of `Start` count for a session that the server goes on
        with from its journal: where the model is, and what else the journal does not know.
        """
        session = Session(
            self._desk,
            session_id,
            start=_plain(start),
            tools=checked(tools),
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

    def _unwanted(self, started: Json) -> None:
        """Ends a session that was begun when who wanted it had been cancelled: nobody knows of it."""
        self._desk.link.undo("session/close", {"session_id": started["session_id"]})


def _plain(start: Start) -> Json:
    """The same as JSON. What no session has is refused as a parameter that a function does not have."""
    if unknown := sorted(start.keys() - Start.__annotations__.keys()):
        raise TypeError(f"a session has no {unknown[0]!r} to begin with; it has {', '.join(Start.__annotations__)}")
    told: Json = {name: value for name, value in start.items() if value is not None}
    if "cwd" in told:
        told["cwd"] = os.fspath(told["cwd"])
    if "model" in told:
        told["model"] = {name: os.fspath(value) if name == "script" else value for name, value in told["model"].items()}
    return told
