"""Reconnecting connection to a server, with exponential backoff and a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ._rpc_connection import NotificationHandler, OnLate, RequestHandler, RpcConnection
from ._transport import Opener
from .errors import CannotConnect, ConnectionLost, ToolgateError
from .types import Json

Initializer = Callable[[RpcConnection], Awaitable[None]]


@dataclass(frozen=True)
class Reconnect:
    """Reconnect policy: pauses grow from `first` to `longest`, and retries stop after `within` (all in seconds)."""

    first: float = 0.05
    longest: float = 2.0
    within: float = 60.0


class ReconnectingConnection:
    """Sends requests over the current connection. Requests wait during a reconnect and fail when it is given up."""

    def __init__(self, opener: Opener, reconnect: Reconnect | None, answer: RequestHandler, receive: NotificationHandler) -> None:
        self._opener = opener
        self.reconnect = reconnect
        self._answer = answer
        self._receive = receive
        self._is_opened = False
        self._connection: RpcConnection | None = None
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def open(self, initialize: Initializer, failed: Callable[[Exception], None]) -> None:
        """Connects. `initialize` runs first on each new connection; `failed` is called when reconnecting is given up."""
        if self._failure is not None:
            raise ToolgateError("this client has ended and cannot be opened again; create a new one")
        if self._is_opened:
            raise ToolgateError("this client is open already")
        self._is_opened = True
        try:
            connection = await self._connect(initialize) if self.reconnect is None else await self._persist(initialize)
            if self._failure is not None:
                await connection.close()
                raise ConnectionLost(str(self._failure))
        except BaseException:
            self._is_opened = False
            self._wake()
            raise
        self._connection = connection
        self._keeping = asyncio.create_task(self._keep(initialize, failed), name="toolgate reconnect")
        self._wake()

    async def close(self) -> None:
        """Closes the connection permanently."""
        self._fail(ConnectionLost("the client is closed"))
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    async def ready(self) -> RpcConnection:
        """Waits for a connection on which `initialize` has finished."""
        while True:  # ends: connected again, or given up within bounds
            if self._failure is not None:
                raise ConnectionLost(str(self._failure)) from self._failure
            if not self._is_opened:
                raise ToolgateError("this client is not open: use `async with client:`, or `await client.open()` first")
            if self._connection is not None and not self._connection.ended.is_set():
                return self._connection
            await self._changed.wait()

    async def request(self, method: str, params: Json, *, retry: bool = False, on_late: OnLate | None = None) -> Json:
        """Sends a request. With `retry`, it is sent again if the connection is lost before the response.

        `on_late` is called with a response that arrives after the caller was cancelled.
        """
        while True:  # ends: `ready` does, and each connection is another one
            connection = await self.ready()
            try:
                return await connection.request(method, params, on_late)
            except ConnectionLost:
                if not retry or self.reconnect is None:
                    raise

    def send_without_waiting(self, method: str, params: Json) -> None:
        """Sends a request without waiting for the response, if there is a connection."""
        if self._connection is not None:
            self._connection.send_without_waiting(method, params)

    async def _keep(self, initialize: Initializer, failed: Callable[[Exception], None]) -> None:
        # `_failure` is checked each time: before Python 3.12, `wait_for` may swallow the cancellation of this task.
        while self._connection is not None and self._failure is None:
            await self._connection.ended.wait()
            await self._connection.close()
            try:
                if self.reconnect is None:
                    raise ConnectionLost(f"the connection to the server is lost: {self._connection.why}")
                self._connection = await self._persist(initialize)
                self._wake()
            except Exception as error:
                self._fail(error)
                failed(error)
                return

    async def _persist(self, initialize: Initializer) -> RpcConnection:
        assert self.reconnect is not None, "asked by both callers"
        loop = asyncio.get_running_loop()
        pause, deadline = self.reconnect.first, loop.time() + self.reconnect.within
        while True:  # ends: at the deadline
            try:
                return await asyncio.wait_for(self._connect(initialize), max(0.1, deadline - loop.time()))
            except (OSError, ConnectionLost, CannotConnect, asyncio.TimeoutError) as error:
                if isinstance(error, CannotConnect) and not error.is_passing:
                    raise
                if loop.time() + pause > deadline:
                    within, why = self.reconnect.within, str(error) or "it took too long"
                    raise ConnectionLost(f"no server answered within {within:g} s: {why}") from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.reconnect.longest)

    async def _connect(self, initialize: Initializer) -> RpcConnection:
        connection = RpcConnection(await self._opener(), self._answer, self._receive)
        try:
            await initialize(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._wake()

    def _wake(self) -> None:
        # Current waiters hold the old event; later waiters get the new one.
        self._changed.set()
        self._changed = asyncio.Event()
