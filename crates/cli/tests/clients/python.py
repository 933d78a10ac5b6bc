"""The official Python client against `toolgate mcp`: one JSON object on standard input, one line of JSON a way of speaking."""

import asyncio
import json
import sys

import mcp.types as types
from mcp import Client, StdioServerParameters

GIVEN = json.load(sys.stdin)


async def accept(_context, params):
    choices = params.requested_schema["properties"]["answer"]["enum"]
    return types.ElicitResult(action="accept", content={"answer": next(c for c in choices if c.startswith("yes"))})


async def drive(mode):
    server = StdioServerParameters(command=GIVEN["command"], args=["mcp"], cwd=GIVEN["cwd"], env=GIVEN["env"])
    steps = []

    async def step(done, total, message):
        steps.append(message)

    async with Client(server, elicitation_callback=accept, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        read = await client.call_tool("read_file", {"path": "a.txt"})
        ran = await client.call_tool("exec_command", {"cmd": "echo one; sleep 0.3; echo two"}, progress_callback=step)
        asked = await client.call_tool("shell_command", {"command": "rm -rf gone"})
        return {
            "mode": mode,
            "has_tools": "apply_patch" in tools,
            "read": read.content[0].text,
            "exit_code": ran.meta["toolgate/data"]["exit_code"],
            "steps": len(steps) > 0,
            "asked": not asked.is_error,
        }


async def main():
    for mode in ["auto", "legacy", "2026-07-28"]:
        print(json.dumps(await drive(mode)))


asyncio.run(main())
