"""Sessions with the real server: turns, tools, approvals, questions, keys, errors and reattaching."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conftest import Server, World, call, message
from toolgate import (
    Approval,
    Decision,
    Event,
    Invocation,
    Question,
    Session,
    ToolAnswer,
    tool,
)
from toolgate.types import Json

WRITES = "echo yes >> said.txt"


@tool(read_only=True)
def weather(city: str, at: Invocation) -> str:
    """Says how the weather is."""
    if city == "Atlantis":
        raise LookupError(f"unknown city {city}")
    return f"sun in {city} for {at.turn_id}"


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


async def told(session: Session) -> list[Event]:
    """Closes a session and returns all its events, whose cursors have no gaps from 1 on."""
    await session.close()
    events = [event async for event in session.events()]
    assert [event.cursor for event in events] == list(range(1, len(events) + 1))
    return events


async def test_a_model_calls_a_tool_of_this_program(world: World) -> None:
    script = world.script([call("weather", city="Lisbon"), call("weather", city="Atlantis")], [message("Sunny.")])
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script}, tools=[weather])
        assert session.started is not None and "weather" in session.started.tools
        turn = await session.prompt("how is it?")
        assert (turn.ended, turn.text, turn.detail) == ("done", "Sunny.", None)
        events = await told(session)
    answers = [(event["success"], event.text) for event in events if event.kind == "answered"]
    assert answers == [(True, f"sun in Lisbon for {turn.turn_id}"), (False, "`weather`: LookupError: unknown city Atlantis")]
    assert [event.text for event in events if event.kind == "said" and event.text] == ["Sunny."]
    assert [event["id"] for event in events if event.kind == "turn"] == [turn.turn_id]
    assert events[-1].kind == "end"


async def test_a_tool_that_raises_fails_the_call_with_a_kind_and_a_message(world: World) -> None:
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, tools=[weather])
        answer = await session.call("weather", {"city": "Atlantis"})
        assert (answer.success, answer.error) == (False, "io")
        assert answer.text == "`weather`: LookupError: unknown city Atlantis"
        # The server still lists the tool, and this client no longer has it.
        session._tools.clear()
        answer = await session.call("weather", {"city": "Oslo"})
        assert (answer.success, answer.error, answer.text) == (False, "io", "`weather`: the client no longer has this tool")


async def test_text_is_told_as_it_comes(world: World) -> None:
    script = world.script([message("one two three")])
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script})
        pieces: list[str] = []

        async def listen() -> None:
            async for delta in session.deltas():
                if delta.kind == "text":
                    pieces.append(delta.text)

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0)
        await session.prompt("count")
        await session.close()
        await asyncio.wait_for(listening, 5)
        assert "".join(pieces) == "one two three"


@pytest.mark.parametrize(
    ("said", "decision"), [(True, "approved"), (False, "denied"), ("approved_for_session", "approved_for_session")]
)
async def test_an_approval_decides(world: World, said: bool | str, decision: str) -> None:
    asked: list[Approval] = []

    def approve(approval: Approval) -> bool | str:
        asked.append(approval)
        return said

    async with world.client() as client:
        session = await client.start_session(cwd=world.work, sandbox="workspace-write", approval="untrusted", on_approval=approve)
        answer = await session.call("exec_command", {"cmd": WRITES})
        assert answer.success is bool(said)
        assert (world.work / "said.txt").exists() is bool(said)
        assert asked[0].command == WRITES and asked[0].tool == "exec_command" and "denied" in asked[0].choices
        assert asked[0].call_id == answer.call_id
        events = await told(session)
    assert [event["decision"] for event in events if event.kind == "decided"] == [decision]


async def test_without_a_handler_it_is_denied_and_a_note_comes_to_the_model(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.client() as client:
        ways: Json = {"cwd": world.work, "sandbox": "workspace-write", "approval": "untrusted"}
        session = await client.start_session(**ways)
        answer = await session.call("exec_command", {"cmd": WRITES})
        assert not answer.success and answer.error == "denied"
        assert session.id in caplog.text and "`exec_command` needs approval" in caplog.text
        assert "start_session(on_approval=…)" in caplog.text
        noted = await client.start_session(**ways, on_approval=lambda approval: approval.deny("use git"))
        answer = await noted.call("exec_command", {"cmd": WRITES})
        assert "use git" in answer.text and not (world.work / "said.txt").exists()


@pytest.mark.parametrize("said", ["yes", None, 1, Decision("maybe")])
async def test_a_handler_that_says_nothing_of_use_denies_and_hears_of_it(
    world: World, said: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.client() as client:
        session = await client.start_session(
            cwd=world.work, sandbox="workspace-write", approval="untrusted", on_approval=lambda _: said
        )
        answer = await session.call("exec_command", {"cmd": WRITES})
        assert not answer.success and f"the handler returned {said!r}; it must return True, False, one of 'app" in caplog.text


async def test_a_question_that_gets_no_text_stays_unanswered(world: World, caplog: pytest.LogCaptureFixture) -> None:
    options = [{"label": "blue", "description": "as the sea"}, {"label": "red", "description": "as blood"}]
    questions = [{"id": "colour", "question": "Which colour?", "options": options}]
    script = world.script([call("request_user_input", questions=questions)], [message("Ok.")])
    async with world.client() as client:
        odd: Any = object()
        session = await client.start_session(cwd=world.work, model={"script": script}, on_question=lambda _: odd)
        assert (await asyncio.wait_for(session.prompt("paint"), 20)).text == "Ok."
        assert "it must return a string or None" in caplog.text
        session = await client.start_session(cwd=world.work, model={"script": script})
        assert (await asyncio.wait_for(session.prompt("paint"), 20)).text == "Ok."
        assert "'Which colour?', and this program has no `on_question` handler" in caplog.text


async def test_what_a_session_cannot_begin_with_is_refused_here(world: World) -> None:
    async with world.client() as client:
        wrong: Json = {"folder": "."}
        with pytest.raises(TypeError, match="unknown session option 'folder'; the options are cwd, sandbox,"):
            await client.start_session(**wrong)
        tools: list[Any] = [print]
        with pytest.raises(TypeError, match="`print` is not a tool"):
            await client.start_session(tools=tools)
        with pytest.raises(TypeError, match="`print` is not a tool"):
            await client.attach("s", tools=tools)
        session = await client.start_session(cwd=world.work)
        with pytest.raises(TypeError, match="`print` is not a tool"):
            await session.register(*tools)
        with pytest.raises(ValueError, match="not JSON compliant"):
            await session.call("list_dir", {"depth": float("nan")})
        assert repr(session) == f"<Session {session.id}>"


async def test_a_second_program_approves_what_the_first_does_not(server: Server, world: World) -> None:
    async with server.client() as first, server.client() as second:
        session = await first.start_session(cwd=world.work, sandbox="workspace-write", approval="untrusted")
        await second.attach(session.id, on_approval=lambda _: True)
        assert (await session.call("exec_command", {"cmd": WRITES})).success


async def test_the_model_asks_a_question(world: World) -> None:
    options = [{"label": "blue", "description": "as the sea"}, {"label": "red", "description": "as blood"}]
    questions = [{"id": "colour", "question": "Which colour?", "options": options}]
    script = world.script([call("request_user_input", questions=questions)], [message("Ok.")])
    asked: list[Question] = []

    async def answer(question: Question) -> str:
        asked.append(question)
        return question.options[0].label

    async with world.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script}, on_question=answer)
        await session.prompt("paint")
        events = await told(session)
    assert asked[0].question == "Which colour?" and asked[0].options[0].description == "as the sea"
    assert ["blue" in event.text for event in events if event.kind == "answered"] == [True]


async def test_a_key_makes_a_call_happen_once(world: World) -> None:
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")

        async def write() -> ToolAnswer:
            return await session.call("exec_command", {"cmd": f"sleep 0.2; {WRITES}; cat said.txt"}, key="k")

        answers = [*await asyncio.gather(write(), write(), write()), await write()]
        assert {answer.text for answer in answers} == {answers[0].text}
        assert sorted(answer.repeated for answer in answers) == [False, True, True, True]
        assert (world.work / "said.txt").read_text() == "yes\n"
        assert kinds(await told(session)).count("call") == 1


async def test_tools_come_and_go(world: World) -> None:
    async with world.client() as client:
        session = await client.start_session(cwd=world.work)
        assert await session.register(weather) == ["weather"]
        described = {each.name: each for each in await session.list_tools()}
        assert described["weather"].description == "Says how the weather is."
        assert (await session.call("weather", {"city": "Oslo"})).text == "sun in Oslo for "
        wrong = await session.call("weather", {"town": "Oslo"})
        assert not wrong.success
        assert await session.unregister("weather") == []
        assert "weather" not in {each.name for each in await session.list_tools()}


async def test_a_turn_is_interrupted(world: World) -> None:
    script = world.script([call("wait")])
    waits, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> None:
        """Waits."""
        waits.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    async with world.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script}, tools=[wait])
        prompting = asyncio.create_task(session.prompt("wait"))
        await waits.wait()
        assert (await session.prompt("and then")).ended == "steered"
        await session.interrupt()
        assert (await prompting).ended == "interrupted"
        await asyncio.wait_for(stopped.wait(), 5)


async def test_a_session_is_followed_from_a_cursor_by_another_program(server: Server, world: World) -> None:
    async with server.client() as first:
        session = await first.start_session(cwd=world.work)
        await session.call("list_dir", {"path": "."})
        await session.detach()
    async with server.client() as second:
        listed = await second.sessions(live=True)
        assert [(each.session_id, each.calls) for each in listed] == [(session.id, 1)]
        again = await second.attach(session.id, cursor=1)
        await again.call("list_dir", {"path": "."})
        after = [event async for event in _until(again, "answered", 2)]
        assert [event.cursor for event in after] == list(range(2, len(after) + 2))
        with pytest.raises(ValueError, match="follows session"):
            await second.attach(session.id)
        whole = await server.client().__aenter__()
        events = await told(await whole.attach(session.id))
        assert events[1 : len(after) + 1] == after
        await whole.close()


async def _until(session: Session, kind: str, count: int) -> Any:
    async for event in session.events():
        yield event
        count -= event.kind == kind
        if not count:
            return


async def test_a_session_goes_on_when_its_first_server_has_ended(world: World) -> None:
    script = world.script([message("Hello.")])
    async with world.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script})
        await session.prompt("hi")
    async with world.client() as client:
        listed = await client.sessions()
        assert [(each.session_id, each.live, each.first_prompt) for each in listed] == [(session.id, False, "hi")]
        again = await client.attach(session.id, cursor=session.cursor, model={"script": Path(script)})
        assert (await again.prompt("hi again")).text == "Hello."
        assert await client.sessions(live=True) != []
        # Only events after the cursor arrive, starting with the `end` that the first client did not wait for.
        await again.close()
        events = [event async for event in again.events()]
        assert [event.cursor for event in events] == list(range(session.cursor + 1, session.cursor + 1 + len(events)))
