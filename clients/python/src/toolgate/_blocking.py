"""Synchronous forms of asynchronous objects and of their methods, with the same signatures."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar

from ._loop_thread import LoopThread
from .errors import ConnectionLost, ToolgateError

if TYPE_CHECKING:
    from typing_extensions import Self


class _End(enum.Enum):
    """Marks the end of an iteration."""

    END = "end"


class AsyncContext(Protocol):
    """Asynchronous object with an `async with` block."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


A = TypeVar("A", bound=AsyncContext)
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


class Blocking(Generic[A]):
    """Synchronous form of an asynchronous object. Its methods run the methods of that object on an event loop, and wait.

    Two forms of the same object are equal. All methods may be called from several threads at the same time.
    """

    def __init__(self, asynchronous: A, loop_thread: LoopThread | None, session_id: str | None = None) -> None:
        self._async = asynchronous
        self._loop_thread = loop_thread
        self._session_id = session_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocking) and self._async is other._async

    def __hash__(self) -> int:
        return hash(self._async)

    def __repr__(self) -> str:
        return repr(self._async)

    def __enter__(self) -> Self:
        self._run(self._async.__aenter__)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._loop.is_forked:
            with contextlib.suppress(ConnectionLost):
                self._run(lambda: self._async.__aexit__(kind, error, trace))

    @property
    def _loop(self) -> LoopThread:
        if self._loop_thread is None:
            raise ToolgateError("this client is not open: use `with client:`, or `client.open()` first")
        return self._loop_thread

    def _run(self, function: Callable[[], Awaitable[R]]) -> R:
        return self._loop.run(function, session_id=self._session_id)

    def _iterate(self, iterator: AsyncIterator[T]) -> Iterator[T]:
        async def step() -> T | Literal[_End.END]:
            try:
                return await iterator.__anext__()
            except StopAsyncIteration:
                return _End.END

        # If the caller leaves the loop early, asyncio closes the async generator when nothing refers to it any more.
        while (item := self._run(step)) is not _End.END:
            yield item


def blocking(method: Callable[Concatenate[A, P], Awaitable[R]]) -> Callable[Concatenate[Blocking[A], P], R]:
    """Returns the synchronous form of an async method."""

    @functools.wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(lambda: method(self._async, *args, **kwargs))

    return call


def wrapping(
    method: Callable[Concatenate[A, P], Awaitable[R]], wrap: Callable[[R, LoopThread], S]
) -> Callable[Concatenate[Blocking[A], P], S]:
    """Returns the synchronous form of an async method whose result is an asynchronous object, which `wrap` makes synchronous."""

    @functools.wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> S:
        return wrap(self._run(lambda: method(self._async, *args, **kwargs)), self._loop)

    return call


def iterating(method: Callable[Concatenate[A, P], AsyncIterator[T]]) -> Callable[Concatenate[Blocking[A], P], Iterator[T]]:
    """Returns the synchronous form of a method that returns an async iterator."""

    @functools.wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._iterate(method(self._async, *args, **kwargs))

    return call
