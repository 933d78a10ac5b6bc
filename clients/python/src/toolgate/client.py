"""Client of one server: starts, lists and attaches to sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict

from . import _transport
from ._reconnect import Reconnect
from ._session_registry import SessionRegistry
from .approvals import OnApproval, OnQuestion
from .session import Session
from .tools import Tool, require_tools
from .types import ApprovalPolicy, Initialized, Json, ListedSession, Sandbox, Started, Wire, parse

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

PROTOCOL = 1
# Events of one session kept for slow or late readers.
KEEP_EVENTS = 4096


class Model(TypedDict, total=False):
    """Model of a session. API keys come only from the server's environment."""

    name: str
    """Name of the model at its provider; by default the one in the configuration."""
    wire: Wire
    """API of the model: `responses`, `chat` or `anthropic`; by default derived from the name."""
    base_url: str
    """URL of the API, such as `http://127.0.0.1:8080/v1`; by default the provider's own."""
    script: str | os.PathLike[str]
    """File that replaces the model, with one JSON turn per line (docs/run.md)."""
    context: int
    """Size of the context window in tokens (200000)."""
    max_turns: int
    """Maximum number of requests to the model in one turn (500)."""
    max_tokens: int
    """Maximum number of input and output tokens of all requests (no limit)."""


class Start(TypedDict, total=False):
    """Options of a new session. The user's configuration provides the defaults."""

    cwd: str | os.PathLike[str]
    """Working directory, relative to the server's, which is the default."""
    sandbox: Sandbox
    """Sandbox mode of commands: `read-only`, `workspace-write`, `external` or `danger-full-access`."""
    approval: ApprovalPolicy
    """Approval policy: `untrusted`, `on-failure`, `on-request`, `never`, `auto` or `disabled`."""
    model: Model
    """Model of the session; without one the session has only tools."""
    mcp_servers: Mapping[str, Json]
    """Additional MCP servers by name, with the keys of `[mcp_servers.NAME]` in the configuration (docs/mcp.md)."""
    instructions: str
    """Instructions for the model, in addition to those of Toolgate and of the project."""
    only_tools: Sequence[str]
    """Allow-list of Toolgate's own tools; by default all."""
    agents: bool
    """Allows the model to start other agents."""


class Client:
    """A client of one server. Create it with `spawn`, `connect_unix` or `connect_websocket`, and open it:

    `async with Client.spawn() as client: ...`
    """

    def __init__(
        self,
        opener: _transport.Opener,
        *,
        reconnect: bool | Reconnect = False,
        name: str = "toolgate (Python)",
    ) -> None:
        policy = Reconnect() if reconnect is True else reconnect or None
        initialize = {
            "protocol": PROTOCOL,
            "client": {"name": name, "version": metadata.version("toolgate")},
            # Always announced. A session without a handler answers with an error, and the server asks other clients.
            "capabilities": {"approvals": True, "questions": True},
        }
        self._registry = SessionRegistry(opener, policy, initialize)

    @property
    def server(self) -> Initialized | None:
        """Name, version and limits of the server; None before the client is open."""
        return self._registry.server

    @classmethod
    def spawn(
        cls,
        command: str | os.PathLike[str] | None = None,
        args: Sequence[str] = ("serve",),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Returns a client that starts its own server and ends it on close. `env` is merged over this program's environment.

        `command` is the program. By default it is the one that the environment variable TOOLGATE_BIN names, or `toolgate` in the
        scripts directory of this Python environment, or `toolgate` in PATH. The server inherits standard error from this program.
        """
        opener = _transport.spawning(command, args, env, cwd)
        return cls(opener, reconnect=reconnect)

    @classmethod
    def connect_unix(
        cls,
        path: str | os.PathLike[str],
        *,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Returns a client for the Unix socket of `toolgate serve --socket PATH`."""
        return cls(_transport.unix(path), reconnect=reconnect)

    @classmethod
    def connect_websocket(
        cls,
        url: str,
        token: str,
        *,
        reconnect: bool | Reconnect = False,
    ) -> Self:
        """Returns a client for the WebSocket of `toolgate serve --websocket 127.0.0.1:PORT`, with the server's token."""
        return cls(_transport.websocket(url, token), reconnect=reconnect)

    async def open(self) -> None:
        """Connects to the server, once. Call `close` afterwards; `async with` does both."""
        await self._registry.open()

    async def close(self) -> None:
        """Closes the connection. Sessions stay alive if the server does."""
        await self._registry.close()

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
        """Starts a session and follows its events.

        tools: functions of this program that the model may call, each decorated with `@tool`.
        on_approval: handler that decides approvals; without it, every call that needs approval is denied.
        on_question: handler that answers questions of the model.
        keep_events: number of the newest events kept for slow or late readers.

        The other parameters are the members of `Start`. The user's configuration provides their defaults:

        cwd: working directory, relative to the server's, which is the default.
        sandbox: sandbox mode of commands: "read-only", "workspace-write", "external" or "danger-full-access".
        approval: approval policy: "untrusted", "on-failure", "on-request", "never", "auto" or "disabled".
        model: dict with members of `Model`: `name`, `wire`, `base_url`, `script`, `context`,
            `max_turns` and `max_tokens`.
            Without a model the session has only tools.
        mcp_servers: additional MCP servers by name, with the keys that the configuration uses (docs/mcp.md).
        instructions: instructions for the model, in addition to those of Toolgate and of the project.
        only_tools: allow-list of Toolgate's own tools; by default all.
        agents: allows the model to start other agents.
        """
        _check(start, on_approval, on_question, keep_events)
        tools, params = require_tools(tools), _plain(start)
        with self._registry.starting():
            told = {**params, "tools": [each._describe() for each in tools]}
            started = parse(Started, await self._registry.connection.request("session/start", told, on_late=self._unwanted))
            session = Session(
                self._registry,
                started.session_id,
                start=params,
                tools=tools,
                on_approval=on_approval,
                on_question=on_question,
                keep_events=keep_events,
            )
            self._registry.adopt(session, started)
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
        """Attaches to an existing session. Its events start after `cursor`, the last event seen; 0 for none.

        The other parameters are those of `start_session`. The members of `Start` are used if the server resumes the session
        from its journal. The journal does not contain all of them: for example, not the URL of the model.
        """
        _check(start, on_approval, on_question, keep_events)
        session = Session(
            self._registry,
            session_id,
            start=_plain(start),
            tools=require_tools(tools),
            on_approval=on_approval,
            on_question=on_question,
            cursor=cursor,
            keep_events=keep_events,
        )
        await self._registry.attach(session)
        return session

    async def sessions(self, *, limit: int | None = None, live: bool = False) -> list[ListedSession]:
        """Lists sessions, the newest first. With `live`, only those that the server has loaded."""
        params = {"live": live, **({} if limit is None else {"limit": limit})}
        listed = await self.request("session/list", params, retry=True)
        return [parse(ListedSession, each) for each in listed["sessions"]]

    async def request(self, method: str, params: Json, *, retry: bool = False) -> Json:
        """Sends any request to the server. With `retry`, it is sent again if the connection is lost."""
        return await self._registry.connection.request(method, params, retry=retry)

    def _unwanted(self, started: Json) -> None:
        """Closes a session whose `start_session` was cancelled before the response arrived."""
        self._registry.connection.send_without_waiting("session/close", {"session_id": started["session_id"]})


def _check(start: Start, on_approval: object, on_question: object, keep_events: object) -> None:
    """Raises `TypeError` for a value of a wrong type, where the server or a later call would report it less clearly."""
    for name, handler in (("on_approval", on_approval), ("on_question", on_question)):
        if handler is not None and not callable(handler):
            raise TypeError(f"`{name}` must be a function, not {handler!r}")
    if not isinstance(keep_events, int) or isinstance(keep_events, bool) or keep_events < 1:
        raise TypeError(f"`keep_events` must be an integer of at least 1, not {keep_events!r}")
    model: object = start.get("model")
    if isinstance(model, str):
        raise TypeError(f'`model` must be a dict, such as {{"name": "{model}"}}, not {model!r}')
    if model is not None and not isinstance(model, Mapping):
        raise TypeError(f'`model` must be a dict, such as {{"name": "gpt-5"}}, not {model!r}')


def _plain(start: Start) -> Json:
    """Converts start options to JSON. Raises `TypeError` for an unknown option, as for an unknown parameter."""
    if unknown := sorted(start.keys() - Start.__annotations__.keys()):
        raise TypeError(f"unknown session option {unknown[0]!r}; the options are {', '.join(Start.__annotations__)}")
    told: Json = {name: value for name, value in start.items() if value is not None}
    if "cwd" in told:
        told["cwd"] = os.fspath(told["cwd"])
    if "model" in told:
        told["model"] = {name: os.fspath(value) if name == "script" else value for name, value in told["model"].items()}
    return told
