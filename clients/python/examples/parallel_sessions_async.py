"""Runs several sessions of one client at the same time, with asyncio: `python examples/parallel_sessions_async.py`."""

import asyncio
import tempfile
from pathlib import Path

from toolgate import Client

SCRIPT = """\
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "basename $PWD | tee name.txt"}}]}
{"items": [{"type": "message", "text": "Done."}]}
"""


async def work(client: Client, script: Path, name: str) -> str:
    """Runs one session, in a directory of its own."""
    (cwd := script.parent / name).mkdir()
    async with await client.start_session(
        cwd=cwd, sandbox="workspace-write", approval="never", model={"script": script}
    ) as session:
        turn = await session.prompt("Write the name of the directory.")
        name_file = await session.read_file("name.txt")
        return f"{name_file.text.strip()}: {turn.ended}"


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        (script := Path(directory, "script.jsonl")).write_text(SCRIPT)
        async with Client.spawn() as client:
            works = (work(client, script, name) for name in ["red", "green", "blue", "white"])
            for line in await asyncio.gather(*works):
                print(line)


asyncio.run(main())
