"""Lookup of the program `toolgate`: TOOLGATE_BIN, the scripts directories of this Python environment, then PATH."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping

from .errors import CannotConnect

PROGRAM = "toolgate"
VARIABLE = "TOOLGATE_BIN"


def find_program(env: Mapping[str, str]) -> str:
    """Returns the absolute path of the program. Raises `CannotConnect` if there is none. `env` has TOOLGATE_BIN and PATH."""
    path = env.get("PATH", os.defpath)
    if named := env.get(VARIABLE):
        if found := shutil.which(named, path=path):
            return os.path.abspath(found)
        raise CannotConnect(f"the environment variable {VARIABLE} is {named!r}, which is not an executable file")
    directories = list(dict.fromkeys(_script_directories()))
    if found := shutil.which(PROGRAM, path=os.pathsep.join([*directories, path])):
        return os.path.abspath(found)
    raise CannotConnect(
        f"the program `{PROGRAM}` is neither in {' nor '.join(directories)} nor in PATH; install Toolgate, "
        f"set {VARIABLE} to the path of the program, or pass it: `Client.spawn({f'/path/to/{PROGRAM}'!r})`"
    )


def _script_directories() -> Iterator[str]:
    """Yields the directories into which pip installs programs: beside the interpreter, of the environment, of the user."""
    if sys.executable:  # empty in an embedded interpreter
        yield os.path.dirname(sys.executable)
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
