"""A process in a session's sandbox: what it writes, what is typed into it, how it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from .errors import NoSuchProcess
from .types import Json, Output, Piece

if TYPE_CHECKING:
    from ._rpc import Late
    from .session import Session

# How long the server waits for output before it answers that there is none: the most it takes.
WAIT_MS = 30_000


class Process:
    """A process that `session.start_process` started. Whoever does not read it makes it wait."""

    def __init__(self, session: Session, process_id: int) -> None:
        self.session = session
        self.process_id = process_id
        self.exit_code: int | None = None
        # How much of its output was read, in bytes.
        self.position = 0
        # The last that was read: that it is over.
        self._over: Output | None = None

    async def read(self, *, wait_ms: int = WAIT_MS, max_bytes: int | None = None) -> Output:
        """Reads what comes next; nothing lost, nothing twice, also if it is cancelled or the connection is made anew."""
        if self._over is not None:
            return self._over
        params = {"from": self.position, "wait_ms": wait_ms, "max_bytes": max_bytes}
        try:
            output = Output.of(await self._request("process/read", params, again=True, late=self._note_end))
        except NoSuchProcess:
            # The server forgets one whose end it has told; a read that was cancelled may have heard it.
            if self._over is None:
                raise
            return self._over
        self.position = output.next
        self._note(output)
        return output

    async def __aiter__(self) -> AsyncIterator[Piece]:
        """Tells all that it writes, until it is over."""
        while self._over is None:
            for piece in (await self.read()).pieces:
                yield piece

    async def wait(self) -> int | None:
        """Waits until it is over, passing over what it writes; nothing if it was lost."""
        async for _ in self:
            pass
        return self.exit_code

    async def communicate(self, text: str | None = None) -> tuple[bytes, bytes]:
        """Types a text, closes the input, and gives all that it wrote: to `stdout` or its terminal, and to `stderr`."""
        if text is not None:
            await self.write(text, close=True)
        written: dict[bool, list[bytes]] = {True: [], False: []}
        async for piece in self:
            written[piece.stream == "stderr"].append(piece.data)
        return b"".join(written[False]), b"".join(written[True])

    async def write(self, text: str, *, close: bool = False) -> None:
        """Types into it; `close` ends its input."""
        await self._request("process/write", {"text": text, "close": close})

    async def resize(self, rows: int, cols: int) -> None:
        """Changes the size of its terminal."""
        await self._request("process/resize", {"size": {"rows": rows, "cols": cols}}, again=True)

    async def signal(self, name: str) -> None:
        """Sends it and its group a signal: `INT`, `TERM`, `HUP`, `QUIT`, `USR1`, `USR2`, `STOP` or `CONT`."""
        await self._request("process/signal", {"signal": name})

    async def kill(self) -> None:
        """Ends it and all that came of it."""
        await self._request("process/kill", {}, again=True)

    def _note(self, output: Output) -> None:
        if output.state != "running":
            self._over, self.exit_code = output, output.exit_code

    def _note_end(self, answer: Json) -> None:
        """Hears the answer to a read that was cancelled. Pieces in it come again with the next read; an end does not."""
        self._note(Output.of(answer))

    async def _request(self, method: str, params: Json, *, again: bool = False, late: Late | None = None) -> Any:
        return await self.session._request(method, {"process_id": self.process_id, **params}, again=again, late=late)
