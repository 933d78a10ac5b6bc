"""Stream of one turn: sends a prompt, and yields the events and deltas of the turn until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from .errors import ToolgateError
from .tools import Image
from .types import Delta, Event, Prompted

if TYPE_CHECKING:
    from typing_extensions import Self

    from .session import Session

# Seconds that a turn may take to stop when its stream is left early.
STOP_SECONDS = 5.0


class TurnStream:
    """Events and deltas of one turn. `session.stream` creates it, and `async with` sends the prompt.

    Events come complete and in order. A slow reader misses deltas. Leaving the block before the turn has ended stops the turn.
    """

    def __init__(self, session: Session, text: str, images: Sequence[Image]) -> None:
        self._session = session
        self._text = text
        self._images = images
        self._turn: asyncio.Task[Prompted] | None = None

    @property
    def result(self) -> Prompted:
        """Result of the turn, as `session.prompt` returns it. Raises an error before the turn has ended."""
        if self._turn is None or not self._turn.done():
            raise ToolgateError("the turn has not ended; read its events to the end first")
        return self._turn.result()

    async def __aenter__(self) -> Self:
        if self._turn is not None:
            raise ToolgateError("this stream was used already; call `session.stream` again")
        subscription = self._session._subscription
        self._log, self._queue = subscription.log, subscription.add_queue()
        # Number of the last event that was yielded.
        self._cursor = self._log.cursor
        self._tracking = subscription.track_turn()
        self._tracker = self._tracking.__enter__()
        self._turn = asyncio.create_task(self._run_turn(), name="toolgate turn")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._turn is not None, "set by `__aenter__`"
        try:
            if not self._turn.done():
                await asyncio.wait_for(self._stop(self._turn), STOP_SECONDS)
        except (ToolgateError, asyncio.TimeoutError):
            pass  # the connection is lost, or the turn goes on without this reader
        finally:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
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
            for event in self._log.after(self._cursor, until=item.cursor):
                self._cursor = event.cursor
                yield event
        await asyncio.shield(self._turn)

    async def _run_turn(self) -> Prompted:
        try:
            turn = await self._session.prompt(self._text, self._images)
            # Responses and events have no order between them.
            await self._tracker.wait_for_turn(turn.turn_id)
            return turn
        finally:
            self._queue.end()

    async def _stop(self, turn: asyncio.Task[Prompted]) -> None:
        """Stops the turn, and waits until it has ended."""
        # The server ignores an interrupt that arrives before the turn begins.
        begun = asyncio.ensure_future(self._tracker.moved.wait())
        await asyncio.wait({begun, turn}, return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if not turn.done():
            await self._session.interrupt()
            await asyncio.wait({turn})
