"""Example programs: each runs with the real server, without warnings, and prints what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import World

EXAMPLES = Path(__file__).parents[1] / "examples"

WHY = "may change something, and the approval policy is untrusted"
DYNAMIC_TOOL = """\
the tool answers: 21 degrees in Lisbon
the model says: It is warm in Lisbon.
"""
SCRIPTED_MODEL = """\
call: exec_command {"cmd":"echo 6 '*' 7 is $((6 * 7))"}
output: 6 * 7 is 42
model: The answer is 42.
turn: done
"""
PARALLEL_SESSIONS = """\
red: done
green: done
blue: done
white: done
"""
PROCESS_OUTPUT = """\
stdout: 3
stdout: 2
stdout: 1
stdout: hello world
exit status 3
"""
OUTPUTS = {
    "approve_at_terminal.py": f"""\
The model wants to run 'echo hello > greeting.txt': `echo hello >greeting.txt` {WHY}
Run it? [y]es, or the reason why not: The model wants to run 'rm greeting.txt': `rm greeting.txt` {WHY}
Run it? [y]es, or the reason why not: That is all.
approved
denied
""",
    "budget.py": """\
a model in a loop: interrupted, too many tokens
a command that hangs: interrupted, few tokens
a short turn: done, few tokens
""",
    "budget_async.py": """\
a model in a loop: interrupted, too many tokens
a command that hangs: interrupted, too much time
a short turn: done, few tokens
""",
    "dynamic_tool.py": DYNAMIC_TOOL,
    "dynamic_tool_async.py": DYNAMIC_TOOL,
    "evaluate.py": """\
right: passed
wrong: failed: 2 + 3 is 6
stale: patch not applied: it does not match
escape: patch not applied: forbidden
""",
    "parallel_sessions.py": PARALLEL_SESSIONS,
    "parallel_sessions_async.py": PARALLEL_SESSIONS,
    "process_output.py": PROCESS_OUTPUT + "started\nkilled: True\n",
    "process_output_async.py": PROCESS_OUTPUT,
    "scripted_model.py": SCRIPTED_MODEL,
    "scripted_model_async.py": SCRIPTED_MODEL,
}
INPUTS = {"approve_at_terminal.py": "y\nkeep it\n"}


def test_every_example_is_tested_and_says_how_to_run_it() -> None:
    examples = {path.name: path.read_text() for path in EXAMPLES.glob("*.py")}
    assert examples.keys() == OUTPUTS.keys()
    for name, text in examples.items():
        assert f"`python examples/{name}`" in text.split('"""')[1], name


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_runs(world: World, name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        env={**os.environ, **world.env, "TOOLGATE_BIN": world.binary},
        input=INPUTS.get(name, ""),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (run.stdout, run.stderr, run.returncode) == (OUTPUTS[name], "", 0)
