"""What the server answers, as dataclasses. Members that a newer server adds are passed over."""

from __future__ import annotations

import base64
import dataclasses
import functools
import types as _types
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Json = dict[str, Any]
T = TypeVar("T")

# What commands of a session may do (docs/sandbox.md).
Sandbox = Literal["read-only", "workspace-write", "external", "danger-full-access"]
# When somebody is asked (docs/approval.md).
ApprovalPolicy = Literal["untrusted", "on-failure", "on-request", "never", "auto", "disabled"]
# How a model is spoken to: OpenAI Responses, OpenAI Chat Completions, Anthropic Messages.
Wire = Literal["responses", "chat", "anthropic"]


def parse(cls: type[T], value: Json) -> T:
    """Makes a dataclass of a JSON object."""
    known: Any = cls  # mypy takes no `type[T]` for hashable
    hints = _hints(known)
    # A member that is a word of Python's, such as `from`, is a field with `_` after it.
    members = ((name, hint, name.rstrip("_")) for name, hint in hints.items())
    return cls(**{name: _member(hint, value[key]) for name, hint, key in members if key in value})


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {each.name: hints[each.name] for each in dataclasses.fields(cls)}


def _member(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) in (Union, _types.UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is list and dataclasses.is_dataclass(item := get_args(hint)[0]):
        return [parse(item, each) for each in value]  # type: ignore[arg-type]
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return parse(hint, value)
    return value


@dataclass(frozen=True)
class Limits:
    """How much there may be of everything."""

    message_bytes: int
    requests: int
    sessions: int
    tools: int
    processes: int


@dataclass(frozen=True)
class Server:
    """Who answers."""

    name: str
    version: str | None = None


@dataclass(frozen=True)
class Initialized:
    """Who answers, and within which bounds."""

    protocol: int
    server: Server
    limits: Limits


@dataclass(frozen=True)
class Started:
    """A session as the server has it."""

    session_id: str
    journal: str
    cwd: str
    sandbox: str
    approval: str
    model: str | None = None
    tools: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Attached(Started):
    """A session that is followed again."""

    resumed: bool = False
    busy: bool = False
    cursor: int = 0


@dataclass(frozen=True)
class ListedSession:
    """What is known of a session."""

    session_id: str
    live: bool
    busy: bool
    cwd: str
    started: str
    last: str
    prompts: int
    first_prompt: str
    calls: int


Ended = Literal["done", "cut_short", "interrupted", "max_turns", "failed", "steered"]


@dataclass(frozen=True)
class Prompted:
    """A turn that is over: `ended` says how, `text` is what the model said last."""

    turn_id: str
    ended: Ended
    text: str = ""
    detail: str | None = None


@dataclass(frozen=True)
class Event:
    """A line of the session's journal: `kind` says what happened, the members depend on it (docs/journal.md)."""

    session_id: str
    cursor: int
    kind: str
    members: Json

    def __getitem__(self, name: str) -> Any:
        return self.members[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Gives a member that may be missing."""
        return self.members.get(name, default)

    @property
    def text(self) -> str:
        """The words in it: of a prompt, an answer, a notice, or all that the model said in one response."""
        if self.kind != "said":
            return str(self.members.get("text", ""))
        pieces = [piece for item in self.members.get("items", []) for piece in item.get("pieces", [])]
        return "".join(piece["text"] for piece in pieces if isinstance(piece.get("text"), str))


@dataclass(frozen=True)
class Delta:
    """Something that is on its way; the event comes when it is whole."""

    session_id: str
    kind: str
    members: Json

    @property
    def text(self) -> str:
        """The next piece of text, thought or output."""
        return str(self.members.get("text", ""))


@dataclass(frozen=True)
class Described:
    """What is told of a tool; one without an `input_schema` takes a text, its `input`."""

    name: str
    description: str
    input_schema: Json | None = None


@dataclass(frozen=True)
class ToolAnswer:
    """What came of a call."""

    call_id: str
    success: bool
    content_items: list[Json]
    elapsed_ms: int = 0
    error: str | None = None
    structured: Any = None
    kept: str | None = None
    repeated: bool = False

    @property
    def text(self) -> str:
        """The words of the answer, as a model reads them."""
        return "\n".join(item["text"] for item in self.content_items if isinstance(item.get("text"), str))


@dataclass(frozen=True)
class FilePart:
    """What was read of a file; `next` is where the next read goes on, nothing at the end."""

    data: bytes
    size: int
    next: int | None = None

    @property
    def text(self) -> str:
        """The text; what is no UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")

    @staticmethod
    def of(value: Json) -> FilePart:
        """Reads it from what the server says."""
        return FilePart(_bytes(value), value["size"], value.get("next"))


@dataclass(frozen=True)
class Written:
    """A file that was written."""

    created: bool
    size: int


@dataclass(frozen=True)
class Entry:
    """Something in a directory."""

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int | None = None


@dataclass(frozen=True)
class Listing:
    """What is in a directory; not all of it unless `complete`."""

    entries: list[Entry]
    complete: bool


@dataclass(frozen=True)
class Hit:
    """A line that was found."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """What a search found; not all of it unless `complete`."""

    hits: list[Hit]
    complete: bool


@dataclass(frozen=True)
class Change:
    """A file that a patch changed: `A`dded, `M`odified, `D`eleted or `R`enamed `from_` another place."""

    kind: str
    path: str
    from_: str | None = None


@dataclass(frozen=True)
class Patched:
    """A patch that was applied; `repeated` says that this is the answer of an earlier one with the same key."""

    changes: list[Change]
    text: str
    repeated: bool = False


@dataclass(frozen=True)
class Piece:
    """A piece of what a process wrote to `stdout`, `stderr` or its `terminal`."""

    stream: str
    data: bytes

    @property
    def text(self) -> str:
        """The text; what is no UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Output:
    """What was read of a process, and how far it is."""

    pieces: list[Piece]
    next: int
    state: Literal["running", "exited", "lost"]
    exit_code: int | None = None

    @staticmethod
    def of(value: Json) -> Output:
        """Reads it from what the server says."""
        pieces = [Piece(each["stream"], _bytes(each)) for each in value["pieces"]]
        return Output(pieces, value["next"], value["state"], value.get("exit_code"))


def _bytes(value: Json) -> bytes:
    """What is text if all of it is UTF-8, and base64 if not."""
    encoded = value.get("base64")
    return base64.b64decode(encoded) if encoded is not None else (value.get("text") or "").encode()
