"""Adapter for LangChain: `model.bind_tools(await structured_tools(session))`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

from langchain_core.tools import StructuredTool

from ..session import Session
from ..types import Described, Json, ToolAnswer
from ._session_tools import call, image_url, offered, schema


async def structured_tools(session: Session, only: Collection[str] | None = None) -> list[StructuredTool]:
    """Returns a session's tools, or only those in `only`, as structured tools. They are async only: use `ainvoke`."""
    return [_structured_tool(session, each) for each in await offered(session, only)]


def _structured_tool(session: Session, tool: Described) -> StructuredTool:
    async def run(**arguments: Any) -> str | list[Json]:
        return _output(await call(session, tool, arguments))

    def blocked(**_: Any) -> NoReturn:
        # The session runs on an event loop, which a synchronous call would block.
        raise NotImplementedError(f"Toolgate's `{tool.name}` is async only: use `await tool.ainvoke(…)`, not `tool.invoke(…)`")

    return StructuredTool(name=tool.name, description=tool.description, args_schema=schema(tool), func=blocked, coroutine=run)


def _output(answer: ToolAnswer) -> str | list[Json]:
    if not any(image_url(item) for item in answer.content_items):
        return answer.text
    blocks: list[Json] = []
    for item in answer.content_items:
        url = image_url(item)
        text = {"type": "text", "text": item.get("text", "")}
        blocks.append(text if url is None else {"type": "image_url", "image_url": {"url": url}})
    return blocks
