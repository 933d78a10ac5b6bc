"""Adapters: Toolgate's tools in LangChain and in the OpenAI Agents SDK, with the adapter and over MCP."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, Tool, set_tracing_disabled
from agents.items import ToolCallOutputItem
from agents.mcp import MCPServer, MCPServerStdio
from agents.models.interface import Model
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import AsyncOpenAI

from conftest import World, call, message
from toolgate import ConnectionLost, Session, ToolgateError, sync, tool
from toolgate.adapters.langchain import structured_tools, sync_structured_tools
from toolgate.adapters.openai_agents import function_tools

set_tracing_disabled(True)

PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+by the model\n*** End Patch\n"
# Minimal PNG: one grey pixel.
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")


@asynccontextmanager
async def scripted(world: World, script: str) -> AsyncIterator[AsyncOpenAI]:
    """Serves a model script over HTTP, as the OpenAI API does, and gives a client for it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        world.binary, "script-server", script, stdout=pipe, env={**os.environ, **world.env}
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            yield client
    finally:
        process.kill()
        await process.wait()


async def outputs(model: Model, tools: Sequence[Tool] = (), servers: Sequence[MCPServer] = ()) -> tuple[str, list[Any]]:
    """Runs an agent and returns its final output and the outputs of its tools."""
    agent = Agent(name="coder", model=model, tools=list(tools), mcp_servers=list(servers))
    result = Runner.run_streamed(agent, "work")
    async for _ in result.stream_events():
        pass
    return result.final_output, [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]


@asynccontextmanager
async def session(world: World) -> AsyncIterator[Session]:
    async with world.client() as client:
        yield await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")


WORK = (
    [call("exec_command", cmd="echo by a command > run.txt; cat run.txt")],
    [call("apply_patch", input=PATCH)],
    [call("read_file", path="nowhere.txt")],
    [message("All done.")],
)


async def test_an_agent_of_the_openai_sdk_works_through_the_adapter(world: World) -> None:
    async with scripted(world, world.script(*WORK)) as openai, session(world) as ours:
        tools = await function_tools(ours, only=["exec_command", "apply_patch", "read_file"])
        said, told = await outputs(OpenAIResponsesModel("script", openai), tools)
        assert said == "All done."
        assert "by a command" in told[0] and "patched.txt" in told[1] and "nowhere.txt" in told[2]
        assert (world.work / "patched.txt").read_text() == "by the model\n"


async def test_it_works_without_a_stream_too(world: World) -> None:
    script = world.script(WORK[0], WORK[3], WORK[0], WORK[3])
    async with scripted(world, script) as openai, session(world) as ours:
        tools = await function_tools(ours, only=["exec_command"])
        for model in OpenAIResponsesModel("script", openai), OpenAIChatCompletionsModel("script", openai):
            result = await Runner.run(Agent(name="coder", model=model, tools=tools), "work")
            told = [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]
            assert result.final_output == "All done." and "by a command" in told[0]


async def test_the_chat_api_and_pictures_work_as_well(world: World) -> None:
    (world.work / "dot.png").write_bytes(PNG)
    script = world.script([call("view_image", path="dot.png")], [message("A dot.")])
    async with scripted(world, script) as openai, session(world) as ours:
        tools = await function_tools(ours, only=["view_image"])
        said, told = await outputs(OpenAIChatCompletionsModel("script", openai), tools)
        assert said == "A dot."
        assert any(getattr(piece, "image_url", "").startswith("data:image/") for piece in told[0])


async def test_an_agent_of_the_openai_sdk_works_through_mcp(world: World) -> None:
    args = ["mcp", "--sandbox", "workspace-write", "--approval", "never"]
    server = MCPServerStdio(
        {"command": world.binary, "args": args, "env": {**os.environ, **world.env}, "cwd": world.work},
        client_session_timeout_seconds=30,
    )
    async with scripted(world, world.script(*WORK)) as openai, server:
        said, told = await outputs(OpenAIResponsesModel("script", openai), servers=[server])
        assert said == "All done."
        assert "by a command" in str(told[0]) and "patched.txt" in str(told[1]) and "nowhere.txt" in str(told[2])
        assert (world.work / "patched.txt").read_text() == "by the model\n"


async def test_langchain_calls_tools(world: World) -> None:
    (world.work / "dot.png").write_bytes(PNG)
    async with session(world) as ours:
        tools = {each.name: each for each in await structured_tools(ours)}
        described = convert_to_openai_tool(tools["exec_command"])["function"]
        assert "cmd" in described["parameters"]["properties"] and described["description"]
        request = {"type": "tool_call", "id": "1", "name": "exec_command", "args": {"cmd": "echo hi > lang.txt; cat lang.txt"}}
        answer = await tools["exec_command"].ainvoke(request)
        assert isinstance(answer, ToolMessage) and "hi" in answer.content and answer.tool_call_id == "1"
        assert "patched.txt" in await tools["apply_patch"].ainvoke({"input": PATCH})
        assert (world.work / "patched.txt").exists()
        picture = await tools["view_image"].ainvoke({"path": "dot.png"})
        assert picture[-1]["image_url"]["url"].startswith("data:image/")
        # `invoke` would block the event loop that answers it. It works in another thread, as does `ainvoke` on another loop.
        with pytest.raises(ToolgateError, match=r"`exec_command.invoke\(…\)` would block .* use `await tool.ainvoke"):
            tools["exec_command"].invoke({"cmd": "true"})
        read = tools["read_file"]
        assert "hi" in await asyncio.to_thread(read.invoke, {"path": "lang.txt"})
        assert "hi" in await asyncio.to_thread(lambda: asyncio.run(read.ainvoke({"path": "lang.txt"})))


def test_langchain_calls_tools_of_a_synchronous_session(world: World) -> None:
    (world.work / "dot.png").write_bytes(PNG)
    with sync.Client.spawn(world.binary, env=world.env) as client:
        ours = client.start_session(cwd=world.work, sandbox="workspace-write", approval="never", tools=[relay])
        tools = {
            each.name: each for each in sync_structured_tools(ours, only=["exec_command", "view_image", "read_file", "relay"])
        }
        assert len(tools) == 4
        assert "hi" in tools["exec_command"].invoke({"cmd": "echo hi > lang.txt; cat lang.txt"})
        assert "hi" in asyncio.run(tools["read_file"].ainvoke({"path": "lang.txt"}))
        assert tools["view_image"].invoke({"path": "dot.png"})[-1]["image_url"]["url"].startswith("data:image/")
        # An async tool of this client runs on the event loop of the session itself.
        relayed.append(tools["read_file"])
        assert "hi" in tools["relay"].invoke({"path": "lang.txt"})
        with pytest.raises(ValueError, match="no tool none_such"):
            sync_structured_tools(ours, only=["none_such"])
    with pytest.raises(ConnectionLost, match="the client is closed"):
        tools["exec_command"].invoke({"cmd": "true"})
    with pytest.raises(ConnectionLost, match="the client is closed"):
        asyncio.run(tools["exec_command"].ainvoke({"cmd": "true"}))


relayed: list[StructuredTool] = []


@tool
async def relay(path: str) -> str:
    """Reads a file with another tool."""
    text: str = await relayed[0].ainvoke({"path": path})
    return text
