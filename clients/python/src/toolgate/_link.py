"""A connection that is made anew when it is lost: with growing pauses, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ._rpc import Answering, Connection, Hearing, Late
from ._transport import Opener
from .errors import CannotConnect, ConnectionLost, ToolgateError
from .types import Json

Greeting = Callable[[Connection], Awaitable[None]]


@dataclass(frozen=True)
class Reconnect:
    """How a lost connection is made anew: pauses from `first` to `longest`, given up after `within` (all in seconds)."""

    first: float = 0.05
    longest: float = 2.0
    within: float = 60.0


class Link:
    """Who asks over it waits while there is no connection, and is told when there will be none."""

    def __init__(self, opener: Opener, reconnect: Reconnect | None, answer: Answering, hear: Hearing) -> None:
        self._opener = opener
        self.reconnect = reconnect
        self._answer = answer
        self._hear = hear
        self._is_opened = False
        self._connection: Connection | None = None
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def open(self, greet: Greeting, failed: Callable[[Exception], None]) -> None:
        """Connects. `greet` says on each new connection what has to be said first; `failed` hears that there is none left."""
        if self._failure is not None:
            raise ToolgateError("this client was open before and is not opened again; make another")
        if self._is_opened:
            raise ToolgateError("this client is open already")
        self._is_opened = True
        try:
            connection = await self._connect(greet) if self.reconnect is None else await self._persist(greet)
            if self._failure is not None:
                await connection.close()
                raise ConnectionLost(str(self._failure))
        except BaseException:
            self._is_opened = False
            self._wake()
            raise
        self._connection = connection
        self._keeping = asyncio.create_task(self._keep(greet, failed), name="toolgate link")
        self._wake()

    async def close(self) -> None:
        """Ends it for good."""
        self._fail(ConnectionLost("the client is closed"))
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    async def ready(self) -> Connection:
        """Waits for a connection on which everything is said that has to be said first."""
        while True:  # ends: the link is up again, or given up within bounds
            if self._failure is not None:
                raise ConnectionLost(str(self._failure)) from self._failure
            if not self._is_opened:
                raise ToolgateError("this client is not open: use `async with client:`, or `await client.open()` first")
            if self._connection is not None and not self._connection.ended.is_set():
                return self._connection
            await self._changed.wait()

    async def request(self, method: str, params: Json, *, again: bool = False, late: Late | None = None) -> Any:
        """Asks; `again` says that it may be asked a second time if the connection is lost before the answer.

        `late` hears an answer that comes when who asked was cancelled.
        """
        while True:  # ends: `ready` does, and each connection is another one
            connection = await self.ready()
            try:
                return await connection.request(method, params, late)
            except ConnectionLost:
                if not again or self.reconnect is None:
                    raise

    def undo(self, method: str, params: Json) -> None:
        """Asks for something that nobody waits for, if there is a connection."""
        if self._connection is not None:
            self._connection.undo(method, params)

    async def _keep(self, greet: Greeting, failed: Callable[[Exception], None]) -> None:
        # Asked each time: before Python 3.12 `wait_for` may swallow the cancellation that ends this.
        while self._connection is not None and self._failure is None:
            await self._connection.ended.wait()
            await self._connection.close()
            try:
                if self.reconnect is None:
                    raise ConnectionLost(f"the connection to the server is lost: {self._connection.why}")
                self._connection = await self._persist(greet)
                self._wake()
            except Exception as error:
                self._fail(error)
                failed(error)
                return

    async def _persist(self, greet: Greeting) -> Connection:
        assert self.reconnect is not None, "asked by both callers"
        loop = asyncio.get_running_loop()
        pause, deadline = self.reconnect.first, loop.time() + self.reconnect.within
        while True:  # ends: at the deadline
            try:
                return await asyncio.wait_for(self._connect(greet), max(0.1, deadline - loop.time()))
            except (OSError, ConnectionLost, CannotConnect, asyncio.TimeoutError) as error:
                if isinstance(error, CannotConnect) and not error.is_passing:
                    raise
                if loop.time() + pause > deadline:
                    within, why = self.reconnect.within, str(error) or "it took too long"
                    raise ConnectionLost(f"no server answered within {within:g} s: {why}") from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.reconnect.longest)

    async def _connect(self, greet: Greeting) -> Connection:
        connection = Connection(await self._opener(), self._answer, self._hear)
        try:
            await greet(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._wake()

    def _wake(self) -> None:
        # Whoever waits holds the old one; a new one is for those who wait from now on.
        self._changed.set()
        self._changed = asyncio.Event()
