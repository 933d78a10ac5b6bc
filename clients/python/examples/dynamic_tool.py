"""A scripted model calls a tool of this program: `python examples/dynamic_tool.py [toolgate]`."""

import asyncio
import sys
import tempfile
from pathlib import Path

from toolgate import Client, tool

SCRIPT = """\
{"items": [{"type": "function_call", "name": "temperature", "arguments": {"city": "Lisbon"}}]}
{"items": [{"type": "message", "text": "It is warm in Lisbon."}]}
"""


@tool(read_only=True)
def temperature(city: str) -> str:
    """Says how warm it is in a city."""
    print("the tool says:", said := f"21 degrees in {city}")
    return said


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (script := Path(folder, "script.jsonl")).write_text(SCRIPT)
        async with Client.spawn(*sys.argv[1:2]) as client:
            session = await client.start_session(cwd=folder, model={"script": script}, tools=[temperature])
            turn = await session.prompt("How warm is it in Lisbon?")
            print("the model says:", turn.text)


asyncio.run(main())
