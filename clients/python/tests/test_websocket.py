"""WebSocket transport and its token, with the real server."""

from __future__ import annotations

import asyncio
import os

import pytest

from conftest import World
from toolgate import CannotConnect, Client


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
