"""Runs a program in the sandbox, shows its output as it comes, and writes to it: `python examples/process_output.py`."""

import tempfile

from toolgate.sync import Client

COUNT = "for number in 3 2 1; do echo $number; done; read name; echo hello $name; exit 3"

with tempfile.TemporaryDirectory() as directory, Client.spawn() as client:
    session = client.start_session(cwd=directory, sandbox="workspace-write", approval="never")
    with session.start_process(COUNT, stdin=True) as process:
        for piece in process:
            for line in piece.text.splitlines():
                print(f"{piece.stream}: {line}")
                if line == "1":
                    process.write("world\n", close=True)
        print("exit status", process.exit_code)

    # A process that is still running at the end of its block is killed, with all its children.
    with session.start_process("echo started; sleep 1000") as process:
        print(next(iter(process)).text.strip())
    print("killed:", process.exit_code != 0)
