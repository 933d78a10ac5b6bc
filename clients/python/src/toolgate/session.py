"""Session of a client: prompts, calls, tools, events, files and processes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import shlex
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ._rpc_connection import OnLate
from ._subscription import Subscription
from ._time_limit import check_timeout, limited
from .approvals import OnApproval, OnQuestion
from .errors import PEER_FAULT, ConnectionLost, InvalidParams, PeerFault, RpcError
from .process import Process
from .tools import Image, Invocation, Tool, content_items, require_tools
from .turn_stream import TurnStream, stop_turn
from .types import (
    Delta,
    Described,
    Event,
    FilePart,
    Found,
    Json,
    Listing,
    Patched,
    Started,
    ToolAnswer,
    Turn,
    Written,
    parse,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._session_registry import SessionRegistry

log = logging.getLogger("toolgate")

Path = str | os.PathLike[str]
# Limit of the server on the arguments of a call, in bytes of JSON, and the most bytes that a character takes there.
MAX_ARGUMENT_BYTES, MOST_JSON_BYTES = 8 << 20, 6
INVALID_PARAMS = -32602
# Ends of turns that are logged. The others are wanted: `done`, `interrupted` and `steered`.
FAILED = ("cut_short", "max_turns", "out_of_budget", "failed")


class Session:
    """A session that this client follows. `client.start_session` and `client.attach` create it."""

    def __init__(
        self,
        registry: SessionRegistry,
        session_id: str,
        *,
        start: Json,
        tools: Iterable[Tool] = (),
        on_approval: OnApproval | None = None,
        on_question: OnQuestion | None = None,
        cursor: int = 0,
        keep_events: int,
    ) -> None:
        self._registry = registry
        self.id = session_id
        self.on_approval = on_approval
        self.on_question = on_question
        self._tools = {each.name: each for each in tools}
        self._subscription = Subscription(session_id, self._tools, start, cursor, keep_events)
        # Latest details from the server; None until the first response.
        self.started: Started | None = None
        # Closed or detached: the session is not reattached after a reconnect.
        self._is_leaving = False

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the session, unless it is closed or detached already, or the connection is lost."""
        if not self._is_leaving:
            with contextlib.suppress(ConnectionLost):
                await self.close()

    @property
    def cursor(self) -> int:
        """Number of the last event received. Keep it to call `client.attach` later or from another program."""
        return self._subscription.log.cursor

    def events(self, after: int | None = None) -> AsyncIterator[Event]:
        """Yields every event after a cursor, each once and in order, also across reconnects; by default all.

        The iteration ends when this client closes the session, detaches from it, or is closed itself. A lost connection raises
        `ConnectionLost`. In both cases the events that were received come first.
        """
        return self._subscription.log.follow(after)

    def deltas(self) -> AsyncIterator[Delta]:
        """Yields text and output in progress. A slow reader misses some of it. The iteration ends as that of `events`."""
        return self._subscription.deltas()

    async def prompt(self, text: str, images: Sequence[Image] = (), *, timeout: float | None = None) -> Turn:
        """Sends a prompt to the model and waits until the turn ends. During a turn, adds to its prompt ("steered").

        After a reconnect, the result of the turn is read from the events. A prompt that did not reach the server is sent
        again. If the server died during the turn, `TurnLost` is raised.

        A turn that fails raises no error: it is logged as a warning, and `ended` and `detail` of the result say how it ended.
        `turn.raise_unless_done()` raises `TurnNotDone` then.

        After `timeout` seconds the turn is stopped, and `TimedOut` is raised, a `TimeoutError`. Cancelling a call
        without `timeout` leaves the turn running; `interrupt` stops it.
        """
        check_timeout(timeout)
        if timeout is not None:
            return await self._prompt_or_stop(text, images, timeout=timeout)
        turn = await self._prompt(text, images)
        if turn.ended in FAILED:
            log.warning("session %s: the turn ended as `%s`: %s", self.id, turn.ended, turn.detail)
        return turn

    async def _prompt(self, text: str, images: Sequence[Image]) -> Turn:
        pictures = [piece for each in images for piece in content_items(each)]
        params = {"text": text, **({"images": pictures} if pictures else {})}
        while True:  # ends: each round is a connection that was lost, and reconnecting gives up within bounds
            with self._subscription.track_turn() as tracker:
                try:
                    return Turn.of(await self.request("session/prompt", params))
                except ConnectionLost:
                    if self._registry.connection.reconnect is None:
                        raise
                    turn = await self._subscription.recover_turn(tracker, self._registry.connection)
                if turn is not None:
                    return turn

    async def _prompt_or_stop(self, text: str, images: Sequence[Image] = (), *, timeout: float | None = None) -> Turn:
        """Sends a prompt as `prompt` does, but cancelling this call stops the turn."""
        check_timeout(timeout)

        async def prompt() -> Turn:
            with self._subscription.track_turn() as tracker:
                turn = asyncio.create_task(self.prompt(text, images))
                try:
                    return await asyncio.shield(turn)
                except asyncio.CancelledError:
                    await stop_turn(self, tracker, turn)
                    raise

        return await limited(prompt(), timeout, "the turn")

    def stream(self, text: str, images: Sequence[Image] = ()) -> TurnStream:
        """Sends a prompt to the model, and yields the events and deltas of the turn.

        `async with session.stream("…") as turn:` sends the prompt, and `async for item in turn:` reads. `turn.result` is the
        result of the turn after its last event. Leaving the block early stops the turn.
        """
        return TurnStream(self, text, images)

    async def call(
        self,
        tool: str,
        arguments: Json | None = None,
        *,
        input: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> ToolAnswer:
        """Calls a tool without a model. A call runs only once per `key`; by default each call has a new key.

        After `timeout` seconds the call is cancelled, its command is killed, and `TimedOut` is raised, a `TimeoutError`.
        """
        check_timeout(timeout)
        params = {"tool": tool, "arguments": arguments or {}, "input": input, "key": key or uuid.uuid4().hex}
        answer = await limited(self.request("tool/call", params, retry=True), timeout, f"the call of `{tool}`")
        return parse(ToolAnswer, answer)

    async def list_tools(self) -> list[Described]:
        """Lists the tools of the session."""
        listed = await self.request("tool/list", {}, retry=True)
        return [parse(Described, each) for each in listed["tools"]]

    async def register(self, *tools: Tool) -> list[str]:
        """Adds tools to the session, replacing those of the same name. Returns the names of all tools of clients."""
        before, given = dict(self._tools), require_tools(tools)
        # Added before the request: a call may arrive before the response.
        self._tools.update({each.name: each for each in given})
        try:
            params = {"tools": [each._describe() for each in given]}
            return list((await self.request("tool/register", params, retry=True))["tools"])
        except RpcError:
            self._tools.clear()
            self._tools.update(before)
            raise

    async def unregister(self, *names: str) -> list[str]:
        """Removes tools from the session. Returns the names of the remaining tools of clients."""
        left = await self.request("tool/unregister", {"names": list(names)}, retry=True)
        for name in names:
            self._tools.pop(name, None)
        return list(left["tools"])

    async def start_process(
        self,
        command: str | None = None,
        *,
        argv: Sequence[str] | None = None,
        cwd: Path | None = None,
        tty: tuple[int, int] | None = None,
        stdin: bool = False,
    ) -> Process:
        """Starts a script, or a program with its arguments. `tty` gives it a terminal with these rows and columns."""

        def unwanted(started: Json) -> None:
            # The caller was cancelled, so the process would have no reader.
            self._registry.connection.send_without_waiting(
                "process/kill", {"session_id": self.id, "process_id": started["process_id"]}
            )

        params = {
            "command": command,
            "argv": None if argv is None else list(argv),
            "cwd": None if cwd is None else os.fspath(cwd),
            "tty": None if tty is None else {"rows": tty[0], "cols": tty[1]},
            "stdin": stdin,
        }
        return Process(self, (await self._request("process/start", params, on_late=unwanted))["process_id"])

    async def read_file(self, path: Path, *, offset: int = 0, length: int | None = None) -> FilePart:
        """Reads a file or a part of it. `next` of the result is the offset of the next part, if any."""
        params = {"path": os.fspath(path), "offset": offset, "length": length}
        return FilePart.of(await self.request("fs/read", params, retry=True))

    async def write_file(self, path: Path, data: str | bytes, *, new: bool = False) -> Written:
        """Writes a whole file atomically. With `new`, an existing file is an error.

        The server takes 8 MiB of JSON: 8 MiB of plain text, or 6 MiB of bytes. More raises `InvalidParams`.
        """
        what = {"text": data} if isinstance(data, str) else {"base64": base64.b64encode(data).decode()}
        params = {"path": os.fspath(path), "new": new, **what}
        _check_length(params)
        # Not sent again with `new`: the second request would find the file of the first.
        return parse(Written, await self.request("fs/write", params, retry=not new))

    async def list_dir(self, path: Path = "", *, depth: int | None = None, limit: int | None = None) -> Listing:
        """Lists a directory."""
        params = {"path": os.fspath(path), "depth": depth, "limit": limit}
        return parse(Listing, await self.request("fs/list", params, retry=True))

    async def search(
        self,
        pattern: str,
        *,
        path: Path | None = None,
        glob: str | None = None,
        ignore_case: bool = False,
        limit: int | None = None,
    ) -> Found:
        """Searches files for a regular expression."""
        below = None if path is None else os.fspath(path)
        params = {"pattern": pattern, "path": below, "glob": glob, "ignore_case": ignore_case, "limit": limit}
        return parse(Found, await self.request("fs/search", params, retry=True))

    async def apply_patch(self, patch: str, *, key: str | None = None) -> Patched:
        """Applies a patch in any supported format, all or nothing, and only once per `key`."""
        params = {"patch": patch, "key": key or uuid.uuid4().hex}
        return parse(Patched, await self.request("patch/apply", params, retry=True))

    async def explain(
        self,
        command: str | Sequence[str] | None = None,
        *,
        tool: str | None = None,
        arguments: Json | None = None,
    ) -> Json:
        """Returns the verdict on a command or a call, with its reasons, without running it.

        `command` is a shell script, or the words of one command such as `["git", "push"]`.
        """
        params = {"command": _script_of(command), "tool": tool, "arguments": arguments or {}}
        explained = await self.request("policy/explain", params, retry=True)
        return dict(explained["explanation"])

    async def interrupt(self) -> None:
        """Stops the running turn."""
        await self.request("session/interrupt", {})

    async def close(self) -> None:
        """Ends the session and everything that runs in it. The journal stays."""
        await self._registry.leave(self, "session/close")

    async def detach(self) -> None:
        """Stops following the session and leaves it running."""
        await self._registry.leave(self, "session/detach")

    async def request(self, method: str, params: Json, *, retry: bool = False) -> Json:
        """Sends any request about this session. Parameters that are None are omitted."""
        return await self._request(method, params, retry=retry)

    async def _request(self, method: str, params: Json, *, retry: bool = False, on_late: OnLate | None = None) -> Json:
        said = {name: value for name, value in params.items() if value is not None}
        return await self._registry.connection.request(method, {"session_id": self.id, **said}, retry=retry, on_late=on_late)

    async def _invoke(self, params: Json) -> Json:
        """Answers a `tool/invoke` request."""
        invocation = parse(Invocation, params)
        tool = self._tools.get(invocation.tool)
        if tool is None:
            raise PeerFault(PEER_FAULT, "the client no longer has this tool")
        return await tool._invoke(invocation)


def _check_length(params: Json) -> None:
    """Raises `InvalidParams` for a file that the server would not take."""
    if len(params.get("text") or params.get("base64") or "") < MAX_ARGUMENT_BYTES // MOST_JSON_BYTES:
        return
    length = len(json.dumps(params, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
    if length > MAX_ARGUMENT_BYTES:
        raise InvalidParams(
            INVALID_PARAMS,
            f"`{params['path']}` is too long for `write_file`: the limit is {MAX_ARGUMENT_BYTES} bytes of JSON, and this is {length}; "
            "write it in parts, and join them with a command: `cat PART… > FILE`",
        )


def _script_of(command: str | Sequence[str] | None) -> str | None:
    """Quotes the words of a command as a shell script. A script and None are returned unchanged."""
    if command is None or isinstance(command, str):
        return command
    if not command:
        raise ValueError("the command has no words")
    return shlex.join(command)
