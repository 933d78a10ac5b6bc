"""Error classes: each error code of the real server raises its own subclass of `RpcError`."""

from __future__ import annotations

import pytest

from conftest import Server, World
from toolgate import (
    CallFailed,
    InUse,
    InvalidParams,
    InvalidRequest,
    NoModel,
    NoSuchMethod,
    NoSuchProcess,
    NoSuchSession,
    Refused,
    RpcError,
    Unusable,
)

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+three\n*** End Patch\n"


async def test_a_session_that_another_server_has_is_in_use(server: Server, world: World) -> None:
    async with server.client() as first, world.client() as second:
        session = await first.start_session(cwd=world.work)
        with pytest.raises(InUse):
            await second.attach(session.id)
        await session.close()
        assert (await second.attach(session.id)).cursor >= 0


async def test_errors_have_classes(world: World) -> None:
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, sandbox="read-only", approval="never")
        with pytest.raises(NoModel):
            await session.prompt("hi")
        with pytest.raises(NoSuchSession):
            await client.attach("20200101-000000-aaaaaa")
        with pytest.raises(NoSuchMethod) as missing:
            await session.request("tool/lst", {})
        assert "tool/list" in missing.value.data["nearest"]
        with pytest.raises(InvalidParams, match="tool"):
            await session.request("tool/call", {"tool": 1})
        with pytest.raises(NoSuchProcess):
            await session.request("process/kill", {"process_id": 77})
        with pytest.raises(Unusable):
            await client.start_session(cwd=world.work / "none-such")
        with pytest.raises(InvalidRequest, match="at most"):
            await session.call("list_dir", {"path": "x" * (17 << 20)})
        with pytest.raises(Refused) as refused:
            await session.write_file("no.txt", "no")
        assert refused.value.code == -32008 and refused.value.data["error"]
        assert not (world.work / "no.txt").exists()


async def test_a_call_that_failed_is_told_apart_from_one_that_was_refused(world: World) -> None:
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")
        await session.write_file("a.txt", "one\n")
        for failed, kind in (
            (session.read_file("nope"), "io"),
            (session.list_dir("nope"), "io"),
            (session.apply_patch(PATCH), None),
            (session.write_file("a.txt", "x", new=True), None),
            ((await session.start_process(argv=["no-such-program"])).read(), None),
        ):
            with pytest.raises(CallFailed) as error:
                await failed
            assert isinstance(error.value, RpcError) and not isinstance(error.value, Refused)
            assert (error.value.data or {}).get("error") == kind
        for refused in (session.write_file("/var/x", "x"), session.read_file("/etc/shadow"), session.start_process("rm -rf /")):
            with pytest.raises(Refused) as denied:
                await refused
            assert denied.value.data["denials"]
