"""Tools of a Python program: functions, their descriptions for the model, and conversion of their results."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import enum
import functools
import inspect
import json
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints, overload
from uuid import UUID

from ._json_schema import object_of, value_of
from ._user_functions import call_user_function
from .errors import PEER_FAULT, PeerFault
from .types import Json

log = logging.getLogger("toolgate")

P = ParamSpec("P")
R = TypeVar("R")

# Types of content items, and the members that each requires.
CONTENT_TYPES: dict[Any, set[str]] = {
    "text": {"text"},
    "input_text": {"text"},
    "image": {"mime_type", "data"},
    "input_image": {"image_url"},
}
# Types that become text in JSON.
WORDS = (PurePath, date, time, Decimal, UUID)


@dataclass(frozen=True)
class Invocation:
    """Call of a Python tool. A function gets it through a parameter of this type, which the model does not see.

    `cancelled` is set when nobody waits for the result any more: the turn or the call was stopped, the time limit of the tool
    is over, or the connection ended. A plain function checks `call.cancelled.is_set()`, or pauses with
    `call.cancelled.wait(seconds)`. An `async def` is cancelled itself.
    """

    session_id: str
    call_id: str
    turn_id: str
    tool: str
    arguments: Json
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)


@dataclass(frozen=True)
class Image:
    """Image that a tool returns, alone or in a list."""

    data: bytes
    mime_type: str = "image/png"


@dataclass(frozen=True)
class Tool:
    """Function that a model or `session.call` calls by name."""

    function: Callable[..., Any]
    name: str
    description: str
    input_schema: Json
    read_only: bool = False
    timeout: float | None = None
    hints: dict[str, Any] = field(default_factory=dict, repr=False)

    def _describe(self) -> Json:
        """Returns the description that the server gets."""
        told = {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "read_only": self.read_only,
        }
        return told if self.timeout is None else {**told, "timeout_ms": round(self.timeout * 1000)}

    async def _invoke(self, invocation: Invocation) -> Json:
        """Answers a call. Logs an exception of the function and raises it as `PeerFault`, which becomes an error response.

        The server then fails the call with the error kind `io`, and the model reads the message.
        """
        try:
            arguments = {name: value_of(self.hints.get(name, Any), value) for name, value in invocation.arguments.items()}
            arguments |= {name: invocation for name, hint in self.hints.items() if hint is Invocation}
            result = await call_user_function(functools.partial(self.function, **arguments))
            return {"content_items": self._content(result), "success": True}
        except asyncio.CancelledError:
            invocation.cancelled.set()
            raise
        except Exception as error:
            log.exception("the tool `%s` raised an exception; the model gets its message", self.name)
            # With the class name: the message of a KeyError is only the key.
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise PeerFault(PEER_FAULT, said) from error

    def _content(self, result: Any) -> list[Json]:
        try:
            return content_items(result)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"the result of the tool `{self.name}` cannot be converted: {error}; "
                "return text, an `Image`, a list of them, or a JSON value"
            ) from error


@dataclass(frozen=True)
class ToolFunction(Tool, Generic[P, R]):
    """Tool that `@tool` made of a function. Calling it calls the function itself."""

    function: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function itself."""
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R]) -> ToolFunction[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Json | None = None,
    read_only: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[P, R]], ToolFunction[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Json | None = None,
    read_only: bool = False,
    timeout: float | None = None,
) -> ToolFunction[P, R] | Callable[[Callable[P, R]], ToolFunction[P, R]]:
    """Makes a tool of a function. The model sees the function's name, docstring and parameter types.

    `async def` runs on the event loop, a plain function in a thread. `read_only` declares that the tool changes nothing,
    so it may run in parallel with others. `timeout` is its time limit in seconds (60).
    """

    if function is not None and not callable(function):
        raise TypeError(f"`@tool` takes keyword arguments: `@tool(name={function!r})`, or `@tool` alone for the name of the function")

    def made(function: Callable[P, R]) -> ToolFunction[P, R]:
        hints = get_type_hints(function, include_extras=True)
        return ToolFunction(
            function=function,
            name=name or function.__name__,
            description=description or inspect.getdoc(function) or "",
            input_schema=input_schema or _arguments(function, hints),
            read_only=read_only,
            timeout=timeout,
            hints={each: hint for each, hint in hints.items() if each != "return"},
        )

    return made if function is None else made(function)


def require_tools(tools: Iterable[Tool]) -> list[Tool]:
    """Returns the tools as a list. Raises `TypeError` for an item that is not a tool."""
    if isinstance(tools, (Tool, str)) or not isinstance(tools, Iterable):
        name = getattr(tools, "name", None) or getattr(tools, "__name__", None)
        raise TypeError(f"`tools` must be a list of tools, such as `tools=[{name or '…'}]`, not {tools!r:.60}")
    given = list(tools)
    for each in given:
        if isinstance(each, Tool):
            continue
        if callable(each) and (name := getattr(each, "__name__", None)):
            raise TypeError(f"`{name}` is not a tool: put `@tool` above `def {name}`, or pass `tool({name})`")
        raise TypeError(f"{each!r} is not a tool; decorate a function with `@tool`")
    return given


def _arguments(function: Callable[..., Any], hints: dict[str, Any]) -> Json:
    parameters = inspect.signature(function).parameters
    for each in parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise TypeError(f"the parameter `{each}` of {function.__name__} cannot be passed by name; give each parameter a name")
    taken = {name: each for name, each in parameters.items() if hints.get(name) is not Invocation}
    required = [name for name, each in taken.items() if each.default is each.empty]
    defaults = {name: each.default for name, each in taken.items() if each.default is not each.empty}
    return object_of({name: hints.get(name, Any) for name in taken}, required, defaults)


def content_items(result: Any) -> list[Json]:
    """Converts the result of a function to content items: text and images unchanged, everything else as JSON.

    Raises `TypeError` for values without a JSON form: `<object object at 0x7f…>` is useless to a model.
    """
    if isinstance(result, Sequence) and not isinstance(result, (str, bytes)) and any(_is_piece(each) for each in result):
        return [piece for each in result for piece in content_items(each)]
    if isinstance(result, Image):
        data = base64.b64encode(result.data).decode()
        return [{"type": "image", "mime_type": result.mime_type, "data": data}]
    if _is_piece(result):
        return [result]
    if result is None:
        return [{"type": "text", "text": "done"}]
    text = result if isinstance(result, str) else json.dumps(result, default=_plain, ensure_ascii=False)
    return [{"type": "text", "text": text}]


def _is_piece(value: Any) -> bool:
    if isinstance(value, Image):
        return True
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return False
    return kind in CONTENT_TYPES and CONTENT_TYPES[kind] <= value.keys()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, WORDS):
        return str(value)
    raise TypeError(f"the type `{type(value).__name__}` has no JSON form")
