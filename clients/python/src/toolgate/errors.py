"""Error classes: one for each error code of the server, and for lost connections, turns and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import Turn


class ToolgateError(Exception):
    """Base class of all errors of this package."""


class RpcError(ToolgateError):
    """Error response of the server. Each documented code has its own subclass."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @staticmethod
    def of(code: int, message: str, data: Any = None) -> RpcError:
        """Creates an error of the class for `code`; an unknown code gives a plain `RpcError`."""
        kind = data.get("error") if isinstance(data, dict) else None
        if CODES.get(code) is Refused and kind not in POLICY_ERRORS:
            return CallFailed(code, message, data)
        return CODES.get(code, RpcError)(code, message, data)


class ParseFault(RpcError):
    """-32700: the message is not JSON."""


class InvalidRequest(RpcError):
    """-32600: the message is not a request, or exceeds the size limit."""


class NoSuchMethod(RpcError):
    """-32601: the server has no such method; it may be older than this client."""


class InvalidParams(RpcError):
    """-32602: the parameters are invalid; the message says where."""


class InternalFault(RpcError):
    """-32603: a bug in the server."""


class NotInitialized(RpcError):
    """-32000: `initialize` must be the first request, and sent only once."""


class NoSuchSession(RpcError):
    """-32001: there is no such session."""


class NoModel(RpcError):
    """-32002: the session was started without a model."""


class TooMany(RpcError):
    """-32003: a limit is reached: sessions, concurrent requests, tools or processes."""


class Unusable(RpcError):
    """-32004: the configuration or the requested options cannot be used."""


class NoSuchProcess(RpcError):
    """-32005: there is no such process."""


class JournalFault(RpcError):
    """-32006: the journal cannot be written, so the request is not carried out."""


class InUse(RpcError):
    """-32007: another server or program holds the session."""


class Refused(RpcError):
    """-32008: the policy, a person or the sandbox refused the request.

    `data` is the answer of the call. Its member `denials` has the reasons.
    """


class CallFailed(RpcError):
    """-32008: the request was allowed and failed: a missing file, a patch that does not match, an unknown program.

    `data` is the answer of the call. Its member `error` is the kind of error, such as `io`, if there is one.
    """


class PeerFault(RpcError):
    """-32009: the other side did not answer, or sent an invalid answer."""


class Cancelled(RpcError):
    """-32800: the request was cancelled."""


# Code of an error response of this client: a tool raised an exception, or there is no handler for a question.
PEER_FAULT = -32009

# Kinds of errors (`data["error"]`) of calls that were refused, not tried.
POLICY_ERRORS = {"forbidden", "denied", "blocked", "stopped"}

CODES: dict[int, type[RpcError]] = {
    -32700: ParseFault,
    -32600: InvalidRequest,
    -32601: NoSuchMethod,
    -32602: InvalidParams,
    -32603: InternalFault,
    -32000: NotInitialized,
    -32001: NoSuchSession,
    -32002: NoModel,
    -32003: TooMany,
    -32004: Unusable,
    -32005: NoSuchProcess,
    -32006: JournalFault,
    -32007: InUse,
    -32008: Refused,
    PEER_FAULT: PeerFault,
    -32800: Cancelled,
}


class ConnectionLost(ToolgateError):
    """The connection ended before the response arrived. The server may or may not have carried out the request."""


class TimedOut(ToolgateError, TimeoutError):
    """The `timeout` of a call is over, and its work is stopped. `except TimeoutError` catches it too."""


class CannotConnect(ToolgateError):
    """The server cannot be reached: no program, no listening socket, a wrong token. The message says what to try.

    `is_passing` is true if a retry may help, for example while a server is starting. `reconnect` retries in that case.
    """

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class TurnLost(ToolgateError):
    """The server died during a turn, and the next server does not continue that turn. The events show its effects.

    The journal has every call of the turn with its answer. `session.prompt` may be called again.
    """

    def __init__(self, session_id: str, cursor: int) -> None:
        super().__init__(
            f"the server died during a turn of session {session_id}; its events end at {cursor}, and `prompt` can be called again"
        )
        self.session_id = session_id
        self.cursor = cursor


class TurnNotDone(ToolgateError):
    """The turn ended before the model was done. `turn.raise_unless_done()` raises this error, and `turn` has the result."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(f"the turn is not done, it ended as `{turn.ended}`: {turn.detail}")
        self.turn = turn


class JournalBehind(ToolgateError):
    """The journal ends before an event already received: a power failure, or a cursor of another session."""

    def __init__(self, session_id: str, cursor: int, last: int) -> None:
        super().__init__(f"the journal of session {session_id} ends at {last}, before event {cursor}; attach to it at cursor 0")
        self.session_id = session_id
        self.cursor = cursor


class EventsDropped(ToolgateError):
    """The reader is further behind than the client keeps events. `client.attach` with the cursor reads them again."""

    def __init__(self, session_id: str, cursor: int, oldest: int) -> None:
        super().__init__(
            f"events {cursor + 1} to {oldest - 1} of session {session_id} are no longer kept; "
            f"attach a second client at cursor {cursor} to read them"
        )
        self.session_id = session_id
        self.cursor = cursor
