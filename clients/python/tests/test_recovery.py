"""Recovery after lost connections and a killed server: nothing is lost or run twice, also with fifty sessions."""

from __future__ import annotations

import asyncio
import collections
from pathlib import Path

import pytest

from conftest import Server, Wire, World, call, message
from toolgate import Approval, Client, Event, NoSuchProcess, Process, Session, ToolAnswer, TurnLost, tool


async def test_what_runs_goes_on_while_the_connection_is_lost(server: Server, world: World) -> None:
    script = world.script([call("exec_command", cmd="sleep 0.3; echo turn >> done.txt")], [message("Done.")])
    async with server.client(), Wire(server) as wire, wire.client() as client:
        session = await client.start_session(
            cwd=world.work, sandbox="workspace-write", approval="never", model={"script": script}
        )
        calling = asyncio.create_task(session.call("exec_command", {"cmd": "sleep 1; echo call >> done.txt"}))
        prompting = asyncio.create_task(session.prompt("go"))
        async for event in session.events():
            if event.kind == "attempt" and event["call"].startswith("call_"):
                break
        wire.cut()
        assert ((await calling).success, (await prompting).text) == (True, "Done.")
        assert sorted((world.work / "done.txt").read_text().split()) == ["call", "turn"]
        await told_once(session)


async def test_a_question_that_stands_is_asked_again(server: Server, world: World) -> None:
    asked: list[Approval] = []
    waits = asyncio.Event()

    async def approve(approval: Approval) -> bool:
        asked.append(approval)
        if len(asked) == 1:
            waits.set()
            await asyncio.sleep(60)
        return True

    async with server.client(), Wire(server) as wire, wire.client() as client:
        session = await client.start_session(cwd=world.work, sandbox="workspace-write", approval="untrusted", on_approval=approve)
        calling = asyncio.create_task(session.call("exec_command", {"cmd": "echo yes >> done.txt"}))
        await waits.wait()
        wire.cut()
        assert (await calling).success
        assert asked[0] == asked[1] and len(asked) == 2
        assert (world.work / "done.txt").read_text() == "yes\n"
        await told_once(session)


async def test_a_connection_that_is_cut_again_and_again_costs_nothing(server: Server, world: World) -> None:
    async with server.client(), Wire(server) as wire, wire.client() as client:
        session = await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")

        async def cut() -> None:
            async for event in session.events():
                if event.cursor % 11 == 0:
                    wire.cut()

        cutting = asyncio.create_task(cut())
        for number in range(15):
            assert (await session.call("exec_command", {"cmd": f"echo {number} >> done.txt"})).success
        cutting.cancel()
        assert (world.work / "done.txt").read_text().split() == [str(number) for number in range(15)]
        process = await session.start_process(argv=["seq", "1", "300000"])
        written = b""
        async for piece in process:
            written += piece.data
            if len(written) // 65536 % 5 == 1:
                wire.cut()
        assert written.split() == [str(number).encode() for number in range(1, 300001)]
        await told_once(session)


async def told_once(session: Session) -> list[Event]:
    """Closes a session and checks its events: each cursor once and in order, each call answered once. Returns them."""
    await session.close()
    events = [event async for event in session.events()]
    assert [event.cursor for event in events] == list(range(1, len(events) + 1))
    assert [event["seq"] for event in events] == [event.cursor for event in events]
    open_calls: set[str] = set()
    for event in events:
        if event.kind == "call":
            assert event["id"] not in open_calls
            open_calls.add(event["id"])
        elif event.kind == "answered":
            open_calls.remove(event["call"])
    assert not open_calls
    return events


SESSIONS = 50


class Story:
    """One of the fifty sessions: its work before, during and after the kill."""

    def __init__(self, client: Client, folder: Path, number: int) -> None:
        self.client, self.folder, self.number = client, folder, number
        self.marks: collections.Counter[str] = collections.Counter()
        self.asked: collections.Counter[str | None] = collections.Counter()
        self.never = asyncio.Event()
        self.hanging: list[asyncio.Task[ToolAnswer]] = []

    async def begin(self) -> None:
        """Runs a complete turn with a Python tool and an approval."""
        self.folder.mkdir()
        turns = [call("mark", what="turn")], [call("exec_command", cmd="echo turn >> done.txt")], [message("Done.")]
        script = World("", self.folder, {}).script(*turns, name=f"{self.number}.jsonl")

        @tool
        async def mark(what: str) -> str:
            """Marks something."""
            self.marks[what] += 1
            if what == "hang":
                await self.never.wait()
            return f"marked {what}"

        self.session = await self.client.start_session(
            cwd=self.folder,
            sandbox="workspace-write",
            approval="untrusted",
            model={"script": script},
            tools=[mark],
            on_approval=self.approve,
        )
        assert (await self.session.prompt("go")).text == "Done."
        assert (await self.run("echo before >> done.txt", key="before")).success

    async def approve(self, approval: Approval) -> bool:
        self.asked[approval.command] += 1
        if approval.command == "echo never >> done.txt":
            await self.never.wait()
        return True

    async def run(self, command: str, key: str | None = None) -> ToolAnswer:
        return await self.session.call("exec_command", {"cmd": command}, key=key)

    async def hang(self) -> None:
        """Starts a call that never ends. Depending on the session, a command, a Python tool or an approval hangs."""
        works = [
            lambda: self.run("echo hang >> done.txt; sleep 60", key="hang"),
            lambda: self.session.call("mark", {"what": "hang"}, key="hang"),
            lambda: self.run("echo never >> done.txt", key="hang"),
        ]
        self.hanging = [asyncio.create_task(works[self.number % 3]())]
        # Polls, because a file has no notification for a write.
        while not (self.done("hang") or self.marks["hang"] or self.asked["echo never >> done.txt"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def done(self, word: str) -> int:
        file = self.folder / "done.txt"
        return file.read_text().split().count(word) if file.exists() else 0

    async def go_on(self) -> None:
        """Checks that the hanging call is answered but not run again, a finished call is not repeated, and new calls run."""
        cut_off = await self.hanging[0]
        assert not cut_off.success and "interrupted; effects unknown" in cut_off.text
        before = await self.run("echo before >> done.txt", key="before")
        assert before.success and before.repeated
        assert (await self.session.prompt("again")).text == "Done."
        assert (await self.run("echo after >> done.txt")).success

    async def end(self) -> None:
        await told_once(self.session)
        assert [self.done(word) for word in ("turn", "before", "after", "never")] == [2, 1, 1, 0]
        hung = self.number % 3
        assert (self.done("hang"), self.marks["hang"]) == (int(hung == 0), int(hung == 1))
        assert self.marks["turn"] == 2
        assert self.asked["echo turn >> done.txt"] == 2 and self.asked["echo before >> done.txt"] == 1


async def test_fifty_sessions_outlive_a_killed_server(server: Server, world: World) -> None:
    async with server.client() as client:
        stories = [Story(client, world.work / str(number), number) for number in range(SESSIONS)]
        for step in (Story.begin, Story.hang):
            await asyncio.gather(*(step(story) for story in stories))
        await server.kill()
        while_down = asyncio.create_task(client.sessions(live=True))
        await server.start()
        assert len(await while_down) == SESSIONS
        for step in (Story.go_on, Story.end):
            await asyncio.gather(*(step(story) for story in stories))


async def test_a_turn_that_is_cut_off_is_lost_and_the_next_one_works(server: Server, world: World) -> None:
    script = world.script([call("hang")], [message("Done.")])
    hangs = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hangs once."""
        if not hangs.is_set():
            hangs.set()
            await asyncio.sleep(60)
        return "back"

    async with server.client() as client:
        session = await client.start_session(cwd=world.work, model={"script": script}, tools=[hang])
        prompting = asyncio.create_task(session.prompt("go"))
        await hangs.wait()
        await server.kill()
        await server.start()
        with pytest.raises(TurnLost):
            await prompting
        assert (await session.prompt("again")).text == "Done."
        events = await told_once(session)
        answers = [event.text for event in events if event.kind == "answered"]
        assert "interrupted; effects unknown" in answers[0] and answers[1] == "back"


async def test_a_process_of_a_killed_server_says_that_it_ended_with_it(server: Server, world: World) -> None:
    async with server.client() as client:
        session = await client.start_session(cwd=world.work)
        process = await session.start_process("sleep 60")
        await server.kill()
        await server.start()
        with pytest.raises(NoSuchProcess, match=r"ended with its server; a new server continues the session without it"):
            await process.wait()
        unknown = Process(session, 77)
        with pytest.raises(NoSuchProcess, match="77") as error:
            await unknown.kill()
        assert "ended with its server" not in str(error.value)
