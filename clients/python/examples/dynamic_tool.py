"""A scripted model calls a function of this program: `python examples/dynamic_tool.py`."""

import tempfile
from pathlib import Path

from toolgate import tool
from toolgate.sync import Client

SCRIPT = """\
{"items": [{"type": "function_call", "name": "temperature", "arguments": {"city": "Lisbon"}}]}
{"items": [{"type": "message", "text": "It is warm in Lisbon."}]}
"""


@tool(read_only=True)
def temperature(city: str) -> str:
    """Returns the temperature in a city."""
    print("the tool answers:", answer := f"21 degrees in {city}")
    return answer


with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    (script := Path(directory, "script.jsonl")).write_text(SCRIPT)
    session = client.start_session(cwd=directory, model={"script": script}, tools=[temperature])
    turn = session.prompt("How warm is it in Lisbon?")
    print("the model says:", turn.raise_unless_done().text)
