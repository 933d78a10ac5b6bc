"""What the server asks of people: approvals and questions, and what is said if nobody is there to answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import PeerFault
from .tools import called
from .types import Json, parse

log = logging.getLogger("toolgate")

NOBODY = -32009


@dataclass(frozen=True)
class Decision:
    """What somebody says to an approval; the `note` is for the model, with a no."""

    decision: str
    note: str | None = None


@dataclass(frozen=True)
class Approval:
    """Something has to be approved. `question` is all that is known of it (docs/pipe.md, "Questions").

    Texts are as the model wrote them: make control characters visible before you show them to anybody.
    """

    session_id: str
    question: Json
    agents: list[str] = field(default_factory=list)

    @property
    def tool(self) -> str:
        """The tool that is called."""
        return str(self.question.get("tool", ""))

    @property
    def call_id(self) -> str:
        """What the call is called in events."""
        return str(self.question.get("call_id", ""))

    @property
    def why(self) -> list[str]:
        """Why it is asked, a sentence each."""
        return list(self.question.get("why", []))

    @property
    def command(self) -> str | None:
        """The script or command, if it runs one."""
        return self.question.get("command")

    @property
    def diff(self) -> str | None:
        """What it would change, if it changes files."""
        return self.question.get("diff")

    @property
    def choices(self) -> list[str]:
        """The decisions that can be given."""
        return list(self.question.get("choices", []))

    def approve(self) -> Decision:
        """Says yes, this once."""
        return Decision("approved")

    def deny(self, note: str | None = None) -> Decision:
        """Says no, and tells the model why."""
        return Decision("denied", note)


@dataclass(frozen=True)
class Choice:
    """An answer to choose."""

    label: str
    description: str = ""


@dataclass(frozen=True)
class Question:
    """The model wants to know something; any answer is possible beside the `options`."""

    session_id: str
    question: str
    options: list[Choice] = field(default_factory=list)


Said = Decision | str | bool
OnApproval = Callable[[Approval], Said | Awaitable[Said]]
OnQuestion = Callable[[Question], str | Awaitable[str | None] | None]


async def decide(handler: OnApproval | None, params: Json) -> Json:
    """Asks the handler, and says no if it raises.

    Without one the request is answered with an error: somebody else who follows the session may approve, and if nobody
    does, the server denies it.
    """
    if handler is None:
        log.warning(
            "session %s: `%s` has to be approved, and this program gave no `on_approval`; it is denied unless somebody else "
            "approves it (`start_session(on_approval=…)` takes a function that decides)",
            params.get("session_id"),
            params.get("question", {}).get("tool", "a call"),
        )
        raise PeerFault(NOBODY, "this program gave the session no `on_approval`, so it approves nothing")
    approval = parse(Approval, params)
    try:
        return _told(_decision(approval, await called(handler, approval)))
    except Exception as error:
        log.exception("the approval handler stumbled; it is denied")
        return _told(Decision("denied", f"the approval could not be given: {error}"))


async def answer(handler: OnQuestion | None, params: Json) -> Json:
    """Asks the handler; there is no answer if it raises. Without one somebody else may answer."""
    if handler is None:
        log.warning(
            "session %s: the model asks %r, and this program gave no `on_question`; it gets no answer unless somebody else "
            "gives one",
            params.get("session_id"),
            params.get("question"),
        )
        raise PeerFault(NOBODY, "this program gave the session no `on_question`, so it answers nothing")
    try:
        said: Any = await called(handler, parse(Question, params))
        if said is not None and not isinstance(said, str):
            raise TypeError(f"the handler returned {said!r}; it returns a text, or None")
        return {"answer": said}
    except Exception:
        log.exception("the question handler stumbled; the question stays unanswered")
        return {"answer": None}


def _decision(approval: Approval, said: Any) -> Decision:
    """What a handler means by what it returned; what means nothing is an error, so that its author hears of it."""
    if isinstance(said, bool):
        return approval.approve() if said else approval.deny()
    decision = Decision(said) if isinstance(said, str) else said
    choices = approval.choices
    if not isinstance(decision, Decision) or (choices and decision.decision not in choices):
        ways = f"True, False, one of {', '.join(map(repr, choices))}, or `approval.deny(…)`"
        raise ValueError(f"the handler returned {said!r}; it returns {ways}")
    return decision


def _told(decision: Decision) -> Json:
    note = {} if decision.note is None else {"note": decision.note}
    return {"decision": decision.decision, **note}
