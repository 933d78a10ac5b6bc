"""Error classes, the WebSocket and the example program, with the real server."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from conftest import Server, World
from toolgate import (
    CannotConnect,
    Client,
    InUse,
    InvalidParams,
    InvalidRequest,
    NoModel,
    NoSuchMethod,
    NoSuchProcess,
    NoSuchSession,
    Refused,
    Unusable,
)


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
            await session.write_file("big.txt", "x" * (17 << 20))
        with pytest.raises(Refused) as refused:
            await session.write_file("no.txt", "no")
        assert refused.value.code == -32008 and refused.value.data["error"]
        assert not (world.work / "no.txt").exists()


async def test_a_websocket_wants_its_token(world: World) -> None:
    env = {**world.env, "TOKEN_FOR_TESTS": "a-token-for-tests-0123456789-abcdefgh"}
    args = ("serve", "--websocket", "127.0.0.1:0", "--token-env", "TOKEN_FOR_TESTS")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(world.binary, *args, env={**os.environ, **env}, stderr=pipe)
    try:
        assert process.stderr is not None
        url = (await process.stderr.readline()).decode().split()[-1]
        # With a newline, as if read from a file.
        async with Client.connect_websocket(url, env["TOKEN_FOR_TESTS"] + "\n") as client:
            session = await client.start_session(cwd=world.work)
            assert (await session.call("list_dir", {"path": "."})).success
        with pytest.raises(CannotConnect, match="rejected this client: the token is missing or wrong"):
            await Client.connect_websocket(url, "wrong").open()
    finally:
        process.kill()
        await process.wait()


async def test_the_example_runs(world: World) -> None:
    example = Path(__file__).parents[1] / "examples" / "dynamic_tool.py"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(example), world.binary, env={**os.environ, **world.env}, stdout=pipe
    )
    out, _ = await process.communicate()
    assert out.decode() == "the tool says: 21 degrees in Lisbon\nthe model says: It is warm in Lisbon.\n"
    lines = [line.strip() for line in example.read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith(('"""', "{"))]) <= 20
