"""Synchronous API: the classes of this package as ordinary blocking objects, with an event loop in a background thread.

`with Client.spawn() as client: ...`. Each method is the method of the same name of the asynchronous class.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from . import client as _client
from . import process as _process
from . import session as _session
from . import turn_stream as _turn_stream
from ._blocking import Blocking, blocking, iterating, wrapping
from ._loop_thread import LoopThread
from .approvals import OnApproval, OnQuestion
from .errors import ConnectionLost, ToolgateError
from .tools import Image
from .types import Delta, Event, Initialized, Started, Turn

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Client", "Process", "Session", "TurnStream"]

log = logging.getLogger("toolgate")

# Seconds that a client may take to close: longer than its server may take to exit.
CLOSE_SECONDS = 10.0

C = TypeVar("C")
P = ParamSpec("P")


class Process(Blocking[_process.Process]):
    """A process started by `session.start_process`. It blocks if its output is not read.

    `for piece in process:` yields all output. The process is killed at the end of a `with` block.
    """

    def __init__(self, process: _process.Process, loop_thread: LoopThread) -> None:
        super().__init__(process, loop_thread, process.session.id)

    @property
    def session(self) -> Session:
        """Session of the process."""
        return Session(self._async.session, self._loop)

    @property
    def process_id(self) -> int:
        """ID of the process in its session."""
        return self._async.process_id

    @property
    def exit_code(self) -> int | None:
        """Exit code, after the end of the process was read."""
        return self._async.exit_code

    @property
    def position(self) -> int:
        """Offset of the next output to read, in bytes."""
        return self._async.position

    read = blocking(_process.Process.read)
    wait = blocking(_process.Process.wait)
    communicate = blocking(_process.Process.communicate)
    write = blocking(_process.Process.write)
    resize = blocking(_process.Process.resize)
    signal = blocking(_process.Process.signal)
    kill = blocking(_process.Process.kill)
    __iter__ = iterating(_process.Process.__aiter__)


class TurnStream(Blocking[_turn_stream.TurnStream]):
    """Events and deltas of one turn. `session.stream` creates it, and `with` sends the prompt.

    Events come complete and in order. A slow reader misses deltas. Leaving the block before the turn has ended stops the turn.
    """

    def __init__(self, stream: _turn_stream.TurnStream, loop_thread: LoopThread, session_id: str) -> None:
        super().__init__(stream, loop_thread, session_id)
        self._waiting = contextlib.ExitStack()

    def __enter__(self) -> Self:
        super().__enter__()
        # Handlers run in this thread during the whole block, not only while it waits for the next event.
        self._waiting.enter_context(self._loop.waiting(self._session_id))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._loop.is_forked:
            return
        with self._waiting, contextlib.suppress(ConnectionLost):
            # The questions of a turn that is stopped need no answer any more.
            self._loop.run(lambda: self._async.__aexit__(kind, error, trace), session_id=self._session_id, cancel_handlers=True)

    @property
    def result(self) -> Turn:
        """Result of the turn, as `session.prompt` returns it. Raises an error before the turn has ended."""
        return self._async.result

    __iter__ = iterating(_turn_stream.TurnStream.__aiter__)


class Session(Blocking[_session.Session]):
    """A session that a client follows. `client.start_session` and `client.attach` create it.

    Handlers run in a thread that waits for the session. Plain tools run in threads of their own.
    """

    def __init__(self, session: _session.Session, loop_thread: LoopThread) -> None:
        super().__init__(session, loop_thread, session.id)

    @property
    def id(self) -> str:
        """ID of the session, for `client.attach`."""
        return self._async.id

    @property
    def cursor(self) -> int:
        """Number of the last event received. Keep it to call `client.attach` later or from another program."""
        return self._async.cursor

    @property
    def started(self) -> Started | None:
        """Latest details from the server; None until the first response."""
        return self._async.started

    @property
    def on_approval(self) -> OnApproval | None:
        """Handler that decides approvals."""
        return self._async.on_approval

    @on_approval.setter
    def on_approval(self, handler: OnApproval | None) -> None:
        self._async.on_approval = handler

    @property
    def on_question(self) -> OnQuestion | None:
        """Handler that answers questions of the model."""
        return self._async.on_question

    @on_question.setter
    def on_question(self, handler: OnQuestion | None) -> None:
        self._async.on_question = handler

    def stream(self, text: str, images: Sequence[Image] = ()) -> TurnStream:
        """Sends a prompt to the model, and yields the events and deltas of the turn.

        `with session.stream("…") as turn:` sends the prompt, and `for item in turn:` reads. `turn.result` is the result of the
        turn after its last event. Leaving the block early stops the turn.
        """
        return TurnStream(self._async.stream(text, images), self._loop, self.id)

    def prompt(self, text: str, images: Sequence[Image] = (), *, timeout: float | None = None) -> Turn:
        """Sends a prompt to the model and waits until the turn ends. During a turn, adds to its prompt ("steered").

        A turn that fails raises no error: it is logged as a warning, and `ended` and `detail` of the result say how it ended.
        `turn.raise_unless_done()` raises `TurnNotDone` then.

        After `timeout` seconds the turn is stopped, and `TimedOut` is raised, a `TimeoutError`. Ctrl-C (KeyboardInterrupt) stops
        the turn too.

        After a reconnect, the result of the turn is read from the events. A prompt
        that did not reach the server is sent again. If the server died during the turn, `TurnLost` is raised.
        """
        return self._run(lambda: self._async._prompt_or_stop(text, images, timeout=timeout))

    interrupt = blocking(_session.Session.interrupt)

    def events(self, after: int | None = None) -> Iterator[Event]:
        """Yields every event after a cursor, each once and in order, also across reconnects; by default all.

        The iteration ends when this client closes the session, detaches from it, or is closed itself. A lost connection raises
        `ConnectionLost`. In both cases the events that were received come first.
        """
        log = self._async._subscription.log
        cursor = log.first if after is None else after
        try:
            for event in self._iterate(self._async.events(after)):
                cursor = event.cursor
                yield event
        except ConnectionLost:
            if not self._loop.is_stopping:
                raise
            # The event loop has ended, so nothing changes the log any more.
            yield from log.after(cursor)
            log.raise_error()

    def deltas(self) -> Iterator[Delta]:
        """Yields text and output in progress. A slow reader misses some of it. The iteration ends as that of `events`."""
        try:
            yield from self._iterate(self._async.deltas())
        except ConnectionLost:
            if not self._loop.is_stopping:
                raise
            self._async._subscription.log.raise_error()

    call = blocking(_session.Session.call)
    list_tools = blocking(_session.Session.list_tools)
    register = blocking(_session.Session.register)
    unregister = blocking(_session.Session.unregister)
    start_process = wrapping(_session.Session.start_process, Process)
    read_file = blocking(_session.Session.read_file)
    write_file = blocking(_session.Session.write_file)
    list_dir = blocking(_session.Session.list_dir)
    search = blocking(_session.Session.search)
    apply_patch = blocking(_session.Session.apply_patch)
    explain = blocking(_session.Session.explain)
    detach = blocking(_session.Session.detach)
    close = blocking(_session.Session.close)
    request = blocking(_session.Session.request)


class _Constructor(Generic[P]):
    """Class method that creates an asynchronous client and returns its synchronous form."""

    def __init__(self, create: Callable[P, _client.Client]) -> None:
        self._create = create

    def __get__(self, instance: object, owner: Callable[[_client.Client], C]) -> Callable[P, C]:
        @functools.wraps(self._create)
        def create(*args: P.args, **kwargs: P.kwargs) -> C:
            return owner(self._create(*args, **kwargs))

        return create


class Client(Blocking[_client.Client]):
    """A client of one server. Create it with `spawn`, `connect_unix` or `connect_websocket`, and open it:

    `with Client.spawn() as client: ...`
    """

    # Closes the client at the end of the program; None unless the client is open.
    _at_exit: Callable[[], None] | None = None

    def __init__(self, client: _client.Client) -> None:
        super().__init__(client, None)
        self._lock = threading.Lock()

    spawn = _Constructor(_client.Client.spawn)
    connect_unix = _Constructor(_client.Client.connect_unix)
    connect_websocket = _Constructor(_client.Client.connect_websocket)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if self._at_exit is not None:
            warnings.warn(f"unclosed client {self!r}", ResourceWarning, source=self, stacklevel=2)

    @property
    def server(self) -> Initialized | None:
        """Name, version and limits of the server; None before the client is open."""
        return self._async.server

    def open(self) -> None:
        """Connects to the server, once. Call `close` afterwards; `with` does both."""
        with self._lock:
            if self._loop_thread is not None:
                is_open = self._at_exit is not None
                state = "is open already" if is_open else "has ended and cannot be opened again; create a new one"
                raise ToolgateError(f"this client {state}")
            loop_thread = self._loop_thread = LoopThread()
            self._async._registry.handler_runner = loop_thread.handler_runner
            self._at_exit = functools.partial(_close_at_exit, self._async, loop_thread)
            atexit.register(self._at_exit)
        try:
            loop_thread.run(self._async.open)
        except BaseException:
            self._stop()
            self._loop_thread = None  # it may be opened again
            raise

    def close(self) -> None:
        """Closes the connection. Sessions stay alive if the server does."""
        if self._at_exit is None or self._loop.is_forked:
            return  # not open, closed already, or a client of the parent process
        self._loop.check_thread()
        try:
            self._loop.run(self._async.close, timeout=CLOSE_SECONDS)
        except ConnectionLost:
            pass  # another thread closes it too
        except TimeoutError:
            log.warning("the client does not close: an `async def` tool or handler blocks its event loop")
        finally:
            self._stop()

    def _stop(self) -> None:
        """Ends the event loop. Threads that still wait get `ConnectionLost`."""
        self._loop.stop()
        with self._lock:
            at_exit, self._at_exit = self._at_exit, None
        if at_exit is not None:
            atexit.unregister(at_exit)

    start_session = wrapping(_client.Client.start_session, Session)
    attach = wrapping(_client.Client.attach, Session)
    sessions = blocking(_client.Client.sessions)
    request = blocking(_client.Client.request)


def _close_at_exit(client: _client.Client, loop_thread: LoopThread) -> None:
    """Closes a client that is open at the end of the program, so that its server ends too."""
    if loop_thread.is_forked:
        return
    with contextlib.suppress(ToolgateError, TimeoutError):
        loop_thread.run(client.close, timeout=CLOSE_SECONDS)
    loop_thread.stop()
