"""Queue of a session's events and deltas for one reader, in the order of their arrival."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection

from .types import Delta, Event

# Notifications queued for one reader. Older ones are dropped: deltas as the server does, events because the log keeps them.
QUEUED = 1024


class NotificationQueue:
    """Queues notifications until the reader takes them or the session ends.

    Events before one of `first_kinds` are ignored. Deltas before it come after it: they may overtake the event of their prompt.
    """

    def __init__(self, first_kinds: Collection[str] = ()) -> None:
        # Number of the first event in the queue, if `first_kinds` are given.
        self.first_cursor = 0
        self._first_kinds = first_kinds
        self._early: deque[Delta] = deque(maxlen=QUEUED)
        self._items: deque[Event | Delta] = deque(maxlen=QUEUED)
        self._news = asyncio.Event()
        self._over = False

    def push(self, item: Event | Delta) -> None:
        """Adds a notification."""
        if self._first_kinds:
            if isinstance(item, Delta):
                self._early.append(item)
                return
            if item.kind not in self._first_kinds:
                return
            self.first_cursor, self._first_kinds = item.cursor, ()
            self._items.append(item)
            self._items.extend(self._early)
            self._early.clear()
        else:
            self._items.append(item)
        self._news.set()

    def end(self) -> None:
        """Ends the iteration after the queued notifications."""
        self._over = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Event | Delta]:
        while True:  # ends: with the session
            while self._items:
                yield self._items.popleft()
            if self._over:
                return
            self._news.clear()
            await self._news.wait()
