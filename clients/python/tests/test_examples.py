"""Example programs: each runs with the real server and prints what it should."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from conftest import World


async def test_the_example_runs(world: World) -> None:
    example = Path(__file__).parents[1] / "examples" / "dynamic_tool.py"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(example), world.binary, env={**os.environ, **world.env}, stdout=pipe
    )
    out, _ = await process.communicate()
    assert out.decode() == "the tool says: 21 degrees in Lisbon\nthe model says: It is warm in Lisbon.\n"
    lines = [line.strip() for line in example.read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith(('"""', "{"))]) <= 20
