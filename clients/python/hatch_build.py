"""Build hook: puts a program that is already built into the wheel. Without TOOLGATE_WHEEL_TREE the wheel is pure Python.

`scripts/dist` of the Toolgate checkout sets the variable to a directory with `bin/toolgate` and its documents. Pip installs
the program into the scripts directory of the environment, where `Client.spawn()` looks for it first.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        tree = os.environ.get("TOOLGATE_WHEEL_TREE")
        if tree and version == "standard":  # an editable wheel stays pure
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{os.environ['TOOLGATE_WHEEL_PLATFORM']}"
            build_data["shared_scripts"] = {f"{tree}/bin/toolgate": "toolgate"}
            licences = "share/doc/toolgate/third-party-licences.txt"
            build_data["shared_data"] = {f"{tree}/share/man": "share/man", f"{tree}/{licences}": licences}
