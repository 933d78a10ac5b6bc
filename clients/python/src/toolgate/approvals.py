"""Approvals and questions: the types that handlers get, and the answers without a handler."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ._user_functions import BlockingRunner, call_user_function
from .errors import PEER_FAULT, PeerFault
from .types import Json, parse

log = logging.getLogger("toolgate")


@dataclass(frozen=True)
class Decision:
    """Answer to an approval. The model reads the `note` of a denial."""

    decision: str
    note: str | None = None


@dataclass(frozen=True)
class Approval:
    """Request to approve a call. `question` has all its details (docs/pipe.md, "Questions").

    Texts are as the model wrote them: escape control characters before you display them.
    """

    session_id: str
    question: Json
    agents: list[str] = field(default_factory=list)

    @property
    def tool(self) -> str:
        """Name of the tool that is called."""
        return str(self.question.get("tool", ""))

    @property
    def call_id(self) -> str:
        """ID of the call in events."""
        return str(self.question.get("call_id", ""))

    @property
    def why(self) -> list[str]:
        """Reasons why approval is needed, one sentence each."""
        return list(self.question.get("why", []))

    @property
    def command(self) -> str | None:
        """Script or command that the call runs, if any."""
        return self.question.get("command")

    @property
    def diff(self) -> str | None:
        """Diff of the files that the call would change, if any."""
        return self.question.get("diff")

    @property
    def choices(self) -> list[str]:
        """Decisions that the server accepts."""
        return list(self.question.get("choices", []))

    def approve(self) -> Decision:
        """Approves this call only."""
        return Decision("approved")

    def deny(self, note: str | None = None) -> Decision:
        """Denies the call. The model reads the note."""
        return Decision("denied", note)


@dataclass(frozen=True)
class Choice:
    """One suggested answer to a question."""

    label: str
    description: str = ""


@dataclass(frozen=True)
class Question:
    """Question of the model. `options` are suggestions; any other text is a valid answer too."""

    session_id: str
    question: str
    options: list[Choice] = field(default_factory=list)


Said = Decision | str | bool
OnApproval = Callable[[Approval], Said | Awaitable[Said]]
OnQuestion = Callable[[Question], str | Awaitable[str | None] | None]


async def decide(handler: OnApproval | None, params: Json, run_blocking: BlockingRunner) -> Json:
    """Calls the approval handler and returns its decision. Denies if the handler raises an exception.

    Without a handler the request is answered with an error. Another client of the session may approve it; otherwise the
    server denies it.
    """
    if handler is None:
        log.warning(
            "session %s: `%s` needs approval, and this program has no `on_approval` handler; the call is denied unless another "
            "client approves it (pass a handler with `start_session(on_approval=…)`)",
            params.get("session_id"),
            params.get("question", {}).get("tool", "a call"),
        )
        raise PeerFault(PEER_FAULT, "this program has no `on_approval` handler for the session")
    approval = parse(Approval, params)
    try:
        return _told(_decision(approval, await call_user_function(partial(handler, approval), run_blocking)))
    except Exception as error:
        log.exception("the approval handler raised an exception; the call is denied")
        return _told(Decision("denied", f"the approval handler failed: {error}"))


async def answer(handler: OnQuestion | None, params: Json, run_blocking: BlockingRunner) -> Json:
    """Calls the question handler and returns its answer, which is empty if the handler raises an exception.

    Without a handler the request is answered with an error, and another client of the session may answer it.
    """
    if handler is None:
        log.warning(
            "session %s: the model asks %r, and this program has no `on_question` handler; the question stays unanswered "
            "unless another client answers it",
            params.get("session_id"),
            params.get("question"),
        )
        raise PeerFault(PEER_FAULT, "this program has no `on_question` handler for the session")
    try:
        said: Any = await call_user_function(partial(handler, parse(Question, params)), run_blocking)
        if said is not None and not isinstance(said, str):
            raise TypeError(f"the handler returned {said!r}; it must return a string or None")
        return {"answer": said}
    except Exception:
        log.exception("the question handler raised an exception; the question stays unanswered")
        return {"answer": None}


def _decision(approval: Approval, said: Any) -> Decision:
    """Converts the return value of a handler to a decision. Raises `ValueError` for an invalid value."""
    if isinstance(said, bool):
        return approval.approve() if said else approval.deny()
    decision = Decision(said) if isinstance(said, str) else said
    choices = approval.choices
    if not isinstance(decision, Decision) or (choices and decision.decision not in choices):
        ways = f"True, False, one of {', '.join(map(repr, choices))}, or `approval.deny(…)`"
        raise ValueError(f"the handler returned {said!r}; it must return {ways}")
    return decision


def _told(decision: Decision) -> Json:
    note = {} if decision.note is None else {"note": decision.note}
    return {"decision": decision.decision, **note}
