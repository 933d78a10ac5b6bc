"""The events of one session as they came: each once, in order, for any number of readers, and not more than a bound."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from .errors import EventsDropped
from .types import Event

log = logging.getLogger("toolgate")


class EventLog:
    """Keeps the newest events, so that a reader may come late or be slow without slowing down the connection."""

    def __init__(self, session_id: str, cursor: int, keep: int) -> None:
        self.session_id = session_id
        # Of the last event that came, and its kind.
        self.cursor = cursor
        self._kind = ""
        self._first = cursor
        self._keep = keep
        self._kept: dict[int, Event] = {}
        self._news = asyncio.Event()
        self._over = False
        self._error: Exception | None = None

    def push(self, event: Event) -> bool:
        """Takes an event; says no to one that came already, as it does when two connections tell of it."""
        if event.cursor <= self.cursor or self._over:
            return False
        if event.cursor != self.cursor + 1:
            log.warning("session %s: event %d came after %d", self.session_id, event.cursor, self.cursor)
        self.cursor, self._kind = event.cursor, event.kind
        self._kept[event.cursor] = event
        if len(self._kept) > self._keep:
            del self._kept[next(iter(self._kept))]
        self._wake()
        return True

    def end(self, error: Exception | None = None) -> None:
        """No more will come: readers stop after what is there, with the error if there is one."""
        self._over, self._error = True, self._error or error
        self._wake()

    async def follow(self, after: int | None) -> AsyncIterator[Event]:
        """Tells every event after a cursor; by default all that came to this client."""
        cursor = self._first if after is None else after
        while True:  # ends: with the log
            while cursor < self.cursor:
                event = self._kept.get(cursor + 1)
                if event is None:
                    raise EventsDropped(self.session_id, cursor, next(iter(self._kept), self.cursor + 1))
                cursor = event.cursor
                yield event
            if self._over:
                if self._error is not None:
                    raise self._error
                return
            await self._news.wait()

    async def reached(self, cursor: int) -> None:
        """Waits until an event has come, or none will."""
        while self.cursor < cursor and not self._over:
            await self._news.wait()

    async def ended(self) -> None:
        """Waits until the last event is that the session is over, or none will come."""
        while self._kind != "end" and not self._over:
            await self._news.wait()

    def _wake(self) -> None:
        # Whoever waits holds the old one; a new one is for those who wait from now on.
        self._news.set()
        self._news = asyncio.Event()
