"""Sessions of a client by ID: dispatches messages to sessions and reattaches them after a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from . import approvals
from ._reconnect import Reconnect, ReconnectingConnection
from ._rpc_connection import RpcConnection
from ._transport import Opener
from ._user_functions import BlockingRunner, run_in_thread
from .errors import ConnectionLost, JournalBehind, NoSuchMethod, NoSuchSession, RpcError
from .types import Initialized, Json, Started, parse

if TYPE_CHECKING:
    from .session import Session

# Concurrent reattach requests, below the server's limit on concurrent requests of a connection.
ATTACH_TOGETHER = 32
NO_METHOD = -32601


class SessionRegistry:
    """The sessions of a client by ID, and the connection that they share."""

    def __init__(self, opener: Opener, reconnect: Reconnect | None, initialize: Json) -> None:
        self.connection = ReconnectingConnection(opener, reconnect, self._answer, self._receive)
        self.server: Initialized | None = None
        # Runs the blocking handlers of a session. The synchronous API replaces it.
        self.handler_runner: Callable[[str], BlockingRunner] = lambda session_id: run_in_thread
        self._initialize_params = initialize
        self._sessions: dict[str, Session] = {}
        # Notifications that arrive before the response to `session/start` names their session.
        self._starting = 0
        self._early: list[tuple[str, Json]] = []

    async def open(self) -> None:
        """Connects to the server."""
        await self.connection.open(self._initialize, self._end)

    async def close(self) -> None:
        """Closes the connection and ends the event streams of all sessions."""
        await self.connection.close()
        self._end(None)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Buffers notifications of unknown sessions until `adopt` delivers them."""
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1
            if not self._starting:
                self._early.clear()

    def adopt(self, session: Session, started: Started) -> None:
        """Adds a session that was just started, and delivers its buffered notifications."""
        session.started = started
        self._sessions[session.id] = session
        early = [(method, params) for method, params in self._early if params["session_id"] == session.id]
        for method, params in early:
            self._receive(method, params)

    async def attach(self, session: Session) -> None:
        """Attaches to an existing session. If the connection is lost meanwhile, the session is reattached with the others."""
        connection = await self.connection.ready()
        if session.id in self._sessions:
            raise ValueError(f"this client follows session {session.id} already; use its existing `Session` object")
        # Added before the request: events and questions may arrive before the response.
        self._sessions[session.id] = session
        try:
            try:
                session.started = await session._subscription.attach(connection)
            except ConnectionLost:
                if self.connection.reconnect is None:
                    raise
                await self.connection.ready()
                if session._subscription.failure is not None:
                    raise session._subscription.failure from None
        except BaseException:
            self._sessions.pop(session.id, None)
            raise

    async def leave(self, session: Session, method: str) -> None:
        """Closes a session or detaches from it. A session that no longer exists is removed without an error."""
        session._is_leaving = True
        try:
            with contextlib.suppress(NoSuchSession):
                await self.connection.request(method, {"session_id": session.id}, retry=True)
        except BaseException:
            session._is_leaving = False
            raise
        if method == "session/close":
            await session._subscription.wait_for_end()
        self._sessions.pop(session.id, None)
        session._subscription.end()

    def _receive(self, method: str, params: Json) -> None:
        session = self._sessions.get(params.get("session_id", ""))
        if session is None:
            if self._starting and "session_id" in params:
                self._early.append((method, params))
        elif method == "session/event":
            session._subscription.receive_event(params)
        elif method == "session/delta":
            session._subscription.receive_delta(params)

    async def _answer(self, method: str, params: Json) -> Json:
        session = self._sessions.get(params.get("session_id", ""))
        if session is None:
            raise NoSuchSession(-32001, "this client does not follow that session")
        if method == "tool/invoke":
            return await session._invoke(params)
        if method == "approval/request":
            return await approvals.decide(session.on_approval, params, self.handler_runner(session.id))
        if method == "user/ask":
            return await approvals.answer(session.on_question, params, self.handler_runner(session.id))
        raise NoSuchMethod(NO_METHOD, f"this client has no method `{method}`")

    async def _initialize(self, connection: RpcConnection) -> None:
        try:
            self.server = parse(Initialized, await connection.request("initialize", self._initialize_params))
        except ConnectionLost as lost:
            raise connection.transport.unanswered(connection.why) from lost
        connection.longest = self.server.limits.message_bytes
        some = asyncio.Semaphore(ATTACH_TOGETHER)

        async def again(session: Session) -> None:
            async with some:
                try:
                    session.started = await session._subscription.attach_again(connection)
                except (RpcError, JournalBehind) as error:
                    # Only this session ends; its readers get the error.
                    self._sessions.pop(session.id, None)
                    session._subscription.end(error)

        await asyncio.gather(*(again(each) for each in list(self._sessions.values()) if not each._is_leaving))

    def _end(self, error: Exception | None) -> None:
        lost = None if error is None else ConnectionLost(str(error))
        for session in self._sessions.values():
            session._subscription.end(lost)
        self._sessions.clear()
