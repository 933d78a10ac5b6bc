"""Calls of a user's functions: an async function on the event loop, a plain function in a thread, so that it may block."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class BlockingRunner(Protocol):
    """Runs a blocking function without blocking the event loop."""

    def __call__(self, function: Callable[[], T], /) -> Awaitable[T]: ...


class ThreadCall(Generic[T]):
    """Call of a blocking function in another thread. The event loop awaits `result`."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self._loop.create_future()

    def run(self) -> None:
        """Calls the function in the current thread. KeyboardInterrupt cancels the result, and is raised here."""
        if self.result.cancelled():
            return
        try:
            value = self._context.run(self._function)
        except StopIteration as error:
            # A future does not accept a StopIteration.
            stopped = RuntimeError("StopIteration")
            stopped.__cause__ = error
            self._deliver(lambda: self.result.set_exception(stopped))
        except Exception as error:
            raised = error
            self._deliver(lambda: self.result.set_exception(raised))
        except BaseException:
            self.cancel()
            raise
        else:
            self._deliver(lambda: self.result.set_result(value))

    def run_in_thread(self) -> None:
        """Calls the function in a daemon thread of its own.

        Not in a thread pool: its threads delay the end of the program until they return, and a full pool delays other calls.
        The number of threads is bounded by the number of requests that the server may have open.
        """
        threading.Thread(target=self.run, name="toolgate function", daemon=True).start()

    def cancel(self) -> None:
        """Cancels the result, from any thread. A function that runs already is not interrupted."""
        self._deliver(self.result.cancel)

    def _deliver(self, set_result: Callable[[], object]) -> None:
        def deliver() -> None:
            if not self.result.done():  # the request was cancelled
                set_result()

        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(deliver)


async def run_in_thread(function: Callable[[], T], /) -> T:
    """Runs a blocking function in a daemon thread of its own."""
    call = ThreadCall(function)
    call.run_in_thread()
    return await call.result


async def call_user_function(function: Callable[[], Any], run_blocking: BlockingRunner = run_in_thread) -> Any:
    """Calls a user's function, which is bound to its arguments with `functools.partial`, and returns its result."""
    if _is_async(function):
        return await function()
    result = await run_blocking(function)
    return await result if inspect.isawaitable(result) else result


def _is_async(function: Callable[[], Any]) -> bool:
    """Returns true for a function, method or callable object that is declared with `async def`, also within a `partial`."""
    unbound = function.func if isinstance(function, functools.partial) else function
    return inspect.iscoroutinefunction(unbound) or inspect.iscoroutinefunction(type(unbound).__call__)
