"""Python blocks of README.md as complete programs, for the tests that run them and that check their types."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

SYNC = """\
from toolgate.sync import Client, Session


def use(client: Client, session: Session) -> None:
{block}

with Client.spawn() as _client:
    use(_client, _client.start_session({options}))
"""

ASYNC = """\
import asyncio
from toolgate import Client, Session


async def use(client: Client, session: Session) -> None:
{block}

async def _main() -> None:
    async with Client.spawn() as client:
        await use(client, await client.start_session({options}))


asyncio.run(_main())
"""

OPTIONS = 'cwd=".", sandbox="workspace-write", approval="never", model={"name": "gpt-5"}'


@dataclass(frozen=True)
class Block:
    """A block, and the output that the page shows after it, if any."""

    text: str
    output: str | None

    @property
    def program(self) -> str:
        """The block itself if it creates a client, otherwise a program that gives it a `client` and a `session`."""
        if "Client." in self.text:
            return self.text
        whole = ASYNC if "await " in self.text else SYNC
        return whole.format(block=textwrap.indent(self.text, "    "), options=OPTIONS)


BLOCKS = [
    Block(text, output or None)
    for text, output in re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README.read_text(), re.DOTALL)
]
