"""Event loop in a background thread. Other threads run coroutines on it and wait for the results."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from ._user_functions import BlockingRunner, ThreadCall
from .errors import ConnectionLost, ToolgateError

T = TypeVar("T")

# Seconds that a cancelled call may take to end: longer than a turn may take to stop.
CANCEL_SECONDS = 10.0
# Seconds that the remaining tasks, and the thread itself, may take to end.
STOP_SECONDS = 5.0


class LoopThread:
    """Event loop in a daemon thread. Any number of threads may use it at the same time.

    Handlers of a session, such as `on_approval`, run in a thread that waits for that session. So a handler that reads from the
    terminal runs in the main thread of a simple program, and Ctrl-C interrupts it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # Reentrant: a signal handler may make a call at any point.
        self._lock = threading.RLock()
        self._is_stopping = False
        # Inboxes of the threads that wait, by thread ID.
        self._inboxes: dict[int, _Inbox] = {}
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._serve, name="toolgate event loop", daemon=True)
        self._thread.start()

    def run(
        self,
        function: Callable[[], Awaitable[T]],
        *,
        session_id: str | None = None,
        cancel_handlers: bool = False,
        timeout: float | None = None,
    ) -> T:
        """Calls an async function on the event loop, and waits for its result.

        Meanwhile, handlers of the session run in the current thread; with `cancel_handlers` they are cancelled instead.
        KeyboardInterrupt, and every other exception that a signal handler raises, cancels the function and is raised here.
        """
        with self.waiting(session_id) as inbox:
            call = _LoopCall(function, inbox)
            self._schedule(call.start)
            try:
                inbox.serve(call, timeout, cancel_handlers=cancel_handlers)
            except BaseException:
                inbox.cancel_calls()
                with contextlib.suppress(ToolgateError, TimeoutError):
                    self._schedule(call.cancel)
                    inbox.serve(call, CANCEL_SECONDS, cancel_handlers=True)
                raise
            return call.result()

    async def run_async(self, function: Callable[[], Awaitable[T]]) -> T:
        """Calls an async function on this event loop, for a coroutine of this or of another event loop."""
        if asyncio.get_running_loop() is self._loop:
            return await function()

        async def call() -> T:
            return await function()

        with self._lock:
            self._check_is_running()
            result = asyncio.run_coroutine_threadsafe(call(), self._loop)
        try:
            return await asyncio.wrap_future(result)
        except asyncio.CancelledError:
            if self._is_stopping:
                raise ConnectionLost("the client is closed") from None
            raise

    @contextlib.contextmanager
    def waiting(self, session_id: str | None) -> Iterator[_Inbox]:
        """Declares that the current thread waits for a session, so that its handlers run here."""
        self.check_thread()
        thread_id = threading.get_ident()
        with self._lock:
            inbox = self._inboxes.setdefault(thread_id, _Inbox())
            inbox.waits[session_id] += 1
        try:
            yield inbox
        finally:
            with self._lock:
                inbox.waits[session_id] -= 1
                if not +inbox.waits:
                    del self._inboxes[thread_id]
                inbox.hand_over(session_id)

    def handler_runner(self, session_id: str) -> BlockingRunner:
        """Returns the runner for a session's handlers: in a thread that waits for the session, otherwise in one of its own."""

        async def run(function: Callable[[], T], /) -> T:
            call = ThreadCall(function)
            with self._lock:
                inboxes = [each for each in self._inboxes.values() if each.waits[session_id]]
                if inboxes:
                    # The main thread if it waits: it gets KeyboardInterrupt.
                    max(inboxes, key=lambda each: each.is_main_thread).put(session_id, call)
                else:
                    call.run_in_thread()
            return await call.result

        return run

    def check_thread(self) -> None:
        """Raises an error in a thread whose call could never be answered."""
        if self.is_forked:
            raise ToolgateError("this process is a fork of the one that opened the client; open another client in this process")
        if threading.current_thread() is self._thread:
            raise ToolgateError(
                "a synchronous call in an `async def` function of this client would wait for itself for ever; "
                "declare the function with `def`, or use the asynchronous `toolgate.Client`"
            )

    @property
    def is_stopping(self) -> bool:
        """True if calls raise `ConnectionLost` because the client is closed."""
        return self._is_stopping

    @property
    def is_forked(self) -> bool:
        """True in a fork of the process that created this object. The fork has no such thread."""
        return self._pid != os.getpid()

    def stop(self) -> None:
        """Cancels all tasks and ends the thread. Calls that still wait raise `ConnectionLost`."""
        with self._lock:
            is_first, self._is_stopping = not self._is_stopping, True
        if is_first:
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS)

    def _schedule(self, start: Callable[[], None]) -> None:
        with self._lock:
            self._check_is_running()
            self._loop.call_soon_threadsafe(start)

    def _check_is_running(self) -> None:
        if self._is_stopping:
            raise ConnectionLost("the client is closed")

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_cancel_all_tasks())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
            with self._lock:
                for inbox in self._inboxes.values():
                    inbox.close()


async def _cancel_all_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_SECONDS)


class _LoopCall(Generic[T]):
    """Call of an async function on the event loop, for a thread that waits."""

    def __init__(self, function: Callable[[], Awaitable[T]], inbox: _Inbox) -> None:
        self._function = function
        self._inbox = inbox
        self._task: asyncio.Task[T] | None = None
        self.is_done = False

    def start(self) -> None:
        """Starts the task, on the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._call())
        self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        """Cancels the task, on the event loop."""
        if self._task is not None:
            self._task.cancel()

    def result(self) -> T:
        """Returns the result after the end, in the thread that waits."""
        assert self._task is not None, "it is done, so it was started"
        try:
            return self._task.result()
        except asyncio.CancelledError:
            raise ConnectionLost("the client is closed") from None

    async def _call(self) -> T:
        return await self._function()

    def _finish(self, task: asyncio.Task[T]) -> None:
        # Marks the exception as retrieved. Otherwise asyncio logs it if the thread was interrupted.
        _ = task.cancelled() or task.exception()
        self.is_done = True
        self._inbox.wake()


class _Inbox:
    """Work for a thread that waits: calls of handlers, and wake-ups."""

    def __init__(self) -> None:
        self.is_main_thread = threading.current_thread() is threading.main_thread()
        self._is_closed = False
        # How often the thread waits for each session. Calls may be nested: a handler may make calls too.
        self.waits: Counter[str | None] = Counter()
        # A `SimpleQueue`, because a KeyboardInterrupt at any point leaves it intact.
        self._items: queue.SimpleQueue[tuple[str, ThreadCall[object]] | None] = queue.SimpleQueue()

    def put(self, session_id: str, call: ThreadCall[T]) -> None:
        """Adds the call of a handler."""
        self._items.put((session_id, call))  # type: ignore[arg-type]

    def close(self) -> None:
        """Ends the wait with an error: the event loop has ended, and a task may have resisted its cancellation."""
        self._is_closed = True
        self.wake()

    def wake(self) -> None:
        """Wakes the thread, which then checks what it waits for."""
        self._items.put(None)

    def serve(self, call: _LoopCall[T], timeout: float | None, *, cancel_handlers: bool) -> None:
        """Runs handlers in the current thread, or cancels them, until `call` is done."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not call.is_done:  # checked each time: a nested call may have taken the wake-up
            if self._is_closed:
                raise ConnectionLost("the client is closed")
            try:
                item = self._items.get(timeout=None if deadline is None else max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError("the event loop did not answer in time") from None
            if item is not None and cancel_handlers:
                item[1].cancel()
            elif item is not None:
                item[1].run()

    def cancel_calls(self) -> None:
        """Cancels the calls that have not begun."""
        for _, call in self._take_all():
            call.cancel()

    def hand_over(self, session_id: str | None) -> None:
        """Runs calls in threads of their own if the thread no longer waits for their session."""
        for session, call in self._take_all():
            if session == session_id and not self.waits[session]:
                call.run_in_thread()
            else:
                self.put(session, call)

    def _take_all(self) -> list[tuple[str, ThreadCall[object]]]:
        taken = []
        with contextlib.suppress(queue.Empty):
            while True:  # ends: with the items
                taken.append(self._items.get_nowait())
        return [item for item in taken if item is not None]
