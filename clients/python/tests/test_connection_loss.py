"""Connections lost at the worst moments, with the fake server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fake_server import Fake, Json, Talk, begun
from toolgate import (
    Client,
    ConnectionLost,
    Event,
    EventsDropped,
    JournalBehind,
    NoSuchSession,
    Reconnect,
    Session,
    TurnLost,
    tool,
)


@pytest_asyncio.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with Fake(tmp_path / "s") as fake:
        client = Client.connect_unix(fake.path, reconnect=Reconnect(first=0.01, within=5))
        yield await begun(fake, client, sandbox="read-only", tools=[greet])
        await client.close()


@tool
def greet(name: str) -> str:
    """Greets."""
    return f"hello {name}"


async def first(session: Session, count: int) -> list[tuple[int, str]]:
    events: list[Event] = []
    async for event in session.events():
        events.append(event)
        if len(events) == count:
            break
    return [(event.cursor, event.kind) for event in events]


async def test_events_go_on_after_the_last_that_came_and_none_comes_twice(talk: Talk) -> None:
    talk.guest.event(2, "notice")
    assert await first(talk.session, 2) == [(1, "session"), (2, "notice")]
    talk.guest.drop()
    guest = await talk.fake.guest()
    params = await guest.welcome(cursor=3)
    assert params["cursor"] == 2 and params["start"] == {"sandbox": "read-only"}
    assert [each["name"] for each in params["tools"]] == ["greet"]
    guest.event(2, "notice")
    guest.event(3, "end")
    assert await first(talk.session, 3) == [(1, "session"), (2, "notice"), (3, "end")]


async def test_a_call_is_sent_again_with_its_key(talk: Talk) -> None:
    calling = asyncio.create_task(talk.session.call("t", {"a": 1}))
    before = await talk.guest.expect("tool/call")
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome(cursor=1)
    again = await guest.expect("tool/call")
    assert again["params"] == before["params"] and again["params"]["key"]
    guest.answer(again, {"call_id": "c", "success": True, "content_items": [], "elapsed_ms": 1, "repeated": True})
    assert (await calling).repeated


async def test_what_cannot_be_sent_twice_says_so(talk: Talk) -> None:
    starting = asyncio.create_task(talk.session.start_process("true"))
    await talk.guest.expect("process/start")
    talk.guest.drop()
    with pytest.raises(ConnectionLost):
        await starting


async def prompted(talk: Talk) -> asyncio.Task[Any]:
    """Sends a prompt that is never answered on this connection."""
    prompting = asyncio.create_task(talk.session.prompt("go"))
    await talk.guest.expect("session/prompt")
    return prompting


def said(text: str) -> Json:
    return {"items": [{"pieces": [{"text": text}]}]}


async def test_a_turn_that_ended_meanwhile_is_read_from_the_events(talk: Talk) -> None:
    prompting = await prompted(talk)
    talk.guest.event(2, "prompt", text="go")
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome(cursor=4)
    guest.event(3, "said", **said("all of it"))
    guest.event(4, "turn", id="t2", ended="done")
    turn = await prompting
    assert (turn.turn_id, turn.ended, turn.text) == ("t2", "done", "all of it")


async def test_a_turn_that_still_runs_is_waited_for(talk: Talk) -> None:
    prompting = await prompted(talk)
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome(cursor=1, busy=True)
    guest.event(2, "prompt", text="go")
    guest.event(3, "turn", id="t2", ended="failed", detail="why")
    turn = await prompting
    assert (turn.ended, turn.detail) == ("failed", "why")


async def test_a_prompt_that_never_came_is_sent_again(talk: Talk) -> None:
    prompting = await prompted(talk)
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome(cursor=1)
    again = await guest.expect("session/prompt")
    guest.answer(again, {"turn_id": "t2", "ended": "done", "text": "ok"})
    assert (await prompting).text == "ok"


async def test_a_prompt_that_was_added_to_a_turn_is_not_sent_again(talk: Talk) -> None:
    prompting = await prompted(talk)
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome(cursor=1, busy=True)
    guest.event(2, "added", text="go")
    guest.event(3, "turn", id="t0", ended="done")
    assert (await prompting).turn_id == "t0"


async def test_a_turn_that_died_with_its_server_is_lost(talk: Talk) -> None:
    prompting = await prompted(talk)
    talk.guest.event(2, "prompt", text="go")
    talk.guest.drop()
    await (await talk.fake.guest()).welcome(cursor=2, resumed=True)
    with pytest.raises(TurnLost, match="`prompt` can be called again"):
        await prompting


async def test_what_another_server_says_of_a_turn_that_died_is_no_answer(talk: Talk) -> None:
    prompting = await prompted(talk)
    talk.guest.event(2, "prompt", text="go")
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome(cursor=4, resumed=True)
    guest.event(3, "session", resumed=True)
    guest.event(4, "turn", id="t2", ended="interrupted")
    with pytest.raises(TurnLost):
        await prompting


async def test_a_journal_that_lost_events_is_not_followed_silently(talk: Talk) -> None:
    talk.guest.event(2, "notice")
    assert await first(talk.session, 2)
    talk.guest.drop()
    await (await talk.fake.guest()).welcome(cursor=1, resumed=True)
    with pytest.raises(JournalBehind, match="ends at 1, before event 2"):
        await first(talk.session, 3)


async def test_a_session_that_is_gone_says_why_and_the_client_goes_on(talk: Talk) -> None:
    talk.guest.drop()
    guest = await talk.fake.guest()
    await guest.welcome()
    attach = await guest.expect("session/attach")
    guest.tell({"id": attach["id"], "error": {"code": -32001, "message": "there is no such session"}})
    with pytest.raises(NoSuchSession):
        await first(talk.session, 2)
    listing = asyncio.create_task(talk.client.sessions())
    guest.answer(await guest.expect("session/list"), {"sessions": []})
    assert await listing == []


async def test_what_is_taken_back_is_told_to_the_server_and_what_it_takes_back_is_answered(talk: Talk) -> None:
    calling = asyncio.create_task(talk.session.call("t"))
    request = await talk.guest.expect("tool/call")
    calling.cancel()
    assert (await talk.guest.expect("$/cancel"))["params"] == {"id": request["id"]}
    params = {"session_id": "s", "call_id": "c", "turn_id": "", "tool": "greet", "arguments": {"name": "you"}}
    talk.guest.tell({"id": 7, "method": "tool/invoke", "params": params})
    talk.guest.tell({"method": "$/cancel", "params": {"id": 7}})
    assert (await talk.guest.heard())["error"]["code"] == -32800
    talk.guest.tell({"id": 8, "method": "tool/invoke", "params": params})
    assert (await talk.guest.heard())["result"] == {
        "content_items": [{"type": "text", "text": "hello you"}],
        "success": True,
    }
    talk.guest.tell({"id": 9, "method": "approval/request", "params": {"session_id": "s", "question": {}}})
    assert (await talk.guest.heard())["error"]["code"] == -32009


async def test_who_does_not_reconnect_is_told(tmp_path: Path) -> None:
    async with Fake(tmp_path / "s") as fake:
        client = Client.connect_unix(fake.path)
        talk = await begun(fake, client)
        prompting = await prompted(talk)
        talk.guest.drop()
        with pytest.raises(ConnectionLost):
            await prompting
        with pytest.raises(ConnectionLost):
            await first(talk.session, 2)
        with pytest.raises(ConnectionLost):
            await talk.session.call("t")
        await client.close()


async def test_nobody_waits_for_a_server_for_ever(tmp_path: Path) -> None:
    client = Client.connect_unix(tmp_path / "none", reconnect=Reconnect(first=0.01, within=0.05))
    with pytest.raises(ConnectionLost, match="no server answered within"):
        await client.open()


async def test_events_that_are_not_kept_are_missed_loudly(tmp_path: Path) -> None:
    async with Fake(tmp_path / "s") as fake:
        client = Client.connect_unix(fake.path)
        talk = await begun(fake, client, keep_events=2)
        for cursor in (2, 3, 4):
            talk.guest.event(cursor, "notice")
        closing = asyncio.create_task(talk.session.close())
        talk.guest.answer(await talk.guest.expect("session/close"), {})
        await closing
        assert [event.cursor async for event in talk.session.events(after=2)] == [3, 4]
        with pytest.raises(EventsDropped, match="events 1 to 2"):
            await first(talk.session, 4)
        await client.close()
