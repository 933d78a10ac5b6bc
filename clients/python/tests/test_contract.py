"""The client against docs/openrpc.json: every method is used, every member is known, every code has a class."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from toolgate import asking, client, tools, types
from toolgate.errors import CODES

PROJECT = Path(__file__).parents[1]
CONTRACT = json.loads((PROJECT.parents[1] / "docs" / "openrpc.json").read_text())
SCHEMAS = CONTRACT["components"]["schemas"]


def test_every_method_is_used_and_no_other() -> None:
    source = "".join(path.read_text() for path in (PROJECT / "src").rglob("*.py"))
    used = set(re.findall(r'"((?:session|tool|process|fs|patch|policy|approval|user|\$)/[a-z]+|initialize)"', source))
    assert used == {method["name"] for method in CONTRACT["methods"]}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (types.Limits, "Limits"),
        (types.Server, "Named"),
        (types.Initialized, "Initialized"),
        (types.Started, "Started"),
        (types.Attached, "Attached"),
        (types.ListedSession, "ListedSession"),
        (types.Prompted, "Prompted"),
        (types.Described, "Described"),
        (types.ToolAnswer, "ToolAnswer"),
        (types.Written, "FsWritten"),
        (types.Entry, "FsEntry"),
        (types.Listing, "FsListed"),
        (types.Hit, "FsHit"),
        (types.Found, "FsSearched"),
        (types.Change, "PatchChange"),
        (types.Patched, "PatchApplied"),
        (types.Output, "ProcessReadDone"),
        (tools.Invocation, "Invocation"),
        (asking.Approval, "Ruling"),
        (asking.Decision, "Decision"),
        (asking.Choice, "Choice"),
        (asking.Question, "Question"),
    ],
)
def test_every_member_is_known(ours: Any, theirs: str) -> None:
    assert {each.name.rstrip("_") for each in dataclasses.fields(ours)} == set(SCHEMAS[theirs]["properties"])


def test_every_way_to_start_is_known() -> None:
    assert set(client.Model.__annotations__) == set(SCHEMAS["Model"]["properties"])
    # The tools are a parameter of their own, which takes functions.
    assert {*client.Start.__annotations__, "tools"} == set(SCHEMAS["Start"]["properties"])
    described = tools.tool(timeout=1)(lambda: None).describe()
    assert set(described) == set(SCHEMAS["DynamicTool"]["properties"])


def test_every_end_of_a_turn_and_every_code_is_known() -> None:
    assert set(get_args(types.Ended)) == {each["const"] for each in SCHEMAS["Ended"]["oneOf"]}
    assert set(CODES) == {each["code"] for each in CONTRACT["components"]["errors"].values()}
