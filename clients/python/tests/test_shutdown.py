"""Shutdown of client programs: no open resources, no lost output, no Python warnings."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap

import pytest

from conftest import World, message

# Without the report of slow callbacks in the development mode of Python: the machine may be busy.
BEGIN = """
import asyncio, logging, sys
logging.getLogger("asyncio").addFilter(lambda record: not record.getMessage().startswith("Executing"))
from toolgate import Client, ConnectionLost, _transport, tool
from toolgate._transport import LEAVE

binary, script = sys.argv[1:]

running = asyncio.Event()

@tool
async def never() -> str:
    "Never ends."
    running.set()
    await asyncio.Event().wait()
    return ""
"""

PROGRAMS = {
    "a turn": """
        async def main():
            async with Client.spawn(binary) as client:
                session = await client.start_session(model={"script": script}, tools=[never])
                async for event in session.events():
                    break
                print((await session.prompt("hi")).text)
    """,
    "a tool, a read and a call under way": """
        async def main():
            async with Client.spawn(binary, reconnect=True) as client:
                session = await client.start_session(sandbox="workspace-write", approval="never", tools=[never])
                process = await session.start_process("cat", stdin=True)
                tasks = [asyncio.create_task(work) for work in (session.call("never"), process.wait())]
                await running.wait()
                loop = asyncio.get_running_loop()
                began = loop.time()
            # Pending requests do not delay the close.
            assert loop.time() - began < LEAVE
            print(*await asyncio.gather(*tasks, return_exceptions=True), sep="\\n")
            async with Client.spawn(binary) as client:
                again = await client.attach(session.id)
                print([event.kind async for event in until_resumed(again)][-2:])

        async def until_resumed(session):
            async for event in session.events():
                yield event
                if event.kind == "session" and event.cursor > 1:
                    return
    """,
    "a main task that is cancelled": """
        async def work():
            async with Client.spawn(binary) as client:
                session = await client.start_session(tools=[never])
                await session.call("never")

        async def main():
            try:
                await asyncio.wait_for(work(), 1)
            except asyncio.TimeoutError:
                print("timed out")
    """,
    "a server that was killed": """
        async def main():
            client = Client.spawn("sh", ["-c", f"echo $$ > pid; exec {binary} serve"])
            async with client:
                session = await client.start_session(tools=[never])
                calling = asyncio.create_task(session.call("never"))
                await running.wait()
                import os
                os.kill(int(open_and_close("pid")), 9)
                try:
                    await calling
                except ConnectionLost:
                    print("lost")

        def open_and_close(path):
            with open(path) as file:
                return file.read()
    """,
    "a plain tool that blocks": """
        import threading

        @tool
        def block() -> str:
            "Blocks for ever."
            loop.call_soon_threadsafe(running.set)
            threading.Event().wait()
            return ""

        async def main():
            global loop
            loop = asyncio.get_running_loop()
            async with Client.spawn(binary) as client:
                session = await client.start_session(tools=[block])
                calling = asyncio.create_task(session.call("block"))
                await running.wait()
            print(*await asyncio.gather(calling, return_exceptions=True))
    """,
    "a program that ends at once": """
        async def main():
            try:
                await Client.spawn("true", []).open()
            except Exception as error:
                print(type(error).__name__)
    """,
    "one that does not read and one that does not leave": """
        async def main():
            _transport.LEAVE = 0.5
            for script in ("sleep 60 > /dev/null", "trap '' TERM; while :; do sleep 1; done"):
                try:
                    await asyncio.wait_for(Client.spawn("sh", ["-c", script]).open(), 0.5)
                except asyncio.TimeoutError:
                    print("gone")
    """,
}
SAYS = {
    "a turn": "Hi.",
    "a tool, a read and a call under way": "the client is closed\nthe client is closed\n['end', 'session']",
    "a main task that is cancelled": "timed out",
    "a server that was killed": "lost",
    "a plain tool that blocks": "the connection ended before the answer came: this client closed it",
    "a program that ends at once": "CannotConnect",
    "one that does not read and one that does not leave": "gone\ngone",
}


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_ends_cleanly(world: World, name: str) -> None:
    program = BEGIN + textwrap.dedent(PROGRAMS[name]) + "\nasyncio.run(main())\n"
    script = world.script([message("Hi.")])
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", "-W", "error", "-c", program, world.binary, script),
        env={**os.environ, **world.env},
        cwd=world.work,
        stdout=pipe,
        stderr=pipe,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 40)
    finally:
        if process.returncode is None:
            process.kill()
    assert (out.decode().strip(), err.decode(), process.returncode) == (SAYS[name], "", 0)
