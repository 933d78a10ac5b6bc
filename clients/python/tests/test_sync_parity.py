"""Parity of the synchronous API: it has every public member of the asynchronous one, with the same parameters."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import pytest

import toolgate
from toolgate import sync

CLASSES = [(getattr(toolgate, name), getattr(sync, name)) for name in sync.__all__]
# Names of the special methods in both APIs.
SPECIAL = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}


def members(cls: type[Any]) -> set[str]:
    """Returns the public members of an asynchronous class: methods, properties, and attributes that `__init__` sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__)))
    assigned = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    defined = {name for name in vars(cls) if not name.startswith("_") or name in SPECIAL}
    return defined | {name for name in assigned if not name.startswith("_")}


def test_every_asynchronous_class_has_a_synchronous_form() -> None:
    asynchronous = {
        name
        for name in toolgate.__all__
        if (
            inspect.isclass(cls := getattr(toolgate, name))
            and any(inspect.iscoroutinefunction(each) and not name.startswith("_") for name, each in vars(cls).items())
        )
        or hasattr(getattr(toolgate, name), "__aenter__")
    }
    assert asynchronous == set(sync.__all__)


@pytest.mark.parametrize(("asynchronous", "synchronous"), CLASSES)
def test_every_member_has_a_synchronous_form(asynchronous: type[Any], synchronous: type[Any]) -> None:
    expected = {SPECIAL.get(name, name) for name in members(asynchronous)}
    assert len(expected) >= 4, expected  # the test finds members at all
    missing = {name for name in expected if not hasattr(synchronous, name)}
    assert missing == set()


@pytest.mark.parametrize(("asynchronous", "synchronous"), CLASSES)
def test_methods_have_the_same_parameters_and_a_docstring_and_block(asynchronous: type[Any], synchronous: type[Any]) -> None:
    for name in members(asynchronous) - SPECIAL.keys():
        ours, theirs = getattr(synchronous, name), getattr(asynchronous, name, None)
        assert inspect.getdoc(ours), name
        if callable(theirs):
            assert inspect.signature(ours).parameters == inspect.signature(theirs).parameters, name
            assert not inspect.iscoroutinefunction(ours) and not inspect.isasyncgenfunction(ours), name


def test_the_test_notices_a_missing_member() -> None:
    assert {"prompt", "cursor", "id", "on_approval"} <= members(toolgate.Session)
    assert {"exit_code", "position", "__aiter__"} <= members(toolgate.Process)
    assert not any(name.startswith("_") for name in members(toolgate.Session) - SPECIAL.keys())
