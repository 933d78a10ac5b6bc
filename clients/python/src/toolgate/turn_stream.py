"""Stream of one turn: sends a prompt, and yields its events and deltas. Leaving the block stops the turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from .errors import ToolgateError
from .tools import Image
from .types import Delta, Event, Turn

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._turn_tracker import TurnTracker
    from .session import Session

# Seconds that a turn may take to stop.
STOP_SECONDS = 5.0


class TurnStream:
    """Events and deltas of one turn, from its `prompt` on. `session.stream` creates it, and `async with` sends the prompt.

    Events come complete and in order. A slow reader misses deltas. Leaving the block before the turn has ended stops the turn.
    """

    def __init__(self, session: Session, text: str, images: Sequence[Image]) -> None:
        self._session = session
        self._text = text
        self._images = images
        self._turn: asyncio.Task[Turn] | None = None
        # Number of the last event that was yielded.
        self._cursor = 0

    @property
    def result(self) -> Turn:
        """Result of the turn, as `session.prompt` returns it. Raises an error before the turn has ended."""
        if self._turn is None or not self._turn.done():
            raise ToolgateError("the turn has not ended; read its events to the end first")
        return self._turn.result()

    async def __aenter__(self) -> Self:
        if self._turn is not None:
            raise ToolgateError("this stream was used already; call `session.stream` again")
        subscription = self._session._subscription
        self._log = subscription.log
        # Events from before the prompt may arrive after it was sent.
        self._queue = subscription.add_queue(first_kinds=("prompt", "added"))
        self._tracking = subscription.track_turn()
        self._tracker = self._tracking.__enter__()
        self._turn = asyncio.create_task(self._run_turn(), name="toolgate turn")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._turn is not None, "set by `__aenter__`"
        try:
            await stop_turn(self._session, self._tracker, self._turn)
        finally:
            self._tracking.__exit__(None, None, None)
            self._session._subscription.remove_queue(self._queue)

    async def __aiter__(self) -> AsyncIterator[Event | Delta]:
        if self._turn is None:
            raise ToolgateError("the prompt is not sent yet: use `with session.stream(…) as turn:`")
        async for item in self._queue:
            if isinstance(item, Delta):
                yield item
                continue
            # The queue of a slow reader drops events. The log still has them, or raises `EventsDropped`.
            self._cursor = max(self._cursor, self._queue.first_cursor - 1)
            for event in self._log.after(self._cursor, until=item.cursor):
                self._cursor = event.cursor
                yield event
        await asyncio.shield(self._turn)

    async def _run_turn(self) -> Turn:
        try:
            turn = await self._session.prompt(self._text, self._images)
            # Responses and events have no order between them.
            await self._tracker.wait_for_turn(turn.turn_id)
            return turn
        finally:
            self._queue.end()


async def stop_turn(session: Session, tracker: TurnTracker, turn: asyncio.Task[Turn]) -> None:
    """Interrupts a turn, and waits until it has ended or the connection is lost, within bounds."""

    async def stop() -> None:
        # The server ignores an interrupt that arrives before the turn begins.
        begun = asyncio.ensure_future(tracker.moved.wait())
        await asyncio.wait({begun, turn}, return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if not turn.done():
            await session.interrupt()
            await asyncio.wait({turn})

    try:
        with contextlib.suppress(ToolgateError, asyncio.TimeoutError):
            await asyncio.wait_for(stop(), STOP_SECONDS)
    finally:
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
