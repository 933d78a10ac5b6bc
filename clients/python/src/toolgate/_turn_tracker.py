"""Progress and result of a turn, according to the events. They replace a response that was lost with the connection."""

from __future__ import annotations

import asyncio

from .types import Event, Turn


class TurnTracker:
    """Follows the events of one prompt: `prompt` or `added`, `said`, and the `turn` that ends it."""

    def __init__(self) -> None:
        # The journal has the prompt: as `prompt`, or as `added` to a running turn.
        self.is_taken = False
        # Set when the prompt is in the journal or a turn ends. A busy server always sends one of the two.
        self.moved = asyncio.Event()
        self.over: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._ended_turns: set[str] = set()
        self._is_over = False
        self._news = asyncio.Event()
        self._text = ""
        self._is_cut_off = False

    async def wait_for_turn(self, turn_id: str) -> None:
        """Waits for the event that ends this turn, or for the end of the session."""
        while turn_id not in self._ended_turns and not self._is_over:
            self._news.clear()
            await self._news.wait()

    def end(self) -> None:
        """Handles the end of the session: no more events come."""
        self._is_over = True
        self._news.set()

    def see(self, event: Event) -> None:
        """Handles the next event of the session."""
        if event.kind in ("prompt", "added", "turn"):
            self.moved.set()
        if event.kind == "turn":
            self._ended_turns.add(event["id"])
            self._news.set()
        if event.kind in ("prompt", "added"):
            self.is_taken = True
        elif not self.is_taken or self._is_cut_off or self.over.done():
            return  # the event belongs to another turn
        elif event.kind == "session":
            self._is_cut_off = True  # another server resumed the session, but not the turn
        elif event.kind == "said":
            self._text = event.text or self._text
        elif event.kind == "turn":
            turn = Turn.of({"turn_id": event["id"], "ended": event["ended"], "text": self._text, "detail": event.get("detail")})
            self.over.set_result(turn)
