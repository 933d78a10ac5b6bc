"""Results of the server as dataclasses. Unknown members of a newer server are ignored."""

from __future__ import annotations

import base64
import dataclasses
import functools
import types as _types
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import TurnNotDone

Json = dict[str, Any]
T = TypeVar("T")

# Sandbox modes (docs/sandbox.md).
Sandbox = Literal["read-only", "workspace-write", "external", "danger-full-access"]
# Approval policies (docs/approval.md).
ApprovalPolicy = Literal["untrusted", "on-failure", "on-request", "never", "auto", "disabled"]
# Model APIs: OpenAI Responses, OpenAI Chat Completions, Anthropic Messages.
Wire = Literal["responses", "chat", "anthropic"]


def parse(cls: type[T], value: Json) -> T:
    """Converts a JSON object to a dataclass."""
    known: Any = cls  # mypy does not accept `type[T]` as hashable
    hints = _hints(known)
    # A member named like a Python keyword, such as `from`, is a field with a trailing `_`.
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
    """Limits of the server."""

    message_bytes: int
    requests: int
    sessions: int
    tools: int
    processes: int


@dataclass(frozen=True)
class Server:
    """Name and version of the server."""

    name: str
    version: str | None = None


@dataclass(frozen=True)
class Initialized:
    """Result of `initialize`: the server, its protocol version and its limits."""

    protocol: int
    server: Server
    limits: Limits


@dataclass(frozen=True)
class Started:
    """Details of a session from the server."""

    session_id: str
    journal: str
    cwd: str
    sandbox: str
    approval: str
    model: str | None = None
    tools: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Attached(Started):
    """Details of a session after `session/attach`."""

    resumed: bool = False
    busy: bool = False
    cursor: int = 0


@dataclass(frozen=True)
class ListedSession:
    """Entry of a list of sessions."""

    session_id: str
    live: bool
    busy: bool
    cwd: str
    started: str
    last: str
    prompts: int
    first_prompt: str
    calls: int


Ended = Literal["done", "cut_short", "interrupted", "max_turns", "out_of_budget", "failed", "steered"]


# Details of turns for which the server sends none.
DETAILS = {
    "cut_short": "the provider cut the response short",
    "interrupted": "the turn was interrupted",
    "max_turns": "the turn reached its limit of requests to the model (`max_turns` of the model)",
    "out_of_budget": "the session used up its tokens (`max_tokens` of the model)",
    "failed": "the server gives no reason",
    "steered": "the prompt was added to a running turn, which has the answer",
}


@dataclass(frozen=True)
class Turn:
    """Result of a turn. `ended` says how it ended, and `text` is the model's last message.

    `ended` is `done` if the model finished. Otherwise `text` may be empty, and `detail` has the reason in one sentence.
    """

    turn_id: str
    ended: Ended
    text: str = ""
    detail: str | None = None

    @staticmethod
    def of(value: Json) -> Turn:
        """Converts the server's JSON. A turn that is not done gets a `detail` if the server sends none."""
        turn = parse(Turn, value)
        if turn.ended == "done" or turn.detail:
            return turn
        return dataclasses.replace(turn, detail=DETAILS.get(turn.ended, f"the turn ended as `{turn.ended}`"))

    def raise_unless_done(self) -> Turn:
        """Returns the turn if the model finished it. Otherwise raises `TurnNotDone` with the reason."""
        if self.ended != "done":
            raise TurnNotDone(self)
        return self


@dataclass(frozen=True)
class Event:
    """Line of the session's journal. The members depend on `kind` (docs/journal.md)."""

    session_id: str
    cursor: int
    kind: str
    members: Json

    def __getitem__(self, name: str) -> Any:
        return self.members[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a member, or the default if it is missing."""
        return self.members.get(name, default)

    @property
    def text(self) -> str:
        """Text of a prompt, an answer or a notice, or all text of one response of the model."""
        if self.kind != "said":
            return str(self.members.get("text", ""))
        pieces = [piece for item in self.members.get("items", []) for piece in item.get("pieces", [])]
        return "".join(piece["text"] for piece in pieces if isinstance(piece.get("text"), str))


@dataclass(frozen=True)
class Delta:
    """Piece of text or output in progress. The complete event follows."""

    session_id: str
    kind: str
    members: Json

    @property
    def text(self) -> str:
        """Next piece of text, reasoning or output."""
        return str(self.members.get("text", ""))


@dataclass(frozen=True)
class Described:
    """Description of a tool. A tool without an `input_schema` takes a text, its `input`."""

    name: str
    description: str
    input_schema: Json | None = None


@dataclass(frozen=True)
class ToolAnswer:
    """Result of a tool call.

    `error` is the kind of error: `unknown_tool`, `bad_arguments`, `forbidden`, `denied`, `blocked`, `timed_out`, `cancelled`,
    `stopped`, `io`, `crashed` or `fatal`. It is None if the call succeeded or the tool itself reported failure.
    """

    call_id: str
    success: bool
    content_items: list[Json]
    elapsed_ms: int = 0
    error: str | None = None
    structured: Any = None
    kept: str | None = None
    repeated: bool = False
    denials: list[Json] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Text of the answer, as a model reads it."""
        return "\n".join(item["text"] for item in self.content_items if isinstance(item.get("text"), str))


@dataclass(frozen=True)
class FilePart:
    """Part of a file. `next` is the offset of the next part, None at the end of the file."""

    data: bytes
    size: int
    next: int | None = None

    @property
    def text(self) -> str:
        """Data as text; invalid UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")

    @staticmethod
    def of(value: Json) -> FilePart:
        """Converts the server's JSON."""
        return FilePart(_bytes(value), value["size"], value.get("next"))


@dataclass(frozen=True)
class Written:
    """Result of writing a file."""

    created: bool
    size: int


@dataclass(frozen=True)
class Entry:
    """Entry of a directory."""

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int | None = None


@dataclass(frozen=True)
class Listing:
    """Contents of a directory; truncated unless `complete`."""

    entries: list[Entry]
    complete: bool


@dataclass(frozen=True)
class Hit:
    """Line that matches a search."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """Matches of a search; truncated unless `complete`."""

    hits: list[Hit]
    complete: bool


@dataclass(frozen=True)
class Change:
    """File that a patch changed: `A`dded, `M`odified, `D`eleted or `R`enamed from the path `from_`."""

    kind: str
    path: str
    from_: str | None = None


@dataclass(frozen=True)
class Patched:
    """Result of an applied patch. `repeated` is true if an earlier request with the same key produced it."""

    changes: list[Change]
    text: str
    repeated: bool = False


@dataclass(frozen=True)
class Piece:
    """Piece of process output from `stdout`, `stderr` or the `terminal`."""

    stream: str
    data: bytes

    @property
    def text(self) -> str:
        """Data as text; invalid UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Output:
    """Output of a process, and its state."""

    pieces: list[Piece]
    next: int
    state: Literal["running", "exited", "lost"]
    exit_code: int | None = None

    @staticmethod
    def of(value: Json) -> Output:
        """Converts the server's JSON."""
        pieces = [Piece(each["stream"], _bytes(each)) for each in value["pieces"]]
        return Output(pieces, value["next"], value["state"], value.get("exit_code"))


def _bytes(value: Json) -> bytes:
    """Decodes data that the server sends as text if it is UTF-8, otherwise as base64."""
    encoded = value.get("base64")
    return base64.b64decode(encoded) if encoded is not None else (value.get("text") or "").encode()
