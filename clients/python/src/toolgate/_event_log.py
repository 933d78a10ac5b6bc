"""Bounded event log of one session: each event once and in order, for any number of readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

from .errors import EventsDropped
from .types import Event

log = logging.getLogger("toolgate")


class EventLog:
    """Keeps the newest events, so that a late or slow reader does not slow down the connection."""

    def __init__(self, session_id: str, cursor: int, keep: int) -> None:
        self.session_id = session_id
        # Cursor and kind of the last event received.
        self.cursor = cursor
        self._kind = ""
        # The cursor before the first event that this client received.
        self.first = cursor
        self._keep = keep
        self._kept: dict[int, Event] = {}
        self._news = asyncio.Event()
        self.is_over = False
        self._error: Exception | None = None

    def push(self, event: Event) -> bool:
        """Adds an event. Returns False for a duplicate, which a second connection may send, and after the end."""
        if event.cursor <= self.cursor or self.is_over:
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
        """Ends the log: readers stop after the kept events, with the error if there is one."""
        self.is_over, self._error = True, self._error or error
        self._wake()

    def after(self, cursor: int, until: int | None = None) -> Iterator[Event]:
        """Yields the received events after a cursor. Raises `EventsDropped` if one of them is no longer kept."""
        while cursor < (self.cursor if until is None else min(until, self.cursor)):
            event = self._kept.get(cursor + 1)
            if event is None:
                raise EventsDropped(self.session_id, cursor, next(iter(self._kept), self.cursor + 1))
            cursor = event.cursor
            yield event

    async def follow(self, after: int | None) -> AsyncIterator[Event]:
        """Yields every event after a cursor; by default all that this client received."""
        cursor = self.first if after is None else after
        while True:  # ends: with the log
            for event in self.after(cursor):
                cursor = event.cursor
                yield event
            if self.is_over:
                self.raise_error()
                return
            await self._news.wait()

    def raise_error(self) -> None:
        """Raises the error that ended the log, if there is one."""
        if self._error is not None:
            raise self._error

    async def reached(self, cursor: int) -> None:
        """Waits until the event with this cursor has arrived or the log has ended."""
        while self.cursor < cursor and not self.is_over:
            await self._news.wait()

    async def ended(self) -> None:
        """Waits until the last event is `end` or the log has ended."""
        while self._kind != "end" and not self.is_over:
            await self._news.wait()

    def _wake(self) -> None:
        # Current waiters hold the old event; later waiters get the new one.
        self._news.set()
        self._news = asyncio.Event()
