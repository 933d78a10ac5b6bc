"""Time limits of calls: each raises `TimedOut` and stops the work, in both APIs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import toolgate
from conftest import World, call, message
from toolgate import TimedOut, ToolgateError, tool
from toolgate.sync import Client, Session

LATE = "sleep 60"


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    with Client.spawn(world.binary, env=world.env, cwd=world.work) as client:
        yield client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")


def test_a_call_that_takes_too_long_is_stopped(session: Session) -> None:
    with pytest.raises(TimeoutError, match=r"^the call of `exec_command` took longer than 0\.3 s$") as error:
        session.call("exec_command", {"cmd": LATE}, timeout=0.3)
    assert isinstance(error.value, TimedOut) and isinstance(error.value, ToolgateError)
    assert next(event["error"] for event in session.events() if event.kind == "answered") == "cancelled"
    assert session.call("exec_command", {"cmd": "true"}, timeout=20).success


def test_a_process_that_takes_too_long_is_killed(session: Session) -> None:
    for limited in ("wait", "communicate"):
        process = session.start_process(LATE)
        with pytest.raises(TimedOut, match=r"^process \d+ took longer than 0\.3 s$"):
            getattr(process, limited)(timeout=0.3)
        assert process.exit_code in (137, 143)
    assert session.start_process("exit 3").wait(20) == 3
    assert session.start_process("cat", stdin=True).communicate("typed", timeout=20) == (b"typed", b"")


def test_a_turn_that_takes_too_long_is_stopped(session: Session, world: World) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @tool
    def hang(at: toolgate.Invocation) -> None:
        """Waits until it is cancelled."""
        begun.set()
        if at.cancelled.wait(20):
            cancelled.set()

    with Client.spawn(world.binary, env=world.env, cwd=world.work) as client:
        script = world.script([call("hang")], [message("Next.")])
        ours = client.start_session(cwd=world.work, model={"script": script}, tools=[hang])
        with pytest.raises(TimedOut, match=r"^the turn took longer than 0\.5 s$"):
            ours.prompt("go", timeout=0.5)
        assert begun.is_set() and cancelled.wait(5)
        assert next(event["ended"] for event in ours.events() if event.kind == "turn") == "interrupted"
        assert ours.prompt("next", timeout=20).text == "Next."


async def test_the_asynchronous_calls_have_the_same_limits(world: World) -> None:
    async with world.client() as client:
        script = world.script([call("exec_command", cmd=LATE)], [message("Next.")])
        session = await client.start_session(
            cwd=world.work, sandbox="workspace-write", approval="never", model={"script": script}
        )
        with pytest.raises(TimedOut):
            await session.prompt("go", timeout=0.3)
        assert (await session.prompt("next", timeout=20)).text == "Next."
        with pytest.raises(TimedOut):
            await session.call("exec_command", {"cmd": LATE}, timeout=0.3)
        process = await session.start_process(LATE)
        with pytest.raises(TimedOut):
            await process.wait(timeout=0.3)
        assert process.exit_code in (137, 143)


@pytest.mark.parametrize(("timeout", "error"), [("5", TypeError), (True, TypeError), (0, ValueError), (-1, ValueError)])
def test_a_wrong_limit_is_named(session: Session, timeout: float, error: type[Exception]) -> None:
    process = session.start_process("true")
    for limited in (
        lambda: session.call("list_dir", timeout=timeout),
        lambda: session.prompt("go", timeout=timeout),
        lambda: process.wait(timeout),
        lambda: process.communicate(timeout=timeout),
    ):
        with pytest.raises(error, match="`timeout` must be "):
            limited()
