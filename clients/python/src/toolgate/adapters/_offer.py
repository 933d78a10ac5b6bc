"""What every framework is offered of a session's tools: a name, a schema, and a way to call."""

from __future__ import annotations

from collections.abc import Collection

from ..session import Session
from ..types import Described, Json, ToolAnswer

# The schema of a tool that takes a text, such as `apply_patch`, for frameworks that know only objects.
TEXT: Json = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The text of it."}},
    "required": ["input"],
    "additionalProperties": False,
}


async def offered(session: Session, only: Collection[str] | None) -> list[Described]:
    """The tools that are offered: all of them, or those that are named."""
    tools = await session.list_tools()
    if only is None:
        return tools
    if missing := set(only) - {each.name for each in tools}:
        raise ValueError(f"the session has no tool {', '.join(sorted(missing))}")
    return [each for each in tools if each.name in only]


def schema(tool: Described) -> Json:
    """The schema of its arguments."""
    return TEXT if tool.input_schema is None else tool.input_schema


async def call(session: Session, tool: Described, arguments: Json) -> ToolAnswer:
    """Calls it. What failed or was refused is an answer too, which the model reads."""
    if tool.input_schema is None:
        return await session.call(tool.name, input=str(arguments.get("input", "")))
    return await session.call(tool.name, arguments)


def image_url(item: Json) -> str | None:
    """The URL of a picture with its bytes in it; nothing for text."""
    if item.get("type") == "image":
        return f"data:{item['mime_type']};base64,{item['data']}"
    return item.get("image_url")
