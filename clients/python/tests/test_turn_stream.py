"""Streams of turns: events and deltas in order, the result, leaving early, and lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from conftest import World, call, message
from fake_server import Fake, Talk, begun
from toolgate import Client, ConnectionLost, Delta, Event, NoModel, ToolgateError, tool
from toolgate._notification_queue import QUEUED


@pytest_asyncio.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with Fake(tmp_path / "s") as fake:
        client = Client.connect_unix(fake.path)
        yield await begun(fake, client)
        await client.close()


async def test_a_turn_yields_its_events_and_deltas_until_it_ends(world: World) -> None:
    script = world.script([call("exec_command", cmd="echo out")], [message("All done.")])
    async with world.client() as client:
        session = await client.start_session(
            cwd=world.work, sandbox="workspace-write", approval="never", model={"script": script}
        )
        items: list[Event | Delta] = []
        async with session.stream("go") as turn:
            with pytest.raises(ToolgateError, match="has not ended"):
                print(turn.result)
            async for item in turn:
                items.append(item)
        assert (turn.result.ended, turn.result.text) == ("done", "All done.")
        events = [item for item in items if isinstance(item, Event)]
        assert (events[0].kind, events[-1].kind) == ("prompt", "turn")
        assert [event.cursor for event in events] == list(range(events[0].cursor, events[-1].cursor + 1))
        deltas = [item for item in items if isinstance(item, Delta)]
        assert "".join(delta.text for delta in deltas if delta.kind == "text") == "All done."
        assert "".join(delta.text for delta in deltas if delta.kind == "output") == "out\n"
        # The text in progress comes before the complete response.
        assert items.index(next(delta for delta in deltas if delta.kind == "text")) < items.index(
            next(event for event in events if event.kind == "said" and event.text)
        )


async def test_leaving_the_block_early_stops_the_turn(world: World) -> None:
    script = world.script([call("wait")], [call("wait")])
    stopped = asyncio.Event()

    @tool
    async def wait() -> None:
        """Waits."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with world.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script}, tools=[wait])
        async with session.stream("wait") as turn:
            async for item in turn:
                if item.kind == "call":
                    break
        assert turn.result.ended == "interrupted"
        await asyncio.wait_for(stopped.wait(), 5)
        # Before the first event too: an interrupt before the turn begins has no effect.
        async with session.stream("wait") as turn:
            pass
        assert turn.result.ended == "interrupted"
        with pytest.raises(ToolgateError, match=r"used already; call `session\.stream` again"):
            await turn.__aenter__()


async def test_a_prompt_that_fails_raises_its_error_in_the_loop(world: World) -> None:
    async with world.client() as client:
        session = await client.start_session(cwd=world.work)
        with pytest.raises(NoModel):
            async with session.stream("hi") as turn:
                async for _ in turn:
                    pass
        with pytest.raises(ToolgateError, match=r"use `with session\.stream"):
            async for _ in session.stream("hi"):
                pass


async def test_the_response_may_come_before_the_last_event(talk: Talk) -> None:
    async with talk.session.stream("go") as turn:
        prompt = await talk.guest.expect("session/prompt")
        talk.guest.event(2, "notice", text="of the previous turn")
        talk.guest.event(3, "prompt", text="go")
        talk.guest.answer(prompt, {"turn_id": "t3", "ended": "done", "text": "ok"})
        talk.guest.event(4, "turn", id="t1", ended="done")
        talk.guest.event(5, "turn", id="t3", ended="done")
        assert [item.kind async for item in turn] == ["prompt", "turn", "turn"]
    assert turn.result.text == "ok"


async def test_a_delta_that_overtakes_the_event_of_its_prompt_is_yielded_after_it(talk: Talk) -> None:
    async with talk.session.stream("go") as turn:
        prompt = await talk.guest.expect("session/prompt")
        talk.guest.tell({"method": "session/delta", "params": {"session_id": "s", "kind": "text", "text": "Yes."}})
        talk.guest.event(2, "prompt", text="go")
        talk.guest.event(3, "turn", id="t2", ended="done")
        talk.guest.answer(prompt, {"turn_id": "t2", "ended": "done", "text": "Yes."})
        assert [item.kind async for item in turn] == ["prompt", "text", "turn"]


async def test_a_slow_reader_misses_deltas_and_no_event(talk: Talk) -> None:
    async with talk.session.stream("go") as turn:
        prompt = await talk.guest.expect("session/prompt")
        talk.guest.event(2, "prompt", text="go")
        for number in range(QUEUED + 1):
            talk.guest.tell({"method": "session/delta", "params": {"session_id": "s", "kind": "text", "text": f"{number} "}})
        talk.guest.event(3, "turn", id="t2", ended="done")
        talk.guest.answer(prompt, {"turn_id": "t2", "ended": "done", "text": ""})
        await asyncio.wait_for(talk.session._subscription.log.reached(3), 5)
        items = [item async for item in turn]
    assert [item.kind for item in items if isinstance(item, Event)] == ["prompt", "turn"]
    assert len([item for item in items if isinstance(item, Delta)]) == QUEUED - 1


async def test_a_lost_connection_ends_the_stream_with_an_error(talk: Talk) -> None:
    with pytest.raises(ConnectionLost):
        async with talk.session.stream("go") as turn:
            await talk.guest.expect("session/prompt")
            talk.guest.event(2, "prompt", text="go")
            talk.guest.drop()
            async for _ in turn:
                pass


async def test_a_session_that_ends_before_the_last_event_ends_the_stream(talk: Talk) -> None:
    async with talk.session.stream("go") as turn:
        prompt = await talk.guest.expect("session/prompt")
        talk.guest.answer(prompt, {"turn_id": "t2", "ended": "done", "text": "ok"})
        talk.guest.drop()
        assert [item async for item in turn] == []
    assert turn.result.text == "ok"


async def test_a_session_and_a_process_end_with_their_blocks(world: World) -> None:
    async with world.client() as client:
        async with await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never") as session:
            async with await session.start_process("echo begun; sleep 60") as process:
                async for piece in process:
                    assert piece.text == "begun\n"
                    break
            assert process.exit_code in (137, 143)
            async with await session.start_process("exit 3") as process:
                assert await process.wait() == 3
        assert await client.sessions(live=True) == []
        async with await client.start_session(cwd=world.work) as kept:
            await kept.detach()
        assert [each.session_id for each in await client.sessions(live=True)] == [kept.id]
