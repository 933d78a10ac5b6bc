"""Runs several sessions of one client at the same time, in threads: `python examples/parallel_sessions.py`."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolgate.sync import Client

SCRIPT = """\
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "basename $PWD | tee name.txt"}}]}
{"items": [{"type": "message", "text": "Done."}]}
"""

with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    (script := Path(directory, "script.jsonl")).write_text(SCRIPT)

    def work(name: str) -> str:
        """Runs one session, in a directory of its own."""
        (cwd := Path(directory, name)).mkdir()
        with client.start_session(cwd=cwd, sandbox="workspace-write", approval="never", model={"script": script}) as session:
            turn = session.prompt("Write the name of the directory.")
            return f"{session.read_file('name.txt').text.strip()}: {turn.ended}"

    with ThreadPoolExecutor(4) as pool:
        for line in pool.map(work, ["red", "green", "blue", "white"]):
            print(line)
