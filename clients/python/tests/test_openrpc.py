"""Contract tests against docs/openrpc.json: methods, members and error codes of the client and the protocol are the same."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from fake_server import LIMITS, STARTED, Fake, Guest, Json
from toolgate import Client, Image, approvals, client, tools, types
from toolgate.errors import CODES

PROJECT = Path(__file__).parents[1]
CONTRACT = json.loads((PROJECT.parents[1] / "docs" / "openrpc.json").read_text())
SCHEMAS = CONTRACT["components"]["schemas"]


def test_every_method_is_used_and_no_other() -> None:
    source = "".join(path.read_text() for path in (PROJECT / "src").rglob("*.py"))
    used = set(re.findall(r'"((?:session|tool|process|fs|patch|policy|approval|user|\$)/[a-z]+|initialize)"', source))
    assert used == {method["name"] for method in CONTRACT["methods"]}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (types.Limits, "ServerLimits"),
        (types.Server, "ProgramIdentity"),
        (types.Initialized, "InitializeResult"),
        (types.Started, "SessionDetails"),
        (types.Attached, "SessionAttachResult"),
        (types.ListedSession, "SessionListEntry"),
        (types.Turn, "SessionPromptResult"),
        (types.Described, "ToolDescription"),
        (types.ToolAnswer, "ToolCallResult"),
        (types.Written, "FsWriteResult"),
        (types.Entry, "FsEntry"),
        (types.Listing, "FsListResult"),
        (types.Hit, "FsSearchMatch"),
        (types.Found, "FsSearchResult"),
        (types.Change, "PatchChange"),
        (types.Patched, "PatchApplyResult"),
        (types.Output, "ProcessReadResult"),
        (tools.Invocation, "ToolInvokeParams"),
        (approvals.Approval, "ApprovalRequestParams"),
        (approvals.Decision, "ApprovalRequestResult"),
        (approvals.Choice, "UserAskOption"),
        (approvals.Question, "UserAskParams"),
    ],
)
def test_every_member_is_known(ours: Any, theirs: str) -> None:
    known = {each.name.rstrip("_"): each for each in dataclasses.fields(ours)}
    assert known.keys() >= set(SCHEMAS[theirs]["properties"])
    # Members with a default are optional: an older or newer server may lack them.
    missing = dataclasses.MISSING
    needed = {name for name, each in known.items() if each.default is missing and each.default_factory is missing}
    assert needed <= set(SCHEMAS[theirs]["properties"])


def test_every_way_to_start_is_known() -> None:
    assert set(client.Model.__annotations__) == set(SCHEMAS["ModelSelection"]["properties"])
    # `tools` is a separate parameter, which takes functions.
    assert {*client.Start.__annotations__, "tools"} == set(SCHEMAS["SessionStartParams"]["properties"])
    described = tools.tool(timeout=1)(lambda: None)._describe()
    assert set(described) == set(SCHEMAS["DynamicTool"]["properties"])


def test_every_mode_is_known() -> None:
    assert set(get_args(types.Wire)) == {each["const"] for each in SCHEMAS["ModelApi"]["oneOf"]}
    for ours, member in ((types.Sandbox, "sandbox"), (types.ApprovalPolicy, "approval")):
        assert list(get_args(ours)) == re.findall("`(.*?)`", SCHEMAS["SessionStartParams"]["properties"][member]["description"])


ANSWER: Json = {"call_id": "c", "success": True, "content_items": []}
ANSWERS: dict[str, Json] = {
    "initialize": {"protocol": 1, "server": {"name": "fake"}, "limits": LIMITS},
    "session/start": STARTED,
    "session/attach": {**STARTED, "session_id": "other", "resumed": True, "busy": False, "cursor": 9},
    "session/prompt": {"turn_id": "t", "ended": "done", "text": ""},
    "session/list": {"sessions": []},
    "tool/call": ANSWER,
    "tool/list": {"tools": []},
    "tool/register": {"tools": []},
    "tool/unregister": {"tools": []},
    "process/start": {"process_id": 1},
    "process/read": {"pieces": [], "next": 0, "state": "running"},
    "fs/read": {"text": "", "size": 0},
    "fs/write": {"created": True, "size": 0},
    "fs/list": {"entries": [], "complete": True},
    "fs/search": {"hits": [], "complete": True},
    "patch/apply": {"changes": [], "text": ""},
    "policy/explain": {"explanation": {}},
}


async def answered(guest: Guest, heard: list[Json]) -> None:
    """Answers every request and records it in `heard`."""
    while True:  # ends: when it is cancelled
        heard.append(message := await guest.heard())
        if "id" in message:
            guest.answer(message, ANSWERS.get(message["method"], {}))


async def everything(client: Client) -> None:
    """Calls every method of the client with every parameter."""
    described = tools.tool(name="t", description="d", read_only=True, timeout=1)(lambda: None)
    start: Json = {
        "cwd": Path("/"),
        "sandbox": "read-only",
        "approval": "never",
        "instructions": "i",
        "agents": True,
        "mcp_servers": {"m": {"command": "c"}},
        "only_tools": ["list_dir"],
        "model": {"name": "n", "wire": "chat", "base_url": "u", "script": Path("s"), "context": 1, "max_turns": 1, "max_tokens": 1},
    }
    session = await client.start_session(tools=[described], **start)
    other = await client.attach("other", cursor=9, tools=[described], **start)
    await client.sessions(limit=1, live=True)
    await session.prompt("p", images=[Image(b"x")])
    await session.interrupt()
    await session.call("t", {"a": 1}, key="k")
    await session.call("t", input="i")
    await session.list_tools()
    await session.register(described)
    await session.unregister("t")
    await session.start_process("c", argv=["c"], cwd="/", tty=(1, 2), stdin=True)
    process = await session.start_process("c")
    await process.read(wait_ms=1, max_bytes=1)
    await process.write("t", close=True)
    await process.resize(1, 2)
    await process.signal("INT")
    await process.kill()
    await session.read_file("f", offset=1, length=1)
    await session.write_file("f", "t", new=True)
    await session.write_file("f", b"t")
    await session.list_dir("d", depth=1, limit=1)
    await session.search("p", path="d", glob="g", ignore_case=True, limit=1)
    await session.apply_patch("p", key="k")
    await session.explain("c", tool="t", arguments={"a": 1})
    await other.detach()
    await session.close()


def unknown(value: Any, schema: Json, at: str) -> list[str]:
    """Returns the paths of members that the schema does not have."""
    if "$ref" in schema:
        return unknown(value, SCHEMAS[schema["$ref"].rsplit("/", 1)[1]], at)
    if isinstance(value, list):
        return [each for item in value for each in unknown(item, schema.get("items", {}), f"{at}[]")]
    branches = [each for way in ("allOf", "anyOf", "oneOf") for each in schema.get(way, [])]
    if branches:
        return min((unknown(value, each, at) for each in branches), key=len)
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    known = schema["properties"]
    return [f"{at}.{name}" for name in value.keys() - known.keys()] + [
        each for name in value.keys() & known.keys() for each in unknown(value[name], known[name], f"{at}.{name}")
    ]


async def test_nothing_is_sent_that_the_server_does_not_know(tmp_path: Path) -> None:
    heard: list[Json] = []
    async with Fake(tmp_path / "s") as fake:
        client = Client.connect_unix(fake.path)
        opening = asyncio.create_task(client.open())
        serving = asyncio.create_task(answered(await fake.guest(), heard))
        await opening
        await everything(client)
        serving.cancel()
        await client.close()
    methods = {method["name"]: method for method in CONTRACT["methods"]}
    # Sent by the server, except `$/cancel`, which needs a cancelled request.
    theirs = {"tool/invoke", "approval/request", "user/ask", "session/event", "session/delta", "$/cancel"}
    assert {message["method"] for message in heard} == methods.keys() - theirs
    for message in heard:
        params = methods[message["method"]]["params"]
        schema = {"properties": {each["name"]: each["schema"] for each in params}}
        assert unknown(message["params"], schema, message["method"]) == []


def test_every_end_of_a_turn_and_every_code_is_known() -> None:
    assert set(get_args(types.Ended)) == {each["const"] for each in SCHEMAS["PromptOutcome"]["oneOf"]}
    assert set(CODES) == {each["code"] for each in CONTRACT["components"]["errors"].values()}
