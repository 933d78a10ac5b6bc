"""README.md: every Python block runs, with a scripted server in place of the model, and prints what the page shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conftest import World, call, message
from readme_blocks import BLOCKS, README

# The script of the model for each block, the input of the program, and its output unless the page shows it.
WEATHER = [
    [call("temperature", city="Lisbon")],
    [call("exec_command", cmd="echo 21 degrees > weather.txt")],
    [message("21 degrees.")],
]
TODAY = [[call("exec_command", cmd="date > today.txt")], [message("Written.")]]
FILES = [[call("exec_command", cmd="ls")], [message("None.")]]
RUNS = [
    (WEATHER, "", "21 degrees.\n"),
    ([], "", None),
    (TODAY, "yes\n", "exec_command: 'date > today.txt'? done Written.\n"),
    ([[message("It is 42. ")]], "", "It is 42. done\n"),
    ([], "", "12000000\n"),
    ([], "", "True\n"),
    (FILES, "", "None.\n"),
    ([], "", None),
]


@contextmanager
def model_server(world: World, script: str) -> Iterator[dict[str, str]]:
    """Serves a script as the OpenAI API does. Gives the environment for its clients."""
    env = {**os.environ, **world.env, "TOOLGATE_BIN": world.binary}
    with subprocess.Popen([world.binary, "script-server", script], stdout=subprocess.PIPE, env=env, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            yield {**env, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        finally:
            server.kill()


@pytest.mark.parametrize("number", range(len(RUNS)))
def test_a_block_runs(world: World, number: int) -> None:
    (turns, typed, expected), block = RUNS[number], BLOCKS[number]
    with model_server(world, world.script(*turns)) as env:
        run = subprocess.run(
            [sys.executable, "-c", block.program],
            env=env,
            cwd=world.work,
            input=typed,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
    assert (run.returncode, run.stderr) == (0, "")
    if (output := block.output or expected) is None:
        assert "from LangChain" in run.stdout
    else:
        assert run.stdout == output


def test_the_files_that_the_blocks_write_are_written(world: World) -> None:
    with model_server(world, world.script(*WEATHER)) as env:
        subprocess.run([sys.executable, "-c", BLOCKS[0].program], env=env, cwd=world.work, check=True, timeout=50)
    assert (world.work / "weather.txt").read_text() == "21 degrees\n"


def test_every_block_is_run_and_the_first_is_short_and_synchronous() -> None:
    assert len(BLOCKS) == len(RUNS) == README.read_text().count("```python")
    first = [line for line in BLOCKS[0].text.splitlines() if line]
    assert len(first) <= 10 and "from toolgate.sync import Client" in first
    assert "asyncio.run" in BLOCKS[2].text
