"""One JSON-RPC connection: requests and responses in both directions, `$/cancel`, and the end of the connection."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from ._transport import Transport
from .errors import ConnectionLost, InvalidRequest, RpcError
from .types import Json

log = logging.getLogger("toolgate")

CANCELLED, INTERNAL, REQUEST = -32800, -32603, -32600
# Seconds to wait after a failed send for the reader to learn why the connection ended.
END_REASON_SECONDS = 2.0

RequestHandler = Callable[[str, Json], Awaitable[Json]]
NotificationHandler = Callable[[str, Json], None]
# Gets the response to a request that was cancelled and answered anyway.
OnLate = Callable[[Json], None]


class RpcConnection:
    """One connection to a server. Requests without a response at its end raise `ConnectionLost`."""

    def __init__(self, transport: Transport, answer: RequestHandler, receive: NotificationHandler) -> None:
        self.transport = transport
        # Why the connection ended; empty while it is open.
        self.why = ""
        self._answer = answer
        self._receive = receive
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._late: dict[int, OnLate] = {}
        self._answering: dict[Any, asyncio.Future[Json]] = {}
        # Keeps background tasks alive: the event loop holds only weak references.
        self._loose: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        # Longest message in bytes. The server rejects a longer one without naming its ID.
        self.longest = 16 << 20
        self._reading = asyncio.create_task(self._read(), name="toolgate reader")

    async def request(self, method: str, params: Json, on_late: OnLate | None = None) -> Json:
        """Sends a request and waits for the response. Cancellation sends `$/cancel`; `on_late` gets a response after that."""
        if self.ended.is_set():
            raise ConnectionLost(f"the connection has ended: {self.why}")
        id = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        # Marks the exception as retrieved. Otherwise asyncio logs an error if the caller was cancelled meanwhile.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await self._send({"id": id, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            self._take_back(id, answer, on_late)
            raise
        finally:
            self._waiting.pop(id, None)

    def send_without_waiting(self, method: str, params: Json) -> None:
        """Sends a request without waiting for the response."""
        self._later(self.request(method, params))

    async def close(self) -> None:
        """Closes the connection and stops its tasks."""
        self._end("this client closed it")
        await self.transport.close()
        self._reading.cancel()
        await asyncio.gather(self._reading, *self._loose, return_exceptions=True)

    def _take_back(self, id: int, answer: asyncio.Future[Json], on_late: OnLate | None) -> None:
        if answer.done() and not answer.cancelled():
            # The response arrived before the cancellation took effect.
            if on_late is not None and answer.exception() is None:
                on_late(answer.result())
        elif not self.ended.is_set():
            if on_late is not None:
                self._late[id] = on_late
            self._later(self._send({"method": "$/cancel", "params": {"id": id}}))

    async def _send(self, message: Json) -> None:
        # Rejects NaN, which is not JSON: a server that cannot parse a message cannot name its ID.
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # Replaces lone surrogates, which a file name may contain: invalid UTF-8 would end the connection.
        data = text.encode("utf-8", "replace")
        if len(data) > self.longest:
            raise InvalidRequest(REQUEST, f"a message has at most {self.longest} bytes; this one has {len(data)}")
        try:
            await self.transport.send(data)
        except (OSError, RuntimeError) as error:
            # The reader may still learn why the connection ended.
            await asyncio.wait([self._reading], timeout=END_REASON_SECONDS)
            # A retry must not get this connection again.
            self._end(str(error))
            raise ConnectionLost(f"the connection has ended: {self.why}") from error

    async def _read(self) -> None:
        try:
            while (line := await self.transport.receive()) is not None:
                try:
                    # Messages after the end are read and discarded, so that the server is not blocked.
                    if not self.ended.is_set():
                        self._take(line)
                except Exception:
                    log.exception("ignored a message of the server that could not be processed: %r", line[:200])
            self._end(await self.transport.why())
        finally:
            self._end("reading failed")

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            log.warning("ignored a line of the server that is not a JSON-RPC message: %r", line[:200])
            return
        method, id = message.get("method"), message.get("id")
        if method is None:
            self._answered(id, message)
        elif id is not None:
            # Two tasks: `$/cancel` cancels the first, and the second still sends a response.
            answering = asyncio.ensure_future(self._answer(method, message.get("params", {})))
            self._answering[id] = answering
            self._later(self._respond(id, method, answering))
        elif method == "$/cancel":
            if taken_back := self._answering.get(message["params"]["id"]):
                taken_back.cancel()
        else:
            self._receive(method, message.get("params", {}))

    def _answered(self, id: Any, message: Json) -> None:
        on_late = self._late.pop(id, None)
        if on_late is not None and message.get("error") is None:
            on_late(message.get("result") or {})
        waiting = self._waiting.get(id)
        if waiting is None or waiting.done():
            # OnLate responses to cancelled requests are expected. An error without an ID is about a message of ours.
            if id is None:
                log.warning("the server could not read a message: %s", message.get("error"))
            return
        if (error := message.get("error")) is not None:
            waiting.set_exception(RpcError.of(error["code"], error["message"], error.get("data")))
        else:
            waiting.set_result(message.get("result") or {})

    async def _respond(self, id: Any, method: str, answering: asyncio.Future[Json]) -> None:
        await asyncio.wait([answering])
        del self._answering[id]
        try:
            await self._send({"id": id, **_reply(method, answering)})
        except InvalidRequest as fault:
            await self._send({"id": id, "error": {"code": fault.code, "message": fault.message}})
        except (TypeError, ValueError) as error:
            log.exception("the answer to %s is not JSON", method)
            await self._send({"id": id, "error": {"code": INTERNAL, "message": f"the client's answer is not JSON: {error}"}})

    def _later(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._loose.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._loose.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            log.debug("error in a background request: %s", error)

    def _end(self, why: str) -> None:
        """Fails pending requests and cancels pending answers. The first reason given is kept."""
        if self.ended.is_set():
            return
        self.why = why
        self.ended.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionLost(f"the connection ended before the answer came: {self.why}"))
        for answering in self._answering.values():
            answering.cancel()
        self._late.clear()


def _reply(method: str, answering: asyncio.Future[Json]) -> Json:
    if answering.cancelled():
        return {"error": {"code": CANCELLED, "message": "the request was cancelled"}}
    error = answering.exception()
    if error is None:
        return {"result": answering.result()}
    if isinstance(error, RpcError):
        return {"error": {"code": error.code, "message": error.message}}
    log.error("error while answering %s", method, exc_info=error)
    return {"error": {"code": INTERNAL, "message": f"the client failed to answer: {error}"}}
