"""Receiving side of one session: events, deltas, and reattaching after a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Collection, Iterator
from typing import Any

from ._event_log import EventLog
from ._notification_queue import NotificationQueue
from ._reconnect import ReconnectingConnection
from ._rpc_connection import RpcConnection
from ._turn_tracker import TurnTracker
from .errors import InUse, JournalBehind, TurnLost
from .tools import Tool
from .types import Attached, Delta, Event, Json, Turn, parse

# Retries while another server still holds the session, and the pause between them in seconds.
IN_USE_TRIES, IN_USE_PAUSE = 20, 0.1
# Seconds to wait for the last event after the response to `session/close`.
END_EVENT_SECONDS = 1.0


class Subscription:
    """Receives a session's notifications: stores events, passes all of them to readers, and recovers turns after a reconnect."""

    def __init__(self, session_id: str, tools: dict[str, Tool], start: Json, cursor: int, keep: int) -> None:
        self.log = EventLog(session_id, cursor, keep)
        self.tools = tools
        # Start options, for a server that has to resume the session from its journal.
        self._start = start
        self._trackers: set[TurnTracker] = set()
        self._queues: set[NotificationQueue] = set()
        self.attached: Attached | None = None
        # How often another server than before continued the session. The processes of the one before are gone.
        self.resumed = 0
        # The error that ended the session here, such as a failed reattach.
        self.failure: Exception | None = None

    def receive_event(self, params: Json) -> None:
        """Handles a `session/event` notification."""
        members = params["event"]
        event = Event(params["session_id"], params["cursor"], members.get("kind", ""), members)
        if self.log.push(event):
            for tracker in self._trackers:
                tracker.see(event)
            for queue in self._queues:
                queue.push(event)

    def receive_delta(self, params: Json) -> None:
        """Handles a `session/delta` notification."""
        for queue in self._queues:
            queue.push(Delta(params["session_id"], params.get("kind", ""), params))

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
        self.resumed += attached.resumed
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
        """Ends the event log and all queues."""
        self.failure = self.failure or error
        self.log.end(error)
        for queue in self._queues:
            queue.end()
        for tracker in self._trackers:
            tracker.end()

    @contextlib.contextmanager
    def track_turn(self) -> Iterator[TurnTracker]:
        """Watches the turn of a prompt that is about to be sent."""
        tracker = TurnTracker()
        self._trackers.add(tracker)
        try:
            yield tracker
        finally:
            self._trackers.discard(tracker)

    async def recover_turn(self, tracker: TurnTracker, server: ReconnectingConnection) -> Turn | None:
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
        """Yields deltas, starting when the iteration starts. Ends as the log does: with its error if there is one."""
        queue = self.add_queue()
        try:
            async for item in queue:
                if isinstance(item, Delta):
                    yield item
        finally:
            self.remove_queue(queue)
        if self.failure is not None:
            raise self.failure

    def add_queue(self, first_kinds: Collection[str] = ()) -> NotificationQueue:
        """Adds a queue that gets the events and deltas from now on, or from the next event of these kinds on."""
        queue = NotificationQueue(first_kinds)
        self._queues.add(queue)
        if self.log.is_over:
            queue.end()
        return queue

    def remove_queue(self, queue: NotificationQueue) -> None:
        """Removes a queue, which ends it."""
        self._queues.discard(queue)
        queue.end()


async def _either(work: Awaitable[Any], connection: RpcConnection) -> None:
    """Waits for `work` or the end of the connection, whichever comes first."""
    tasks = {asyncio.ensure_future(work), asyncio.ensure_future(connection.ended.wait())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
