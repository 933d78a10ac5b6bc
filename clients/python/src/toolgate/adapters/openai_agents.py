"""Adapter for the OpenAI Agents SDK: `Agent(tools=await function_tools(session))`."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from agents import FunctionTool, Tool
from agents.tool import ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from ..session import Session
from ..types import Described, ToolAnswer
from ._session_tools import call, image_url, offered, schema


async def function_tools(session: Session, only: Collection[str] | None = None) -> list[Tool]:
    """Returns a session's tools, or only those in `only`, as function tools for `Agent(tools=…)`."""
    return [_function_tool(session, each) for each in await offered(session, only)]


def _function_tool(session: Session, tool: Described) -> FunctionTool:
    async def invoke(_: ToolContext[Any], arguments: str) -> Any:
        try:
            given = json.loads(arguments or "{}")
        except ValueError as error:
            return f"the arguments are not JSON: {error}"
        return _output(await call(session, tool, given))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=schema(tool),
        on_invoke_tool=invoke,
        # The server validates arguments itself. Its schemas have optional members, which strict mode forbids.
        strict_json_schema=False,
    )


def _output(answer: ToolAnswer) -> str | list[ToolOutputText | ToolOutputImage]:
    pieces: list[ToolOutputText | ToolOutputImage] = []
    for item in answer.content_items:
        url = image_url(item)
        pieces.append(ToolOutputText(text=item.get("text", "")) if url is None else ToolOutputImage(image_url=url))
    return pieces if any(isinstance(each, ToolOutputImage) for each in pieces) else answer.text
