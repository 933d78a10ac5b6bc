"""How a turn ended whose answer was lost with the connection: read from the events, as they come."""

from __future__ import annotations

import asyncio

from .types import Event, Prompted


class TurnWatch:
    """Follows what comes of one prompt: its `prompt`, what the model `said`, and the `turn` that is over."""

    def __init__(self) -> None:
        # Whether the server has written the prompt down: as one, or as what was added to a turn that ran.
        self.is_taken = False
        # The prompt was written down, or a turn is over: one of both comes while the server is busy.
        self.moved = asyncio.Event()
        self.over: asyncio.Future[Prompted] = asyncio.get_running_loop().create_future()
        self._text = ""
        self._is_cut_off = False

    def see(self, event: Event) -> None:
        """Takes the next event of the session."""
        if event.kind in ("prompt", "added", "turn"):
            self.moved.set()
        if event.kind in ("prompt", "added"):
            self.is_taken = True
        elif not self.is_taken or self._is_cut_off or self.over.done():
            return  # of a turn before this one, or after it
        elif event.kind == "session":
            self._is_cut_off = True  # another server goes on with the session, but not with the turn
        elif event.kind == "said":
            self._text = event.text or self._text
        elif event.kind == "turn":
            turn = Prompted(event["id"], event["ended"], self._text, event.get("detail"))
            self.over.set_result(turn)
