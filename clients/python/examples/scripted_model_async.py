"""Follows a turn of a scripted model, which needs no key, with asyncio: `python examples/scripted_model_async.py`."""

import asyncio
import tempfile
from pathlib import Path

from toolgate import Client, Delta

SCRIPT = """\
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "echo 6 '*' 7 is $((6 * 7))"}}]}
{"items": [{"type": "message", "text": "The answer is 42."}]}
"""


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        (script := Path(directory, "script.jsonl")).write_text(SCRIPT)
        async with Client.spawn() as client:
            session = await client.start_session(
                cwd=directory, sandbox="workspace-write", approval="never", model={"script": script}
            )
            async with session.stream("How much is 6 times 7?") as turn:
                async for item in turn:
                    if isinstance(item, Delta):
                        if item.kind == "output":
                            print("output:", item.text.strip())
                    elif item.kind == "call":
                        print("call:", item["tool"], item["arguments"])
                    elif item.kind == "said" and item.text:
                        print("model:", item.text)
            print("turn:", turn.result.ended)


asyncio.run(main())
