"""Stops a turn that exceeds a budget of tokens or of time, with asyncio: `python examples/budget_async.py`."""

import asyncio
import tempfile
from pathlib import Path

from toolgate import Client, Session, TurnStream

CALL = '{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "%s"}}]}\n'
# The name of a task, its script, and its time in seconds.
TASKS = [
    ("a model in a loop", CALL % "echo again" * 100, 60),
    ("a command that hangs", CALL % "sleep 1000", 0.5),
    ("a short turn", '{"items": [{"type": "message", "text": "Done."}]}\n', 60),
]


async def read(turn: TurnStream, tokens: int) -> str:
    """Reads a turn to its end, or until it has used too many tokens."""
    used = 0
    async for item in turn:
        if item.kind == "usage":
            used += item.members["input_tokens"] + item.members["output_tokens"]
        if used > tokens:
            return "too many tokens"
    return "few tokens"


async def run(session: Session, prompt: str, tokens: int, seconds: float) -> str:
    """Runs a turn within a budget. Leaving the block of the stream stops the turn."""
    async with session.stream(prompt) as turn:
        try:
            used = await asyncio.wait_for(read(turn, tokens), seconds)
        except asyncio.TimeoutError:
            used = "too much time"
    return f"{turn.result.ended}, {used}"


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with Client.spawn() as client:
            for name, text, seconds in TASKS:
                (script := Path(directory, "script.jsonl")).write_text(text)
                async with await client.start_session(
                    cwd=directory, sandbox="workspace-write", approval="never", model={"script": script}
                ) as session:
                    print(f"{name}: {await run(session, 'Work.', 20_000, seconds)}")


asyncio.run(main())
