"""Follows a turn of a scripted model, which needs no key: `python examples/scripted_model.py`."""

import tempfile
from pathlib import Path

from toolgate import Delta
from toolgate.sync import Client

SCRIPT = """\
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "echo 6 '*' 7 is $((6 * 7))"}}]}
{"items": [{"type": "message", "text": "The answer is 42."}]}
"""

with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    (script := Path(directory, "script.jsonl")).write_text(SCRIPT)
    # `model={"name": "gpt-5"}` uses a real model. Its key is in the environment, OPENAI_API_KEY for example.
    session = client.start_session(cwd=directory, sandbox="workspace-write", approval="never", model={"script": script})
    with session.stream("How much is 6 times 7?") as turn:
        for item in turn:
            if isinstance(item, Delta):
                if item.kind == "output":
                    print("output:", item.text.strip())
            elif item.kind == "call":
                print("call:", item["tool"], item["arguments"])
            elif item.kind == "said" and item.text:
                print("model:", item.text)
    print("turn:", turn.result.ended)
