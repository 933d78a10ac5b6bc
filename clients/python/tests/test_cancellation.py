"""Cancelled requests: the server gets `$/cancel`, and late responses are handled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conftest import Server, World, call, message
from fake_server import STARTED, Fake, Json, Talk, begun
from toolgate import Client, Invocation, NoSuchProcess, NoSuchSession, Process, Reconnect, tool


@pytest_asyncio.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with Fake(tmp_path / "s") as fake:
        client = Client.connect_unix(fake.path, reconnect=Reconnect(first=0.01, within=5))
        yield await begun(fake, client)
        await client.close()


async def cancelled(talk: Talk, request: Coroutine[Any, Any, Any], method: str) -> Json:
    """Starts a request, cancels it, and returns the request that the server received."""
    task = asyncio.create_task(request)
    sent = await talk.guest.expect(method)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await talk.guest.expect("$/cancel"))["params"] == {"id": sent["id"]}
    return sent


async def test_a_late_answer_is_passed_over(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    late = await cancelled(talk, talk.session.call("t"), "tool/call")
    talk.guest.answer(late, {"call_id": "late", "success": False, "content_items": []})
    failed = await cancelled(talk, talk.session.list_tools(), "tool/list")
    talk.guest.tell({"id": failed["id"], "error": {"code": -32800, "message": "taken back"}})
    calling = asyncio.create_task(talk.session.call("t"))
    talk.guest.answer(await talk.guest.expect("tool/call"), {"call_id": "next", "success": True, "content_items": []})
    assert (await calling).call_id == "next"
    assert caplog.records == []


async def test_a_session_that_nobody_waits_for_is_closed(talk: Talk) -> None:
    late = await cancelled(talk, talk.client.start_session(), "session/start")
    talk.guest.answer(late, {**STARTED, "session_id": "unwanted"})
    assert (await talk.guest.expect("session/close"))["params"] == {"session_id": "unwanted"}


async def test_a_session_whose_answer_comes_in_the_same_moment_is_closed_too(talk: Talk) -> None:
    starting = asyncio.create_task(talk.client.start_session())
    start = await talk.guest.expect("session/start")
    connection = await talk.client._registry.connection.ready()
    connection._answered(start["id"], {"result": {**STARTED, "session_id": "unwanted"}})
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert (await talk.guest.expect("session/close"))["params"] == {"session_id": "unwanted"}


async def test_a_process_that_nobody_waits_for_is_killed(talk: Talk) -> None:
    late = await cancelled(talk, talk.session.start_process("sleep 60"), "process/start")
    talk.guest.answer(late, {"process_id": 7})
    assert (await talk.guest.expect("process/kill"))["params"] == {"session_id": "s", "process_id": 7}


async def test_the_end_of_a_process_is_heard_though_the_read_was_cancelled(talk: Talk) -> None:
    process = Process(talk.session, 7)
    late = await cancelled(talk, process.read(), "process/read")
    reading = asyncio.create_task(process.read())
    again = await talk.guest.expect("process/read")
    # The server reports the end once and then forgets the process.
    talk.guest.answer(late, {"pieces": [], "next": 0, "state": "exited", "exit_code": 3})
    talk.guest.tell({"id": again["id"], "error": {"code": -32005, "message": "there is no process 7"}})
    assert (await reading).state == "exited" and process.exit_code == 3
    assert await process.wait() == 3 and (await process.read()).exit_code == 3


async def test_a_process_that_never_was_is_still_an_error(talk: Talk) -> None:
    reading = asyncio.create_task(Process(talk.session, 8).read())
    request = await talk.guest.expect("process/read")
    talk.guest.tell({"id": request["id"], "error": {"code": -32005, "message": "there is no process 8"}})
    with pytest.raises(NoSuchProcess):
        await reading


async def test_what_a_session_was_closed_with_can_be_cancelled(talk: Talk) -> None:
    await cancelled(talk, talk.session.close(), "session/close")
    talk.guest.drop()
    # The session is reattached, because it was not closed.
    assert (await (await talk.fake.guest()).welcome(cursor=1))["session_id"] == "s"


async def test_a_session_is_attached_though_the_connection_is_lost_meanwhile(talk: Talk) -> None:
    attaching = asyncio.create_task(talk.client.attach("other", cursor=4))
    await talk.guest.expect("session/attach")
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome()
    for _ in range(2):
        attach = await guest.expect("session/attach")
        id, cursor = attach["params"]["session_id"], attach["params"]["cursor"]
        guest.answer(attach, {**STARTED, "session_id": id, "resumed": True, "busy": False, "cursor": cursor})
    session = await attaching
    assert repr(session) == "<Session other>" and session.cursor == 4


async def test_a_session_that_is_gone_after_that_is_not_attached(talk: Talk) -> None:
    attaching = asyncio.create_task(talk.client.attach("other"))
    await talk.guest.expect("session/attach")
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome()
    for _ in range(2):
        attach = await guest.expect("session/attach")
        guest.tell({"id": attach["id"], "error": {"code": -32001, "message": "there is no such session"}})
    with pytest.raises(NoSuchSession):
        await attaching


async def test_a_prompt_that_is_cancelled_leaves_the_turn_running(server: Server, world: World) -> None:
    script = world.script([call("wait")], [message("Done.")])
    waits, goes_on = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Waits."""
        waits.set()
        await goes_on.wait()
        return "waited"

    async with server.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script}, tools=[wait])
        prompting = asyncio.create_task(session.prompt("wait"))
        await waits.wait()
        prompting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await prompting
        assert (await session.prompt("and then")).ended == "steered"
        goes_on.set()
        turns = [event["ended"] async for event in _until_turn(session)]
        assert turns == ["done"]
        # The late response to the first prompt is ignored.
        assert (await session.prompt("again")).ended in ("done", "steered")


async def test_an_interrupt_drops_what_was_added(server: Server, world: World) -> None:
    commands = [call("exec_command", cmd=f"echo begun; {more}") for more in ("sleep 60", "touch should-not")]
    async with server.client() as client:
        script = world.script(*[[command] for command in commands], [message("Done.")])
        session = await client.start_session(cwd=world.work, model={"script": script})
        prompting = asyncio.create_task(session.prompt("one"))
        async for event in session.events():
            if event.kind == "attempt":
                break
        assert (await session.prompt("also two")).ended == "steered"
        await session.interrupt()
        stopped = await prompting
        assert (stopped.ended, stopped.detail) == ("interrupted", "the model did not read: also two")
        assert not (world.work / "should-not").exists()


async def test_a_prompt_right_after_an_interrupt_begins_a_turn(server: Server, world: World) -> None:
    async with server.client() as client:
        script = world.script([call("exec_command", cmd="sleep 60")], [message("Second.")])
        session = await client.start_session(cwd=world.work, model={"script": script})
        prompting = asyncio.create_task(session.prompt("first"))
        async for event in session.events():
            if event.kind == "attempt":
                break
        await session.interrupt()
        second = await session.prompt("second")
        assert (second.ended, second.text) == ("done", "Second.")
        assert (await prompting).ended == "interrupted"


async def _until_turn(session: Any) -> Any:
    async for event in session.events():
        if event.kind == "turn":
            yield event
            return


@pytest.mark.parametrize("stop", ["interrupt", "timeout", "close"])
async def test_a_plain_tool_learns_that_its_call_is_cancelled(world: World, stop: str) -> None:
    begun, learned = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(timeout=0.2 if stop == "timeout" else None)
    def wait(call: Invocation) -> None:
        """Waits until its call is cancelled."""
        assert not call.cancelled.is_set()
        loop.call_soon_threadsafe(begun.set)
        assert call.cancelled.wait(20)
        loop.call_soon_threadsafe(learned.set)

    async with world.client() as client:
        script = world.script([call("wait")], [message("Stopped.")])
        session = await client.start_session(cwd=world.work, model={"script": script}, tools=[wait])
        prompting = asyncio.create_task(session.prompt("go"))
        await begun.wait()
        if stop == "interrupt":
            await session.interrupt()
        elif stop == "close":
            await client.close()
        await asyncio.wait_for(learned.wait(), 10)
        await asyncio.gather(prompting, return_exceptions=True)
