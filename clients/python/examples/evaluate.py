"""Evaluates solutions in the sandbox, each in a directory and a session of its own: `python examples/evaluate.py`.

A solution is a patch. A command checks it, and the result is read from the files. No model takes part.
"""

import tempfile
from pathlib import Path

from toolgate import CallFailed, Refused
from toolgate.sync import Client

TASK = "def add(a, b):\n    return a - b\n"
CHECK = "python3 -c 'import task; print(task.add(2, 3))' > result.txt"

SOLUTIONS = {
    "right": "*** Begin Patch\n*** Update File: task.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch\n",
    "wrong": "*** Begin Patch\n*** Update File: task.py\n@@\n-    return a - b\n+    return a * b\n*** End Patch\n",
    "stale": "*** Begin Patch\n*** Update File: task.py\n@@\n-    return b - a\n+    return a + b\n*** End Patch\n",
    "escape": "*** Begin Patch\n*** Add File: /usr/lib/outside.py\n+print('outside')\n*** End Patch\n",
}


def evaluate(client: Client, directory: Path, patch: str) -> str:
    """Returns `passed`, or why the solution failed."""
    (directory / "task.py").write_text(TASK)
    with client.start_session(cwd=directory, sandbox="workspace-write", approval="never") as session:
        try:
            session.apply_patch(patch)
        except CallFailed:
            return "patch not applied: it does not match"
        except Refused as refused:
            return f"patch not applied: {refused.data['error']}"
        with session.start_process(CHECK) as process:
            _, errors = process.communicate()
        if process.exit_code != 0:
            return f"exit status {process.exit_code}: {errors.decode()}"
        result = session.read_file("result.txt").text.strip()
        return "passed" if result == "5" else f"failed: 2 + 3 is {result}"


with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    for name, patch in SOLUTIONS.items():
        (work := Path(directory, name)).mkdir()
        print(f"{name}: {evaluate(client, work, patch)}")
