"""Drives `toolgate acp` with the official SDK: every message of ours has to fit its types."""

import asyncio
import json
import os
import sys

import acp
from acp import schema


class Editor(acp.Client):
    def __init__(self):
        self.updates = []
        self.questions = []
        self.stops = None

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        if self.stops:
            await self.stops.cancel(session_id=session_id)
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        self.questions.append([block.type for block in tool_call.content])
        # Yes to the patch, no to the command.
        kind = "allow_once" if any(block.type == "diff" for block in tool_call.content) else "reject_once"
        chosen = next(option for option in options if option.kind == kind)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update)


async def main():
    given = json.load(sys.stdin)
    editor = Editor()
    env = {"HOME": given["home"], "PATH": os.environ["PATH"]}
    agent = acp.spawn_agent_process(editor, given["command"], *given["args"], env=env, cwd=given["cwd"])
    async with agent as (connection, process):
        met = await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        print("initialize", met.protocol_version, met.agent_info.name, met.agent_capabilities.load_session)
        session = await connection.new_session(cwd=given["cwd"], mcp_servers=[])
        print("modes", [mode.id for mode in session.modes.available_modes])
        done = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
        print("prompt", done.stop_reason)
        for update in editor.updates:
            show(update)
        print("questions", editor.questions)
        editor.stops = connection
        done = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("more")])
        print("cancel", done.stop_reason)
        editor.updates.clear()
        await connection.load_session(session_id=session.session_id, cwd=given["cwd"], mcp_servers=[])
        print("load", [type(update).__name__ for update in editor.updates])


def show(update):
    name = type(update).__name__
    match update:
        case schema.AgentMessageChunk():
            print(name, update.content.text)
        case schema.ToolCallStart():
            print(name, update.kind, update.status, update.title)
        case schema.ToolCallProgress():
            print(name, update.status, [block.type for block in update.content or []])
        case schema.UsageUpdate():
            pass
        case other:
            print(name)


asyncio.run(main())
