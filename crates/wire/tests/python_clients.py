"""Holds our JSON against the types of the real `openai` and `anthropic` packages, and streams calls through their clients.

Reads `{dialect: {"tools": [..], "answers": [..], "request": {..}}}`; writes `{"from": .., "dialect": .., "events": [..]}` lines, each
what a client made of one stream or object. Ends with an exception if a package does not accept what we wrote.
"""

import functools
import json
import os
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["NO_PROXY"] = "127.0.0.1"

import anthropic
import openai
from anthropic import types as claude
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types import chat, responses
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import BaseModel, TypeAdapter, ValidationError


def accept(kind, value):
    """The value as `kind`, with no field that it does not know; lazy iterables are walked to the end."""
    return walk(adapter(kind).validate_python(value, extra="forbid"))


@functools.cache  # Slow to make, and it must outlive the walk: lazy iterables refer to it.
def adapter(kind):
    return TypeAdapter(kind)


def walk(value):
    if isinstance(value, BaseModel):  # Anthropic's messages also take the blocks that it sent.
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: walk(inner) for key, inner in value.items()}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return [walk(inner) for inner in value]


def difference(one, other, path=""):
    """Where two values part, for a person to read."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(f"{path}.{key}", one.get(key), other.get(key)) for key in {*one, *other}]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{path}[{at}]", *pair) for at, pair in enumerate(zip(one, other))]
    else:
        return "" if one == other else f"{path}: {one!r} is not {other!r}\n"
    return "".join(difference(a, b, where) for where, a, b in pairs)


def check(kind, values):
    assert values, kind
    for value in values:
        assert accept(kind, value) == value, difference(accept(kind, value), value)
        for wrong in [{**value, "bogus": 1}, *({k: v for k, v in value.items() if k != gone} for gone in ("type", "role") if gone in value)]:
            try:
                accept(kind, wrong)
            except ValidationError:
                continue
            raise AssertionError(f"{kind} is too lenient for this test: {wrong}")


def sse(events, named):
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + ("" if named else "data: [DONE]\n\n")


def item(kind, **fields):
    return {"type": kind, "id": f"item_{fields['call_id']}", "status": "completed", **fields}


ITEMS = [
    item("function_call", call_id="call_1", name="read", arguments='{"path": "\\u00e9"}'),
    item("custom_tool_call", call_id="call_2", name="patch", input="*** Begin\n"),
    item("local_shell_call", call_id="call_3", action={"type": "exec", "command": ["ls"], "env": {}, "timeout_ms": 5}),
]


def responses_stream():
    yield {"type": "response.created", "response": {"id": "r", "object": "response", "output": []}}
    for at, done in enumerate(ITEMS):
        text, prefix = {
            "function_call": ("arguments", "response.function_call_arguments"),
            "custom_tool_call": ("input", "response.custom_tool_call_input"),
        }.get(done["type"], (None, None))
        yield {"type": "response.output_item.added", "output_index": at, "item": {**done, **({text: ""} if text else {})}}
        for piece in done[text] if text else "":
            yield {"type": f"{prefix}.delta", "output_index": at, "item_id": done["id"], "delta": piece}
        if text:
            yield {"type": f"{prefix}.done", "output_index": at, "item_id": done["id"], text: done[text]}
        yield {"type": "response.output_item.done", "output_index": at, "item": done}
    yield {"type": "response.completed", "response": {"id": "r", "object": "response", "output": ITEMS}}


def chat_stream():
    def chunk(delta, reason=None):
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}

    yield chunk({"role": "assistant", "content": None})
    for at, (name, arguments) in enumerate([("read", '{"path": "a"}'), ("list", "")]):
        function = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": at, "id": f"call_{at}", "type": "function", "function": function}]})
        for piece in arguments:
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls")
    yield {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": None}


def anthropic_stream():
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}
    yield {"type": "content_block_stop", "index": 0}
    for at, (name, text) in enumerate([("read", '{"path": "a"}'), ("list", "")], 1):
        block = {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": {}}
        yield {"type": "content_block_start", "index": at, "content_block": block}
        for piece in text:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


class Server(BaseHTTPRequestHandler):
    """Answers every request with its dialect's stream, and keeps what was asked."""

    bodies: dict = {}
    streams = {
        "/v1/responses": lambda: sse(responses_stream(), True),
        "/v1/chat/completions": lambda: sse(chat_stream(), False),
        "/v1/messages": lambda: sse(anthropic_stream(), True),
    }

    def do_POST(self):
        Server.bodies[self.path] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = Server.streams[self.path]().encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def tell(origin, dialect, events):
    events = [event.model_dump(mode="json", warnings=False) for event in events]
    print(json.dumps({"from": origin, "dialect": dialect, "events": events}))


def check_types(ours):
    check(responses.ToolParam, ours["responses"]["tools"])
    check(responses.ResponseInputItemParam, ours["responses"]["answers"])
    check(chat.ChatCompletionToolUnionParam, ours["chat"]["tools"])
    check(chat.ChatCompletionMessageParam, ours["chat"]["answers"])
    tools = [answer for answer in ours["chat"]["answers"] if answer["role"] == "tool"]
    check(chat.ChatCompletionToolMessageParam, tools)
    check(claude.ToolParam, ours["anthropic"]["tools"])
    check(claude.ToolResultBlockParam, ours["anthropic"]["answers"])


def check_requests(ours):
    check(ResponseCreateParamsStreaming, [ours["responses"]["request"]])
    check(CompletionCreateParamsStreaming, [ours["chat"]["request"]])
    check(MessageCreateParamsStreaming, [ours["anthropic"]["request"]])


def send_requests(ours, url):
    """The clients send our requests as they are, and hear a stream."""
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    claude_client = anthropic.Anthropic(api_key="none", base_url=url, max_retries=0)
    for dialect, path, create in (
        ("responses", "/v1/responses", client.responses.create),
        ("chat", "/v1/chat/completions", client.chat.completions.create),
        ("anthropic", "/v1/messages", claude_client.messages.create),
    ):
        tell("request", dialect, create(**ours[dialect]["request"]))
        assert Server.bodies[path] == ours[dialect]["request"], Server.bodies[path]


def tell_objects():
    tell("objects", "responses", [
        responses.ResponseFunctionToolCall(type="function_call", call_id="call_1", name="read", arguments="{}"),
        responses.ResponseCustomToolCall(type="custom_tool_call", call_id="call_2", name="patch", input="x"),
    ])
    function = {"name": "read", "arguments": "{}"}
    tell("objects", "chat", [
        chat.ChatCompletionMessage(
            role="assistant", tool_calls=[{"id": "call_1", "type": "function", "function": function},
                                          {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "x"}}],
        ),
    ])
    tell("objects", "anthropic", [claude.ToolUseBlock(type="tool_use", id="toolu_1", name="read", input={"a": 1})])


def tell_streams(ours, url):
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    mine = ours["responses"]
    stream = client.responses.create(model="m", input=mine["answers"], tools=mine["tools"], stream=True)
    tell("stream", "responses", stream)
    sent = Server.bodies["/v1/responses"]
    assert (sent["input"], sent["tools"]) == (mine["answers"], mine["tools"]), sent

    mine = ours["chat"]
    stream = client.chat.completions.create(model="m", messages=mine["answers"], tools=mine["tools"], stream=True)
    tell("stream", "chat", stream)
    sent = Server.bodies["/v1/chat/completions"]
    assert (sent["messages"], sent["tools"]) == (mine["answers"], mine["tools"]), sent

    mine = ours["anthropic"]
    client = anthropic.Anthropic(api_key="none", base_url=url, max_retries=0)
    messages = [{"role": "user", "content": mine["answers"]}]
    with client.messages.stream(model="m", max_tokens=9, messages=messages, tools=mine["tools"]) as stream:
        tell("stream", "anthropic", stream)
        tell("final message", "anthropic", [stream.get_final_message()])
    sent = Server.bodies["/v1/messages"]
    assert (sent["messages"], sent["tools"]) == (messages, mine["tools"]), sent


def main():
    ours = json.load(sys.stdin)
    check_types(ours)
    check_requests(ours)
    tell_objects()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    tell_streams(ours, url)
    send_requests(ours, url)


main()
