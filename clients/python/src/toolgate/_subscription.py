"""Receiving side of one session: events, deltas, and reattaching after a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

from ._event_log import EventLog
from ._reconnect import ReconnectingConnection
from ._rpc_connection import RpcConnection
from ._turn_tracker import TurnTracker
from .errors import InUse, JournalBehind, TurnLost
from .tools import Tool
from .types import Attached, Delta, Event, Json, Prompted, parse

# Deltas queued for one reader; older ones are dropped, as the server does for slow readers.
DELTAS = 1024
# Retries while another server still holds the session, and the pause between them in seconds.
IN_USE_TRIES, IN_USE_PAUSE = 20, 0.1
# Seconds to wait for the last event after the response to `session/close`.
END_EVENT_SECONDS = 1.0


class Subscription:
    """Receives a session's notifications: stores events, passes deltas to readers, and resolves turns after a reconnect."""

    def __init__(self, session_id: str, tools: dict[str, Tool], start: Json, cursor: int, keep: int) -> None:
        self.log = EventLog(session_id, cursor, keep)
        self.tools = tools
        # Start options, for a server that has to resume the session from its journal.
        self._start = start
        self._trackers: set[TurnTracker] = set()
        self._readers: set[_Reader] = set()
        self.attached: Attached | None = None
        # The error that ended the session here, such as a failed reattach.
        self.failure: Exception | None = None

    def receive_event(self, params: Json) -> None:
        """Handles a `session/event` notification."""
        members = params["event"]
        event = Event(params["session_id"], params["cursor"], members.get("kind", ""), members)
        if self.log.push(event):
            for tracker in self._trackers:
                tracker.see(event)

    def receive_delta(self, params: Json) -> None:
        """Handles a `session/delta` notification."""
        for reader in self._readers:
            reader.push(Delta(params["session_id"], params.get("kind", ""), params))

    async def attach(self, connection: RpcConnection) -> Attached:
        """Attaches to the session after the last event received."""
        params: Json = {
            "session_id": self.log.session_id,
            "cursor": self.log.cursor,
            "tools": [each._describe() for each in self.tools.values()],
            "start": self._start,
        }
        attached = parse(Attached, await connection.request("session/attach", params))
        if attached.cursor < params["cursor"]:
            # The next events would reuse cursors of events that were already received.
            raise JournalBehind(self.log.session_id, params["cursor"], attached.cursor)
        self.attached = attached
        return attached

    async def attach_again(self, connection: RpcConnection) -> Attached:
        """Attaches after a lost connection. Retries while the previous server still holds the session."""
        for _ in range(IN_USE_TRIES):
            try:
                return await self.attach(connection)
            except InUse:
                await asyncio.sleep(IN_USE_PAUSE)
        return await self.attach(connection)

    async def wait_for_end(self) -> None:
        """Waits for the `end` event of a closed session. Events and responses are not ordered against each other."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.log.ended(), END_EVENT_SECONDS)

    def end(self, error: Exception | None = None) -> None:
        """Ends the event log and all delta readers."""
        self.failure = self.failure or error
        self.log.end(error)
        for reader in self._readers:
            reader.end()

    @contextlib.contextmanager
    def track_turn(self) -> Iterator[TurnTracker]:
        """Watches the turn of a prompt that is about to be sent."""
        tracker = TurnTracker()
        self._trackers.add(tracker)
        try:
            yield tracker
        finally:
            self._trackers.discard(tracker)

    async def recover_turn(self, tracker: TurnTracker, server: ReconnectingConnection) -> Prompted | None:
        """Returns the result of a turn whose response was lost, or None if the server never got the prompt."""
        while True:  # ends: each round is a connection, and reconnecting gives up within bounds
            connection = await server.ready()
            if self.failure is not None:
                raise self.failure
            assert self.attached is not None, "a connection that is ready has attached every session"
            attached = self.attached
            await _either(self.log.reached(attached.cursor), connection)
            if tracker.over.done():
                return tracker.over.result()
            if connection.ended.is_set():
                continue
            if attached.busy:
                # The server may have accepted the prompt and not yet written it to the journal.
                await _either(tracker.moved.wait(), connection)
            if connection.ended.is_set():
                continue
            if not tracker.is_taken:
                return None
            if not attached.busy:
                raise TurnLost(self.log.session_id, self.log.cursor)
            await _either(asyncio.shield(tracker.over), connection)

    async def deltas(self) -> AsyncIterator[Delta]:
        """Yields deltas, starting when the iteration starts."""
        reader = _Reader()
        self._readers.add(reader)
        try:
            async for delta in reader:
                yield delta
        finally:
            self._readers.discard(reader)


class _Reader:
    """Queue of deltas for one reader."""

    def __init__(self) -> None:
        self._waiting: deque[Delta] = deque(maxlen=DELTAS)
        self._news = asyncio.Event()
        self._over = False

    def push(self, delta: Delta) -> None:
        self._waiting.append(delta)
        self._news.set()

    def end(self) -> None:
        self._over = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Delta]:
        while True:  # ends: with the session
            while self._waiting:
                yield self._waiting.popleft()
            if self._over:
                return
            self._news.clear()
            await self._news.wait()


async def _either(work: Awaitable[Any], connection: RpcConnection) -> None:
    """Waits for `work` or the end of the connection, whichever comes first."""
    tasks = {asyncio.ensure_future(work), asyncio.ensure_future(connection.ended.wait())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
