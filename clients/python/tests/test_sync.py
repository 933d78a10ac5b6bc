"""Synchronous API with the real server: sessions, tools, handlers, iterators, threads and errors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import toolgate
from conftest import Server, World, call, message
from toolgate import Approval, CallFailed, CannotConnect, ConnectionLost, Delta, Event, ToolgateError, _loop_thread, tool
from toolgate.sync import Client, Session

WRITES = "echo yes >> said.txt"


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with Client.spawn(world.binary, env=world.env, cwd=world.work) as client:
        yield client


@pytest.fixture
def session(client: Client, world: World) -> Session:
    return client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")


def wait_until(condition: Callable[[], bool]) -> None:
    """Polls a condition that has no notification."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.005)


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def test_commands_files_patches_and_verdicts(client: Client, session: Session, world: World) -> None:
    assert session.call("exec_command", {"cmd": "echo one > a.txt"}).success
    assert session.read_file("a.txt").text == "one\n"
    assert session.write_file("b.txt", "two\n").created
    assert {"a.txt", "b.txt"} <= {each.path for each in session.list_dir().entries if each.kind == "file"}
    assert [hit.path for hit in session.search("two").hits] == ["b.txt"]
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+three\n*** End Patch\n"
    assert [change.path for change in session.apply_patch(patch).changes] == ["a.txt"]
    assert session.explain(["rm", "-rf", "/"])["verdict"] != "allow"
    with pytest.raises(CallFailed):
        session.read_file("none.txt")
    assert client.server is not None and client.server.server.name == "toolgate"
    assert [each.session_id for each in client.sessions(live=True)] == [session.id]
    assert session.started is not None and session.started.cwd == str(world.work)
    assert repr(session) == f"<Session {session.id}>"


def test_a_process_yields_its_output_and_ends_with_its_block(session: Session) -> None:
    with session.start_process("read name; echo hello $name; exit 3", stdin=True) as process:
        process.write("you\n", close=True)
        assert "".join(piece.text for piece in process) == "hello you\n"
    assert process.exit_code == 3 and process.session == session and process.position == 10
    with session.start_process("echo begun; sleep 60") as process:
        assert next(iter(process)).text == "begun\n"
    assert process.exit_code in (137, 143)


def test_a_turn_is_an_iterator_of_events_and_deltas(client: Client, world: World) -> None:
    script = world.script([call("exec_command", cmd="echo out")], [message("All done.")], [message("Again.")])
    with client.start_session(cwd=world.work, sandbox="workspace-write", approval="never", model={"script": script}) as session:
        with session.stream("go") as turn:
            items = list(turn)
        assert (turn.result.ended, turn.result.text) == ("done", "All done.")
        events = [item for item in items if isinstance(item, Event)]
        assert (events[0].kind, events[-1].kind) == ("prompt", "turn")
        assert "".join(item.text for item in items if isinstance(item, Delta) and item.kind == "output") == "out\n"
        assert session.prompt("again").text == "Again."
    assert [event.kind for event in session.events()][-1] == "end"
    assert [event.cursor for event in session.events(after=2)] == list(range(3, session.cursor + 1))
    assert client.sessions(live=True) == []


def test_plain_tools_run_in_parallel_threads_and_may_use_the_session(client: Client, world: World) -> None:
    both = threading.Barrier(2, timeout=20)  # passes only if two calls run at the same time

    @tool(read_only=True)
    def meet(path: str) -> str:
        """Waits for the other call."""
        both.wait()
        assert not in_main_thread()
        return f"{path} {ours.read_file(path).text}"

    for name in "ab":
        (world.work / name).write_text(name.upper())
    script = world.script([call("meet", path="a"), call("meet", path="b")], [message("Met.")])
    ours = client.start_session(cwd=world.work, model={"script": script}, tools=[meet])
    assert ours.prompt("go").text == "Met."
    ours.close()
    assert [event.text for event in ours.events() if event.kind == "answered" and event["call"].startswith("call_")] == [
        "a A",
        "b B",
    ]


def test_a_handler_runs_in_the_thread_that_waits_and_may_use_the_session(client: Client, world: World) -> None:
    asked: list[str | None] = []

    def approve(approval: Approval) -> bool:
        assert in_main_thread()
        assert ours.explain(approval.command or "")["verdict"] == "ask"
        asked.append(approval.command)
        return True

    ours = client.start_session(cwd=world.work, sandbox="workspace-write", approval="untrusted", on_approval=approve)
    assert ours.call("exec_command", {"cmd": WRITES}).success
    assert asked == [WRITES]
    ours.on_approval = lambda approval: approval.deny("use git")
    assert "use git" in ours.call("exec_command", {"cmd": WRITES}).text


def test_a_handler_runs_in_the_thread_of_the_stream_although_it_is_busy(client: Client, world: World) -> None:
    threads: list[bool] = []

    def approve(_: Approval) -> bool:
        threads.append(in_main_thread())
        return True

    @tool
    def hold() -> str:
        """Holds the model until the main thread is busy."""
        busy.wait(20)
        return "busy"

    busy = threading.Event()
    script = world.script([call("hold")], [call("exec_command", cmd=WRITES)], [message("Done.")])
    session = client.start_session(
        cwd=world.work,
        sandbox="workspace-write",
        approval="untrusted",
        model={"script": script},
        tools=[hold],
        on_approval=approve,
    )
    with session.stream("go") as turn:
        for item in turn:
            if item.kind == "prompt":
                # The question arrives while this thread does not wait for an event.
                busy.set()
                wait_until(lambda: any(inbox._items.qsize() for inbox in session._loop._inboxes.values()))
                assert threads == []
    assert turn.result.text == "Done." and threads == [True]


def test_a_handler_of_a_session_that_no_thread_waits_for_runs_in_its_own_thread(client: Client, world: World) -> None:
    threads: list[bool] = []

    def approve(_: Approval) -> bool:
        threads.append(in_main_thread())
        return True

    session = client.start_session(cwd=world.work, sandbox="workspace-write", approval="untrusted", on_approval=approve)
    with ThreadPoolExecutor(1) as pool:
        # The thread of the pool waits for the session, then the main thread too.
        assert pool.submit(session.call, "exec_command", {"cmd": WRITES}).result().success
    request = session._async.call("exec_command", {"cmd": WRITES})
    assert asyncio.run_coroutine_threadsafe(request, session._loop._loop).result(20).success
    assert threads == [False, False]


def test_a_handler_that_waits_for_its_turn_is_moved_if_the_thread_stops_waiting(client: Client, world: World) -> None:
    session = client.start_session(
        cwd=world.work, sandbox="workspace-write", approval="untrusted", on_approval=lambda _: not in_main_thread()
    )
    loop_thread = session._loop
    with loop_thread.waiting(session.id):
        request = session._async.call("exec_command", {"cmd": WRITES})
        answer = asyncio.run_coroutine_threadsafe(request, loop_thread._loop)
        wait_until(lambda: any(inbox._items.qsize() for inbox in loop_thread._inboxes.values()))
        assert not answer.done()
    assert answer.result(20).success


def test_several_threads_use_one_client(client: Client, world: World) -> None:
    def work(number: int) -> str:
        (folder := world.work / str(number)).mkdir()
        with client.start_session(cwd=folder, sandbox="workspace-write", approval="never") as session:
            assert session.call("exec_command", {"cmd": f"echo {number} > n.txt"}).success
            return session.read_file("n.txt").text.strip()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == [str(number) for number in range(16)]


def test_an_async_function_that_makes_a_synchronous_call_gets_an_error(client: Client, world: World) -> None:
    @tool
    async def ask_itself() -> str:
        """Would wait for ever."""
        return ours.list_tools()[0].name

    ours = client.start_session(cwd=world.work, tools=[ask_itself])
    answer = ours.call("ask_itself")
    assert answer.error == "io" and "would wait for itself for ever; declare the function with `def`" in answer.text


async def test_it_works_inside_a_running_event_loop_and_over_a_socket(server: Server, world: World) -> None:
    with Client.connect_unix(server.socket, reconnect=True) as client:
        session = client.start_session(cwd=world.work)
        assert session.call("list_dir", {"path": "."}).success


def test_errors_before_it_is_open_after_it_is_closed_and_on_failure(world: World) -> None:
    client = Client.spawn(world.binary, env=world.env, cwd=world.work)
    with pytest.raises(ToolgateError, match=r"not open: use `with client:`, or `client.open\(\)` first"):
        client.start_session()
    client.close()
    client.open()
    with pytest.raises(ToolgateError, match="open already"):
        client.open()
    session = client.start_session(cwd=world.work)
    client.close()
    client.close()
    for request in (client.sessions, session.list_tools):
        with pytest.raises(ConnectionLost, match="the client is closed"):
            request()
    assert list(session.deltas()) == []
    with pytest.raises(ToolgateError, match="cannot be opened again; create a new one"):
        client.open()
    absent = Client.connect_unix(world.work / "none")
    for _ in range(2):  # a client that could not be opened may be opened again
        with pytest.raises(CannotConnect, match="there is no socket"):
            absent.open()
    assert not [thread for thread in threading.enumerate() if thread.name == "toolgate event loop"]


def test_blocks_end_quietly_after_the_client_is_closed(client: Client, world: World) -> None:
    session = client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")
    with session, session.start_process("cat", stdin=True) as process:
        client.close()
    assert process.exit_code is None


def test_closing_in_an_async_function_is_an_error_and_the_client_stays_open(client: Client, world: World) -> None:
    @tool
    async def close() -> None:
        """Closes its own client."""
        client.close()

    session = client.start_session(cwd=world.work, tools=[close])
    assert "would wait for itself for ever" in session.call("close").text
    assert client.sessions(live=True) != []


def test_a_task_that_resists_its_cancellation_does_not_keep_a_thread_waiting(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_loop_thread, "STOP_SECONDS", 0.2)
    begun = threading.Event()

    async def resist() -> None:
        # No report of this task in the log of a later test.
        setattr(asyncio.current_task(), "_log_destroy_pending", False)  # noqa: B010
        begun.set()
        while True:  # ends: with the event loop
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client._loop.run, resist)
        assert begun.wait(20)
        client.close()
        with pytest.raises(ConnectionLost, match="the client is closed"):
            waiting.result(20)


def test_closing_wakes_the_threads_that_wait(client: Client, world: World) -> None:
    waits = threading.Semaphore(0)

    @tool
    def block() -> str:
        """Blocks for ever."""
        waits.release()
        threading.Event().wait()
        return ""

    session = client.start_session(cwd=world.work, sandbox="workspace-write", approval="never", tools=[block])
    process = session.start_process("cat", stdin=True)
    with ThreadPoolExecutor(4) as pool:
        calling, waiting = pool.submit(session.call, "block"), pool.submit(process.wait)
        ended = pool.submit(lambda: [event.kind for event in session.events()])
        waits.acquire()
        client.close()
        with pytest.raises(ConnectionLost):
            calling.result(20)
        with pytest.raises(ConnectionLost):
            waiting.result(20)
        assert ended.result(20)[0] == "session"


def test_events_end_after_those_that_were_received_when_another_thread_closes_the_client(client: Client, world: World) -> None:
    script = world.script([message("Done.")])
    session = client.start_session(cwd=world.work, model={"script": script})
    with session.stream("go") as turn:
        list(turn)
    kinds: list[str] = []
    for event in session.events():
        if not kinds:
            client.close()
        kinds.append(event.kind)
    assert len(kinds) == session.cursor > 3 and kinds[-1] == "turn"
    assert [event.cursor for event in session.events(after=2)] == list(range(3, session.cursor + 1))
    assert list(session.deltas()) == []


def test_events_and_deltas_end_with_the_same_error_after_a_kill(world: World) -> None:
    with Client.spawn("sh", ["-c", f"echo $$ > pid; exec {world.binary} serve"], env=world.env, cwd=world.work) as client:
        session = client.start_session(cwd=world.work)
        events = session.events()
        kinds = [next(events).kind]
        with ThreadPoolExecutor(1) as pool:
            deltas = pool.submit(list, session.deltas())
            wait_until(lambda: len(session._async._subscription._queues) == 1)
            os.kill(int((world.work / "pid").read_text()), signal.SIGKILL)
            with pytest.raises(ConnectionLost) as from_events:
                kinds.extend(event.kind for event in events)
            with pytest.raises(ConnectionLost) as from_deltas:
                deltas.result(20)
        assert kinds == ["session"] and str(from_events.value) == str(from_deltas.value)
        with pytest.raises(ConnectionLost):
            list(session.deltas())
    for read in (session.events, session.deltas):
        with pytest.raises(ConnectionLost, match="the connection to the server is lost"):
            list(read())


def test_an_iterator_that_is_left_early_is_closed(client: Client, world: World) -> None:
    script = world.script([message("one two three")], [message("four")])
    session = client.start_session(cwd=world.work, model={"script": script})
    subscription = session._async._subscription

    def first_delta() -> str:
        return next(delta.text for delta in session.deltas() if delta.kind == "text")

    with ThreadPoolExecutor(1) as pool:
        delta = pool.submit(first_delta)
        wait_until(lambda: len(subscription._queues) == 1)
        session.prompt("count")
        assert delta.result(20)
    wait_until(lambda: not subscription._queues)


def test_leaving_a_stream_early_stops_the_turn(client: Client, world: World) -> None:
    @tool
    def block() -> str:
        """Blocks for ever."""
        threading.Event().wait()
        return ""

    script = world.script([call("block")], [message("Next.")])
    session = client.start_session(cwd=world.work, model={"script": script}, tools=[block])
    with session.stream("go") as turn:
        assert next(item["tool"] for item in turn if isinstance(item, Event) and item.kind == "call") == "block"
    assert turn.result.ended == "interrupted"
    assert session.prompt("next").text == "Next."


def test_an_unclosed_client_is_reported(world: World) -> None:
    client = Client.spawn(world.binary, env=world.env, cwd=world.work)
    client.open()
    close = client._at_exit
    assert close is not None
    with pytest.warns(ResourceWarning, match="unclosed client"):
        del client
    close()


def test_a_client_made_from_an_asynchronous_one_is_its_synchronous_form(world: World) -> None:
    with Client(toolgate.Client.spawn(world.binary, env=world.env, cwd=Path(world.work))) as client:
        assert client.sessions() == []
