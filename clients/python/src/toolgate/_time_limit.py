"""Time limits of calls, which stop the work that they limit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from .errors import TimedOut

T = TypeVar("T")


def check_timeout(timeout: object) -> None:
    """Raises `TypeError` or `ValueError` for a time limit that is no number of seconds."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"`timeout` must be a number of seconds or None, not {timeout!r}")
    if not timeout > 0:
        raise ValueError(f"`timeout` must be more than 0 seconds, not {timeout!r}")


async def limited(work: Coroutine[Any, Any, T], timeout: float | None, what: str) -> T:
    """Awaits `work`, and cancels it at the time limit. Raises `TimedOut` after it has reacted to that."""
    if timeout is None:
        return await work
    task = asyncio.ensure_future(work)
    try:
        # Not `asyncio.timeout`: Python 3.10 lacks it. Not `wait_for`: `work` may raise a `TimeoutError` of its own.
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await _cancel(task)
        raise
    if done:
        return task.result()
    await _cancel(task)
    raise TimedOut(f"{what} took longer than {timeout:g} s")


async def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
