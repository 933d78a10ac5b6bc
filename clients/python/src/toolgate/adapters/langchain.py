"""Adapter for LangChain: `model.bind_tools(await structured_tools(session))`. The tools have `invoke` and `ainvoke`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from langchain_core.tools import StructuredTool

from .. import sync
from ..errors import ToolgateError
from ..session import Session
from ..types import Described, Json, ToolAnswer
from ._session_tools import call, image_url, offered, schema


async def structured_tools(session: Session, only: Collection[str] | None = None) -> list[StructuredTool]:
    """Returns a session's tools, or only those in `only`, as structured tools.

    `ainvoke` works on every event loop, and `invoke` in every thread except the one of the session's event loop.
    """
    loop = asyncio.get_running_loop()

    async def ainvoke(tool: Described, arguments: Json) -> ToolAnswer:
        if asyncio.get_running_loop() is loop:
            return await call(session, tool, arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(session, tool, arguments), loop))

    def invoke(tool: Described, arguments: Json) -> ToolAnswer:
        if _running_loop() is loop:
            raise ToolgateError(
                f"`{tool.name}.invoke(…)` would block the event loop that it waits for; "
                "use `await tool.ainvoke(…)`, call it in another thread, or use the tools of a session of `toolgate.sync`"
            )
        answer = asyncio.run_coroutine_threadsafe(call(session, tool, arguments), loop)
        try:
            return answer.result()
        except KeyboardInterrupt:
            answer.cancel()
            raise

    return [_structured_tool(each, invoke, ainvoke) for each in await offered(session, only)]


def sync_structured_tools(session: sync.Session, only: Collection[str] | None = None) -> list[StructuredTool]:
    """Returns the tools of a synchronous session, or only those in `only`, as structured tools with `invoke` and `ainvoke`."""
    asynchronous, loop_thread = session._async, session._loop

    async def ainvoke(tool: Described, arguments: Json) -> ToolAnswer:
        return await loop_thread.run_async(lambda: call(asynchronous, tool, arguments))

    def invoke(tool: Described, arguments: Json) -> ToolAnswer:
        return session._run(lambda: call(asynchronous, tool, arguments))

    return [_structured_tool(each, invoke, ainvoke) for each in session._run(lambda: offered(asynchronous, only))]


def _structured_tool(
    tool: Described,
    invoke: Callable[[Described, Json], ToolAnswer],
    ainvoke: Callable[[Described, Json], Awaitable[ToolAnswer]],
) -> StructuredTool:
    def run(**arguments: Any) -> str | list[Json]:
        return _output(invoke(tool, arguments))

    async def arun(**arguments: Any) -> str | list[Json]:
        return _output(await ainvoke(tool, arguments))

    return StructuredTool(name=tool.name, description=tool.description, args_schema=schema(tool), func=run, coroutine=arun)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _output(answer: ToolAnswer) -> str | list[Json]:
    if not any(image_url(item) for item in answer.content_items):
        return answer.text
    blocks: list[Json] = []
    for item in answer.content_items:
        url = image_url(item)
        text = {"type": "text", "text": item.get("text", "")}
        blocks.append(text if url is None else {"type": "image_url", "image_url": {"url": url}})
    return blocks
