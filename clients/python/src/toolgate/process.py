"""Process in a session's sandbox: its output, input, signals and exit status."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ._time_limit import check_timeout, limited
from .errors import ConnectionLost, NoSuchProcess, TimedOut
from .types import Json, Output, Piece

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._rpc_connection import OnLate
    from .session import Session

T = TypeVar("T")

# Time that the server waits for output before it answers without any. This is the server's maximum.
WAIT_MS = 30_000


class Process:
    """A process started by `session.start_process`. It blocks if its output is not read."""

    def __init__(self, session: Session, process_id: int) -> None:
        self.session = session
        self.process_id = process_id
        self.exit_code: int | None = None
        # Offset of the next output to read, in bytes.
        self.position = 0
        self._resumed = session._subscription.resumed
        # The last read, which reported the end of the process.
        self._over: Output | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Kills the process, unless its end was read already or the connection is lost."""
        if self._over is None:
            with contextlib.suppress(ConnectionLost, NoSuchProcess):
                await self.kill()
                await self.wait()  # the server keeps a process until its end is read

    async def read(self, *, wait_ms: int = WAIT_MS, max_bytes: int | None = None) -> Output:
        """Reads the next output. Cancellation and reconnects neither lose nor repeat output."""
        if self._over is not None:
            return self._over
        params = {"from": self.position, "wait_ms": wait_ms, "max_bytes": max_bytes}
        try:
            output = Output.of(await self._request("process/read", params, retry=True, on_late=self._note_end))
        except NoSuchProcess:
            # The server forgets a process after it reports the end. A cancelled read may have received that report.
            if self._over is None:
                raise
            return self._over
        self.position = output.next
        self._note(output)
        return output

    async def __aiter__(self) -> AsyncIterator[Piece]:
        """Yields all output until the process ends."""
        while self._over is None:
            for piece in (await self.read()).pieces:
                yield piece

    async def wait(self, timeout: float | None = None) -> int | None:
        """Waits until the process ends, discarding its output. Returns the exit code, or None if the process was lost.

        After `timeout` seconds the process is killed, and `TimedOut` is raised, a `TimeoutError`.
        """

        async def wait() -> int | None:
            async for _ in self:
                pass
            return self.exit_code

        return await self._or_kill(wait, timeout)

    async def communicate(self, text: str | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Writes a text, closes the input, and returns all output: that of `stdout` or the terminal, and that of `stderr`.

        After `timeout` seconds the process is killed, and `TimedOut` is raised, a `TimeoutError`.
        """

        async def communicate() -> tuple[bytes, bytes]:
            if text is not None:
                await self.write(text, close=True)
            written: dict[bool, list[bytes]] = {True: [], False: []}
            async for piece in self:
                written[piece.stream == "stderr"].append(piece.data)
            return b"".join(written[False]), b"".join(written[True])

        return await self._or_kill(communicate, timeout)

    async def write(self, text: str, *, close: bool = False) -> None:
        """Writes to the input of the process; `close` closes the input afterwards."""
        await self._request("process/write", {"text": text, "close": close})

    async def resize(self, rows: int, cols: int) -> None:
        """Changes the size of the terminal."""
        await self._request("process/resize", {"size": {"rows": rows, "cols": cols}}, retry=True)

    async def signal(self, name: str) -> None:
        """Sends a signal to the process and its group: `INT`, `TERM`, `HUP`, `QUIT`, `USR1`, `USR2`, `STOP` or `CONT`."""
        await self._request("process/signal", {"signal": name})

    async def kill(self) -> None:
        """Kills the process and its descendants."""
        await self._request("process/kill", {}, retry=True)

    async def _or_kill(self, work: Callable[[], Coroutine[Any, Any, T]], timeout: float | None) -> T:
        """Awaits `work`, and kills the process at the time limit."""
        check_timeout(timeout)
        try:
            return await limited(work(), timeout, f"process {self.process_id}")
        except TimedOut:
            with contextlib.suppress(ConnectionLost, NoSuchProcess):
                await self.kill()
                await self.wait()  # the server keeps a process until its end is read
            raise

    def _note(self, output: Output) -> None:
        if output.state != "running":
            self._over, self.exit_code = output, output.exit_code

    def _note_end(self, answer: Json) -> None:
        """Handles the response to a cancelled read. The next read repeats its output, but not its report of the end."""
        self._note(Output.of(answer))

    async def _request(self, method: str, params: Json, *, retry: bool = False, on_late: OnLate | None = None) -> Json:
        try:
            return await self.session._request(method, {"process_id": self.process_id, **params}, retry=retry, on_late=on_late)
        except NoSuchProcess as error:
            if self.session._subscription.resumed == self._resumed:
                raise
            message = f"process {self.process_id} ended with its server; a new server continues the session without it"
            raise NoSuchProcess(error.code, message, error.data) from None
