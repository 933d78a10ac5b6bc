"""A scripted model calls a function of this program, with asyncio: `python examples/dynamic_tool_async.py`."""

import asyncio
import tempfile
from pathlib import Path

from toolgate import Client, tool

SCRIPT = """\
{"items": [{"type": "function_call", "name": "temperature", "arguments": {"city": "Lisbon"}}]}
{"items": [{"type": "message", "text": "It is warm in Lisbon."}]}
"""


@tool(read_only=True)
async def temperature(city: str) -> str:
    """Returns the temperature in a city."""
    print("the tool answers:", answer := f"21 degrees in {city}")
    return answer


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        (script := Path(directory, "script.jsonl")).write_text(SCRIPT)
        async with Client.spawn() as client:
            session = await client.start_session(cwd=directory, model={"script": script}, tools=[temperature])
            turn = await session.prompt("How warm is it in Lisbon?")
            print("the model says:", turn.raise_unless_done().text)


asyncio.run(main())
