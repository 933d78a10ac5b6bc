"""Lookup of the program: the order of TOOLGATE_BIN, the scripts directories and PATH, and the errors."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from conftest import World
from toolgate import CannotConnect, Client, _find_program
from toolgate._find_program import find_program


def program(path: Path) -> str:
    """Creates an executable file and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Scripts directory of an environment that is not this one."""
    (directory := tmp_path / "scripts").mkdir()
    monkeypatch.setattr(_find_program, "_script_directories", lambda: iter([str(directory)]))
    return directory


def test_the_variable_comes_first_then_the_environment_then_the_path(tmp_path: Path, scripts: Path) -> None:
    named, installed = program(tmp_path / "named"), program(scripts / "toolgate")
    on_path = program(tmp_path / "path" / "toolgate")
    env = {"TOOLGATE_BIN": named, "PATH": os.path.dirname(on_path)}
    assert find_program(env) == named
    assert find_program({**env, "TOOLGATE_BIN": ""}) == installed
    os.remove(installed)
    assert find_program({**env, "TOOLGATE_BIN": ""}) == on_path
    # A name without a directory is looked up in PATH.
    assert find_program({**env, "TOOLGATE_BIN": "toolgate"}) == on_path


def test_a_variable_that_names_no_program_is_an_error(tmp_path: Path, scripts: Path) -> None:
    program(scripts / "toolgate")
    (tmp_path / "text").write_text("")
    for wrong in (tmp_path / "none-such", tmp_path / "text", tmp_path):
        with pytest.raises(CannotConnect, match=f"TOOLGATE_BIN is '{wrong}', which is not an executable file") as failed:
            find_program({"TOOLGATE_BIN": str(wrong), "PATH": ""})
        assert not failed.value.is_passing


async def test_without_a_program_the_error_says_where_it_was_looked_for(scripts: Path) -> None:
    with pytest.raises(CannotConnect, match=rf"neither in {scripts} nor in PATH; install Toolgate, set TOOLGATE_BIN .*spawn\('"):
        await Client.spawn(env={"TOOLGATE_BIN": "", "PATH": "/none-such"}, reconnect=True).open()


async def test_a_client_without_a_command_starts_the_program_that_was_found(world: World, scripts: Path) -> None:
    (scripts / "toolgate").symlink_to(world.binary)
    async with Client.spawn(env={**world.env, "TOOLGATE_BIN": "", "PATH": "/none-such"}) as client:
        assert client.server is not None and client.server.server.name == "toolgate"


def test_a_program_beside_the_interpreter_of_a_virtual_environment_is_found(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    installed = program(tmp_path / "venv" / "bin" / "toolgate")
    code = "import os; from toolgate._find_program import find_program; print(find_program(os.environ))"
    source = str(Path(_find_program.__file__).parents[1])
    found = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-c", code],
        env={"PYTHONPATH": source, "PATH": "/none-such"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == installed
    assert sys.prefix != str(tmp_path / "venv")
