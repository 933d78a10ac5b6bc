"""Parts shared by all adapters: list a session's tools, get their schemas, call them."""

from __future__ import annotations

from collections.abc import Collection

from ..session import Session
from ..types import Described, Json, ToolAnswer

# Schema of a tool with text input, such as `apply_patch`, for frameworks that accept only objects.
TEXT: Json = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The text of it."}},
    "required": ["input"],
    "additionalProperties": False,
}


async def offered(session: Session, only: Collection[str] | None) -> list[Described]:
    """Returns the tools of a session: all of them, or only those in `only`."""
    tools = await session.list_tools()
    if only is None:
        return tools
    if missing := set(only) - {each.name for each in tools}:
        raise ValueError(f"the session has no tool {', '.join(sorted(missing))}")
    return [each for each in tools if each.name in only]


def schema(tool: Described) -> Json:
    """Returns the schema of a tool's arguments."""
    return TEXT if tool.input_schema is None else tool.input_schema


async def call(session: Session, tool: Described, arguments: Json) -> ToolAnswer:
    """Calls a tool. A failed or refused call returns an answer too, which the model reads."""
    if tool.input_schema is None:
        return await session.call(tool.name, input=str(arguments.get("input", "")))
    return await session.call(tool.name, arguments)


def image_url(item: Json) -> str | None:
    """Returns the URL of an image item, as a data URL if it contains the bytes, or None for text."""
    if item.get("type") == "image":
        return f"data:{item['mime_type']};base64,{item['data']}"
    return item.get("image_url")
