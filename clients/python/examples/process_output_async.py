"""Runs a program in the sandbox and shows its output as it comes, with asyncio: `python examples/process_output_async.py`."""

import asyncio
import tempfile

from toolgate import Client

COUNT = "for number in 3 2 1; do echo $number; done; read name; echo hello $name; exit 3"


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with Client.spawn() as client:
            session = await client.start_session(cwd=directory, sandbox="workspace-write", approval="never")
            async with await session.start_process(COUNT, stdin=True) as process:
                async for piece in process:
                    for line in piece.text.splitlines():
                        print(f"{piece.stream}: {line}")
                        if line == "1":
                            await process.write("world\n", close=True)
                print("exit status", process.exit_code)


asyncio.run(main())
