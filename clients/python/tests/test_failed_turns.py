"""Turns that fail: the warning in the log, the reason in `detail`, and `raise_unless_done`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import World, call, message
from readme_blocks import BLOCKS
from toolgate import Turn, TurnNotDone
from toolgate.sync import Client
from toolgate.types import DETAILS, Ended

LOOP = [[call("exec_command", cmd="true")]] * 6


class _WrongKey(BaseHTTPRequestHandler):
    """Answers every request as a provider answers one with a wrong key."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"error": {"message": "Incorrect API key provided"}}'
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def provider() -> Iterator[str]:
    """Serves a provider that accepts no key. Gives its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _WrongKey) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_the_first_program_of_the_readme_fails_with_a_wrong_key_and_says_why(world: World) -> None:
    with provider() as url:
        env = {**os.environ, **world.env, "TOOLGATE_BIN": world.binary, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "wrong"}
        run = subprocess.run(
            [sys.executable, "-c", BLOCKS[0].program], env=env, cwd=world.work, capture_output=True, text=True, check=False
        )
    assert (run.returncode, run.stdout) == (1, "")
    last = run.stderr.splitlines()[-1]
    assert last.startswith("toolgate.errors.TurnNotDone: the turn is not done, it ended as `failed`: ")
    assert "Incorrect API key provided" in last


def test_a_turn_that_fails_is_logged_and_has_its_reason(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with Client.spawn(world.binary, env=world.env, cwd=world.work) as client:
        session = client.start_session(cwd=world.work, model={"script": world.script(*LOOP), "max_turns": 2})
        turn = session.prompt("go")
        assert (turn.ended, turn.detail) == ("max_turns", DETAILS["max_turns"])
        warned = f"session {session.id}: the turn ended as `max_turns`: {DETAILS['max_turns']}"
        assert [(each.name, each.levelno, each.message) for each in caplog.records] == [("toolgate", logging.WARNING, warned)]
        with pytest.raises(TurnNotDone, match=r"it ended as `max_turns`: the turn reached its limit") as raised:
            turn.raise_unless_done()
        assert raised.value.turn is turn
        caplog.clear()
        with session.stream("go") as stream:
            list(stream)
        assert stream.result.ended in ("failed", "max_turns") and len(caplog.records) == 1


def test_a_turn_that_is_done_is_not_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with Client.spawn(world.binary, env=world.env, cwd=world.work) as client:
        session = client.start_session(cwd=world.work, model={"script": world.script([message("Yes.")])})
        turn = session.prompt("go")
        assert turn.raise_unless_done() is turn and turn.detail is None
    assert caplog.records == []


@pytest.mark.parametrize("ended", ["cut_short", "interrupted", "max_turns", "out_of_budget", "failed", "steered", "new"])
def test_a_turn_that_is_not_done_always_has_a_detail(ended: Ended) -> None:
    turn = Turn.of({"turn_id": "t", "ended": ended, "text": "", "detail": None})
    assert turn.detail == DETAILS.get(ended, "the turn ended as `new`")
    assert Turn.of({"turn_id": "t", "ended": ended, "detail": "why"}).detail == "why"
