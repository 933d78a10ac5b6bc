"""Conversion of a function to a tool: schema, arguments, result."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest

from toolgate import Client, Image, Invocation, PeerFault, Tool, tool
from toolgate._json_schema import schema_of, value_of
from toolgate.tools import content_items, require_tools


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Options(TypedDict, total=False):
    deep: bool


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, STRING),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (list[int], {"type": "array", "items": INTEGER}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (dict, {"type": "object", "additionalProperties": True}),
        (Optional[str], {"type": ["string", "null"]}),  # noqa: UP045
        (int | None, {"type": ["integer", "null"]}),
        (list[int] | None, {"anyOf": [{"type": "array", "items": INTEGER}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "b"], {"enum": [1, "b"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (
            Point,
            {
                "type": "object",
                "properties": {"x": INTEGER, "y": {"type": "number", "default": 0.5}},
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
        (
            Options,
            {
                "type": "object",
                "properties": {"deep": {"type": "boolean"}},
                "required": [],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_a_hint_has_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_a_type_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match=r"the type .* has no JSON schema"):
        schema_of(complex)


@pytest.mark.parametrize(
    ("hint", "json", "value"),
    [
        (Color, "red", Color.RED),
        (float, 1, 1.0),
        (Point, {"x": 1}, Point(1)),
        (list[Point], [{"x": 1, "y": 2}], [Point(1, 2.0)]),
        (dict[str, Color], {"a": "blue"}, {"a": Color.BLUE}),
        (Optional[Point], None, None),  # noqa: UP045
        (Point | str, "x", "x"),
        (set[int], [1, 1], {1}),
        (Options, {"deep": True}, {"deep": True}),
    ],
)
def test_json_becomes_what_the_function_expects(hint: Any, json: Any, value: Any) -> None:
    assert value_of(hint, json) == value


def test_a_function_becomes_a_tool() -> None:
    @tool(read_only=True, timeout=2.5)
    def look(path: str, depth: Annotated[int, "how deep"] = 1, *, at: Invocation) -> None:
        """Looks."""

    assert look._describe() == {
        "name": "look",
        "description": "Looks.",
        "input_schema": {
            "type": "object",
            "properties": {"path": STRING, "depth": {"type": "integer", "description": "how deep", "default": 1}},
            "required": ["path"],
            "additionalProperties": False,
        },
        "read_only": True,
        "timeout_ms": 2500,
    }


def test_parameters_without_a_name_are_refused() -> None:
    def loose(*words: str) -> None: ...

    with pytest.raises(TypeError, match="give each parameter a name"):
        tool(loose)


async def answer(of: Tool, **arguments: Any) -> tuple[bool, str]:
    """Calls a tool. Returns its text, or False and the message of its error response."""
    try:
        told = await of._invoke(Invocation("s", "c", "t", of.name, arguments))
    except PeerFault as fault:
        return False, fault.message
    return told["success"], told["content_items"][0]["text"]


async def test_plain_and_async_functions_are_called_and_what_they_raise_is_told() -> None:
    @tool
    def plain(point: Point) -> str:
        return f"{point.x + 1} {point.y}"

    @tool
    async def slow(color: Color, at: Invocation) -> str:
        return f"{color.name} {at.call_id}"

    @tool
    def wrong() -> None:
        raise ValueError("the city is not known")

    assert await answer(plain, point={"x": 1}) == (True, "2 0.5")
    assert await answer(slow, color="red") == (True, "RED c")
    assert await answer(wrong) == (False, "ValueError: the city is not known")


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (KeyError("city"), "KeyError: 'city'"),
        (ValueError(), "ValueError"),
        # Before Python 3.13 a StopIteration from a thread is lost, and the call would hang.
        (StopIteration(), "RuntimeError: StopIteration"),
    ],
)
async def test_what_a_tool_raises_is_logged_and_told_with_its_type(
    raised: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def lookup() -> None:
        raise raised

    assert await asyncio.wait_for(answer(lookup), 5) == (False, told)
    (record,) = caplog.records
    assert record.levelname == "ERROR" and "`lookup`" in record.getMessage()
    assert record.exc_info and record.exc_info[1] is not None and "in lookup" in caplog.text


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        (object(), "`object`"),
        (b"bytes", "`bytes`"),
        ({"deep": [len]}, "`builtin_function_or_method`"),
        ((each for each in "ab"), "`generator`"),
        ({(1, 2): 3}, "tuple"),
    ],
)
async def test_what_json_does_not_have_is_refused_with_the_name_of_the_tool(odd: Any, kind: str) -> None:
    @tool
    def peculiar() -> Any:
        return odd

    is_success, told = await answer(peculiar)
    assert not is_success and "`peculiar`" in told and kind in told and "return text" in told and " at 0x" not in told


async def test_a_parameter_may_have_any_name() -> None:
    @tool
    def search(function: str, args: int, self: str) -> str:
        return f"{function} {args} {self}"

    assert await answer(search, function="f", args=1, self="s") == (True, "f 1 s")


def test_a_function_that_is_no_tool_is_named() -> None:
    def forecast() -> None: ...

    with pytest.raises(TypeError, match=r"`forecast` is not a tool: put `@tool` above `def forecast`, or pass `tool\(forecast"):
        require_tools([forecast])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="'forecast' is not a tool; decorate a function with `@tool`"):
        require_tools(["forecast"])  # type: ignore[list-item]


@pytest.mark.parametrize("tools", [tool(lambda: None), lambda: None, "forecast", 1])
def test_tools_that_are_no_list_are_refused_with_an_example(tools: Any) -> None:
    with pytest.raises(TypeError, match=r"^`tools` must be a list of tools, such as `tools=\[.*\]`, not "):
        require_tools(tools)


def test_a_name_in_place_of_the_function_is_refused_with_an_example() -> None:
    with pytest.raises(TypeError, match=r"`@tool` takes keyword arguments: `@tool\(name='forecast'\)`"):
        tool("forecast")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("model", "gpt-5", '`model` must be a dict, such as {"name": "gpt-5"}, not \'gpt-5\''),
        ("model", 5, '`model` must be a dict, such as {"name": "gpt-5"}, not 5'),
        ("on_approval", "yes", "`on_approval` must be a function, not 'yes'"),
        ("on_question", 1, "`on_question` must be a function, not 1"),
        ("keep_events", "1", "`keep_events` must be an integer of at least 1, not '1'"),
        ("keep_events", 0, "`keep_events` must be an integer of at least 1, not 0"),
        ("tools", "ok", "`tools` must be a list of tools, such as `tools=[…]`, not 'ok'"),
    ],
)
async def test_an_option_of_a_wrong_type_is_refused_before_anything_is_sent(option: str, value: Any, message: str) -> None:
    client = Client.spawn("/none")
    for opening in (client.start_session(**{option: value}), client.attach("s", **{option: value})):
        with pytest.raises(TypeError) as error:
            await opening
        assert str(error.value) == message


@pytest.mark.parametrize(
    ("result", "items"),
    [
        ("a", [{"type": "text", "text": "a"}]),
        (None, [{"type": "text", "text": "done"}]),
        ([1, 2], [{"type": "text", "text": "[1, 2]"}]),
        (Point(1), [{"type": "text", "text": '{"x": 1, "y": 0.5}'}]),
        ({"c": Color.RED}, [{"type": "text", "text": '{"c": "red"}'}]),
        (Image(b"x"), [{"type": "image", "mime_type": "image/png", "data": "eA=="}]),
        (["a", Image(b"x")], [{"type": "text", "text": "a"}, {"type": "image", "mime_type": "image/png", "data": "eA=="}]),
        ([{"type": "text", "text": "b"}], [{"type": "text", "text": "b"}]),
        # A dict of the user that is not a content item.
        ({"type": "image", "url": "u"}, [{"type": "text", "text": '{"type": "image", "url": "u"}'}]),
        ({"at": date(2026, 1, 2), "in": Path("a")}, [{"type": "text", "text": '{"at": "2026-01-02", "in": "a"}'}]),
    ],
)
def test_what_is_returned_becomes_content(result: Any, items: list[Any]) -> None:
    assert content_items(result) == items
