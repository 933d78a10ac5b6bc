"""Types and docstrings: strict mypy accepts the package and the README examples, and every member is documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from readme_blocks import BLOCKS
from toolgate import Client, Model, Start, sync
from toolgate import client as source

PROJECT = Path(__file__).parents[1]

WRONG = """
from typing import Any
from typing_extensions import assert_type
from toolgate import Client, tool


def plain() -> None: ...


@tool
def weather(city: str) -> str:
    return city


@tool(read_only=True)
async def distance(city: str, unit: str = "km") -> float:
    return 1.0


async def use(client: Client) -> None:
    assert_type(weather("Oslo"), str)
    assert_type(await distance("Oslo", unit="mi"), float)
    weather(1)  # wrong
    await distance("Oslo", scale=1)  # wrong
    assert_type(await client.request("session/list", {}), dict[str, Any])
    await client.start_session(sandbox="read-only", approval="on-request", model={"wire": "chat"}, only_tools=["list_dir"])
    await client.start_session(sandbox="workspace")  # wrong
    await client.start_session(approval="always")  # wrong
    await client.start_session(model={"wire": "openai"})  # wrong
    await client.start_session(tools=[plain])  # wrong
    await client.start_session(folder=".")  # wrong
"""


WRONG_SYNC = """
from collections.abc import Iterator
from typing_extensions import assert_type
from toolgate import Delta, Event, Piece, Turn, ToolAnswer
from toolgate.sync import Client, Process, Session


def use(client: Client) -> None:
    session = client.start_session(sandbox="read-only", approval="on-request", model={"wire": "chat"})
    assert_type(session, Session)
    assert_type(session.prompt("p"), Turn)
    assert_type(session.call("list_dir", {"path": "."}, key="k"), ToolAnswer)
    assert_type(session.events(after=1), Iterator[Event])
    process = session.start_process("ls", tty=(24, 80))
    assert_type(process, Process)
    for piece in process:
        assert_type(piece, Piece)
    with session.stream("p") as turn, Client.spawn("toolgate", env={}) as other:
        for item in turn:
            assert_type(item, Event | Delta)
        assert_type(other, Client)
    client.start_session(sandbox="workspace")  # wrong
    client.start_session(folder=".")  # wrong
    session.call(1)  # wrong
    session.prompt("p", pictures=[])  # wrong
    Client.spawn(binary="toolgate")  # wrong
    Client.connect_unix(1)  # wrong
    process.resize("24", 80)  # wrong
    await session.prompt("p")  # wrong
"""


def mypy(*files: Path) -> list[str]:
    """Runs mypy and returns its errors, each with file and line."""
    return [line for line in mypy_output(*files) if ": note:" not in line]


def mypy_output(*files: Path) -> list[str]:
    # The cache is in the virtual environment: a run without it takes half a minute.
    cache = Path(sys.prefix) / "mypy-cache"
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", cache, *files],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stderr == ""
    return said.stdout.splitlines()


@pytest.mark.timeout(300)
def test_the_package_and_the_readme_are_strictly_typed(tmp_path: Path) -> None:
    for number, block in enumerate(BLOCKS):
        (tmp_path / f"block_{number}.py").write_text(block.program)
    assert mypy(*(PROJECT / each for each in ("src", "tests", "examples")), *tmp_path.iterdir()) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("source", [WRONG, WRONG_SYNC])
def test_what_no_server_takes_is_an_error_of_types(tmp_path: Path, source: str) -> None:
    (program := tmp_path / "wrong.py").write_text(source)
    wrong = {number for number, line in enumerate(source.splitlines(), 1) if line.endswith("# wrong")}
    said = mypy(program)
    assert {int(line.split(":")[1]) for line in said} == wrong, said


@pytest.mark.timeout(300)
def test_the_types_of_the_synchronous_api_are_complete(tmp_path: Path) -> None:
    """Every public member has a type. `Any` occurs only as the value of a JSON object."""
    members = [(cls, name) for cls in sync.__all__ for name in dir(getattr(sync, cls)) if not name.startswith("_")]
    lines = [
        "from toolgate import sync",
        *(f"def f{i}(it: sync.{cls}) -> None: reveal_type(it.{name})" for i, (cls, name) in enumerate(members)),
    ]
    (program := tmp_path / "reveal.py").write_text("\n".join(lines) + "\n")
    revealed = [line.split("Revealed type is ")[1] for line in mypy_output(program) if "Revealed type is" in line]
    assert len(revealed) == len(members) > 40
    leaks = {
        member: found for member, found in zip(members, revealed, strict=True) if "Any" in found.replace("dict[str, Any]", "")
    }
    assert leaks == {}


def test_help_says_what_a_session_begins_with() -> None:
    words = inspect.getdoc(Client.start_session) or ""
    for name in inspect.signature(Client.start_session).parameters.keys() - {"self", "start"} | Start.__annotations__.keys():
        assert re.search(rf"^{name}: \w", words, re.MULTILINE), name
    assert all(f"`{name}`" in words for name in Model.__annotations__)


@pytest.mark.parametrize("which", ["Model", "Start"])
def test_each_member_has_words(which: str) -> None:
    classes = {each.name: each for each in ast.parse(inspect.getsource(source)).body if isinstance(each, ast.ClassDef)}
    _, *body = classes[which].body
    for member, words in zip(body[::2], body[1::2], strict=True):
        assert isinstance(member, ast.AnnAssign)
        assert isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant), ast.unparse(member)
