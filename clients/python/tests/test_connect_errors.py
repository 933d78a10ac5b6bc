"""Failed connections: each error names the cause, the place, and what to try."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import World
from fake_server import Fake
from toolgate import CannotConnect, Client, ConnectionLost, Reconnect, ToolgateError

AT_ONCE = 5
PATIENT = Reconnect(first=0.01, within=30)
BRIEF = Reconnect(first=0.01, within=0.05)


@contextlib.contextmanager
def complaints() -> Iterator[list[dict[str, Any]]]:
    """Collects asyncio's complaints: tasks that were not awaited, exceptions that were never retrieved."""
    heard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
    yield heard
    gc.collect()


async def opened(client: Client) -> None:
    """Opens a client that is expected to fail, with a short timeout."""
    await asyncio.wait_for(client.open(), AT_ONCE)


async def test_a_client_that_is_not_open_says_so_at_once(world: World) -> None:
    client = world.client()
    for request in (client.start_session(cwd="."), client.sessions(), client.attach("s")):
        with pytest.raises(ToolgateError, match=r"not open: use `async with client:`, or `await client.open\(\)`"):
            await asyncio.wait_for(request, AT_ONCE)
    await client.close()


async def test_a_client_is_opened_once(world: World) -> None:
    async with world.client() as client:
        with pytest.raises(ToolgateError, match="open already"):
            await client.open()
        assert await client.sessions() == []
    with pytest.raises(ToolgateError, match="create a new one"):
        await client.open()
    with pytest.raises(ConnectionLost, match="the client is closed"):
        await client.sessions()


async def test_who_asks_while_it_is_opened_waits_and_hears_if_that_fails(world: World) -> None:
    client = world.client()
    _, listed = await asyncio.wait_for(asyncio.gather(client.open(), client.sessions()), AT_ONCE)
    assert listed == []
    await client.close()
    client = Client.connect_unix(world.work / "none", reconnect=BRIEF)
    opening = asyncio.gather(client.open(), client.sessions(), return_exceptions=True)
    failed, unheard = await asyncio.wait_for(opening, AT_ONCE)
    assert isinstance(failed, ConnectionLost) and isinstance(unheard, ToolgateError)


def refusing(path: Path) -> None:
    """Creates a socket file without a listener, as a killed server leaves it."""
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda path: None, "there is no socket {path}; `toolgate serve --socket {path}` starts"),
        (refusing, "no server listens at {path}; `toolgate serve --socket {path}` starts"),
        (lambda path: path.write_text(""), "no server listens at {path}"),
    ],
)
async def test_a_socket_where_nobody_is_is_named(tmp_path: Path, made: Any, says: str) -> None:
    made(path := tmp_path / "s")
    with pytest.raises(CannotConnect) as failed:
        await opened(Client.connect_unix(path))
    assert says.format(path=path) in str(failed.value) and failed.value.is_passing
    assert isinstance(failed.value.__cause__, OSError)
    with pytest.raises(ConnectionLost) as given_up:
        await opened(Client.connect_unix(path, reconnect=BRIEF))
    assert says.format(path=path) in str(given_up.value)


async def test_a_path_that_no_socket_can_have_is_not_tried_again(tmp_path: Path) -> None:
    with pytest.raises(CannotConnect, match="too long"):
        await opened(Client.connect_unix(tmp_path / ("x" * 120), reconnect=PATIENT))


async def test_a_server_that_lets_nobody_in_is_told_apart(tmp_path: Path) -> None:
    async with Fake(tmp_path / "s") as fake:
        opening = asyncio.create_task(Client.connect_unix(fake.path).open())
        guest = await fake.guest()
        await guest.expect("initialize")
        guest.drop()
        with pytest.raises(CannotConnect, match="s closed the connection before it answered; it accepts only the user"):
            await opening


@pytest.mark.parametrize(
    ("binary", "args", "says"),
    [
        ("true", [], "`true` ended with exit status 0 before it answered"),
        ("sh", ["-c", "exit 3"], "`sh -c 'exit 3'` ended with exit status 3 before it answered"),
        ("sh", ["-c", "kill -9 $$"], "was ended by SIGKILL before it answered"),
        ("sh", ["-c", "exec >&-; exec cat > /dev/null"], "closed its output before it answered"),
    ],
)
async def test_a_program_that_ends_at_once_says_how(binary: str, args: list[str], says: str) -> None:
    with complaints() as heard:
        for reconnect in (False, PATIENT):  # a retry would end the same way
            with pytest.raises(CannotConnect) as failed:
                await opened(Client.spawn(binary, args, reconnect=reconnect))
            assert says in str(failed.value)
    assert heard == []


async def test_a_wrong_argument_is_not_swallowed(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CannotConnect, match=r"serve --bogus` ended with exit status 2 .* see its messages on standard error"):
        await opened(Client.spawn(world.binary, ["serve", "--bogus"], env=world.env))
    assert "--bogus" in capfd.readouterr().err


async def test_a_server_that_dies_later_says_how_too(world: World) -> None:
    async with Client.spawn("sh", ["-c", f"echo $$ > pid; exec {world.binary} serve"], env=world.env, cwd=world.work) as client:
        session = await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")
        calling = asyncio.create_task(session.call("exec_command", {"cmd": "echo > runs; sleep 60"}))
        while not (world.work / "runs").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        os.kill(int((world.work / "pid").read_text()), 9)
        with pytest.raises(ConnectionLost, match=r"before the answer came: .* was ended by SIGKILL"):
            await calling
        with pytest.raises(ConnectionLost, match=r"is lost: .* was ended by SIGKILL"):
            await client.sessions()


async def test_a_program_that_cannot_be_started_is_named(world: World) -> None:
    with pytest.raises(CannotConnect, match=r"none-such` cannot be started: No such file .* finds an installed Toolgate"):
        await opened(Client.spawn(world.work / "none-such", reconnect=PATIENT))
    with pytest.raises(CannotConnect, match="cannot be started: Permission denied"):
        await opened(Client.spawn(world.work))
    with pytest.raises(CannotConnect, match=r"cannot be started: No such file or directory: .*/nowhere$"):
        await opened(Client.spawn(world.binary, cwd=world.work / "nowhere"))


@contextlib.asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Runs a TCP server that sends the same answer to every client, and gives its URL."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(say, "127.0.0.1", 0)
    yield f"ws://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    listening.close()


START = "`toolgate serve --websocket 127.0.0.1:PORT` starts a server"


async def test_a_websocket_where_nobody_is_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(CannotConnect, match=f"cannot connect to {url}: no server listens there; {START}") as failed:
            await opened(Client.connect_websocket(url, "t"))
        assert failed.value.is_passing
        with pytest.raises(ConnectionLost, match=f"no server answered .*{url}: no server listens there"):
            await opened(Client.connect_websocket(url, "t", reconnect=BRIEF))
    with pytest.raises(CannotConnect, match=r"127\.0\.0\.1:1 is not a WebSocket URL"):
        await opened(Client.connect_websocket("127.0.0.1:1", "t", reconnect=PATIENT))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\n\r\nthe token is missing or wrong\n", "rejected .*: the token is missing or wrong .401."),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "rejected this client: Not Found .404."),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "the server at ws://.* does not speak WebSocket: .*"),
    ],
)
async def test_what_a_server_says_that_lets_nobody_in_is_kept(answer: bytes, says: str) -> None:
    async with answering(answer) as url:
        with pytest.raises(CannotConnect, match=f"{says}; {START}"):
            await opened(Client.connect_websocket(url, "wrong"))
