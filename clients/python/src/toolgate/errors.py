"""What can go wrong: one class for each code of the server, and for a connection or a turn that is lost."""

from __future__ import annotations

from typing import Any


class ToolgateError(Exception):
    """Everything that this package raises of its own."""


class RpcError(ToolgateError):
    """A request was answered with an error; each documented code has a class of its own below this one."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @staticmethod
    def of(code: int, message: str, data: Any = None) -> RpcError:
        """Makes the error of the class that stands for `code`; a code that is not known makes an `RpcError`."""
        return CODES.get(code, RpcError)(code, message, data)


class ParseFault(RpcError):
    """-32700: the message is no JSON."""


class InvalidRequest(RpcError):
    """-32600: the message is no request, or longer than a message may be."""


class NoSuchMethod(RpcError):
    """-32601: the server has no such method; it may be older than this client."""


class InvalidParams(RpcError):
    """-32602: the parameters do not fit; the message says where."""


class InternalFault(RpcError):
    """-32603: a bug of the server's."""


class NotInitialized(RpcError):
    """-32000: `initialize` comes first, and once."""


class NoSuchSession(RpcError):
    """-32001: there is no such session."""


class NoModel(RpcError):
    """-32002: the session was started without a model."""


class TooMany(RpcError):
    """-32003: too many of something: sessions, requests under way, tools, processes."""


class Unusable(RpcError):
    """-32004: the configuration, or what was asked for, cannot be used."""


class NoSuchProcess(RpcError):
    """-32005: there is no such process."""


class JournalFault(RpcError):
    """-32006: the journal cannot be written, so nothing is done."""


class InUse(RpcError):
    """-32007: another server or program has the session."""


class Refused(RpcError):
    """-32008: the policy, a person or the machine refused it; `data["error"]` is the kind of fault."""


class PeerFault(RpcError):
    """-32009: the other side did not answer, or not as it should."""


class Cancelled(RpcError):
    """-32800: the request was taken back."""


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
    -32009: PeerFault,
    -32800: Cancelled,
}


class ConnectionLost(ToolgateError):
    """The connection ended before the answer came: whether the server did what was asked is not known."""


class CannotConnect(ToolgateError):
    """There is no way to the server: no program, nobody at the socket, no right token. The message says what to try.

    `is_passing` says whether trying again may help, as it does while a server is about to start; `reconnect` does that.
    """

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class TurnLost(ToolgateError):
    """The server died while a turn ran, and its successor does not go on with it; what it did is in the events.

    The calls that it had made are in the journal, each with its answer. `session.prompt` may be called again.
    """

    def __init__(self, session_id: str, cursor: int) -> None:
        super().__init__(
            f"the server died while a turn of session {session_id} ran; its events end at {cursor}, "
            "and `prompt` can be called again"
        )
        self.session_id = session_id
        self.cursor = cursor


class JournalBehind(ToolgateError):
    """The journal ends before an event that came already: its machine lost power, or the cursor is of another session."""

    def __init__(self, session_id: str, cursor: int, last: int) -> None:
        super().__init__(f"the journal of session {session_id} ends at {last}, before event {cursor}; attach to it at cursor 0")
        self.session_id = session_id
        self.cursor = cursor


class EventsDropped(ToolgateError):
    """Whoever reads the events is further behind than the client keeps; `client.attach` with the cursor reads them anew."""

    def __init__(self, session_id: str, cursor: int, oldest: int) -> None:
        super().__init__(
            f"events {cursor + 1} to {oldest - 1} of session {session_id} are not kept any more; "
            f"attach a second client to it at cursor {cursor} to read them"
        )
        self.session_id = session_id
        self.cursor = cursor
