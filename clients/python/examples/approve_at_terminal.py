"""Asks at the terminal before a scripted model runs a command: `python examples/approve_at_terminal.py`.

Ctrl-C at the question stops the turn.
"""

import tempfile
from pathlib import Path

from toolgate import Approval, Decision
from toolgate.sync import Client

SCRIPT = """\
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "echo hello > greeting.txt"}}]}
{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "rm greeting.txt"}}]}
{"items": [{"type": "message", "text": "That is all."}]}
"""


def approve(approval: Approval) -> Decision:
    """Shows the command and the reasons, and asks. `ascii` escapes control characters: the model wrote the command."""
    print(f"The model wants to run {approval.command!a}: {', '.join(approval.why)}")
    answer = input("Run it? [y]es, or the reason why not: ")
    return approval.approve() if answer in ("y", "yes") else approval.deny(answer)


with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    (script := Path(directory, "script.jsonl")).write_text(SCRIPT)
    session = client.start_session(
        cwd=directory,
        sandbox="workspace-write",
        approval="untrusted",
        model={"script": script},
        on_approval=approve,
    )
    print(session.prompt("Greet me, and then remove the greeting.").raise_unless_done().text)
    for event in session.events():
        if event.kind == "decided":
            print(event["decision"])
        if event.kind == "turn":
            break
