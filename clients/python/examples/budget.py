"""Stops a turn that exceeds a budget of tokens or of time: `python examples/budget.py`."""

import tempfile
import threading
from pathlib import Path

from toolgate.sync import Client, Session

CALL = '{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "%s"}}]}\n'
# The name of a task, its script, and its time in seconds.
TASKS = [
    ("a model in a loop", CALL % "echo again" * 100, 60),
    ("a command that hangs", CALL % "sleep 1000", 0.5),
    ("a short turn", '{"items": [{"type": "message", "text": "Done."}]}\n', 60),
]


def run(session: Session, prompt: str, tokens: int, seconds: float) -> str:
    """Runs a turn within a budget. Leaving the block of the stream stops the turn, and so does `interrupt`."""
    used, timer = 0, threading.Timer(seconds, session.interrupt)
    try:
        with session.stream(prompt) as turn:
            for item in turn:
                if item.kind == "prompt":
                    timer.start()
                elif item.kind == "usage":
                    used += item.members["input_tokens"] + item.members["output_tokens"]
                if used > tokens:
                    break
    finally:
        timer.cancel()
    return f"{turn.result.ended}, {'too many' if used > tokens else 'few'} tokens"


with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    for name, text, seconds in TASKS:
        (script := Path(directory, "script.jsonl")).write_text(text)
        # The server has a limit of its own: requests to the model in one turn.
        with client.start_session(
            cwd=directory,
            sandbox="workspace-write",
            approval="never",
            model={"script": script, "max_turns": 50},
        ) as session:
            print(f"{name}: {run(session, 'Work.', 20_000, seconds)}")
