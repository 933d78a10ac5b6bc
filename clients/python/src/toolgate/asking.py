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
        raise PeerFault(NOBODY, "this program approves nothing in this session")
    try:
        said: Any = await called(handler, parse(Approval, params))
    except Exception as error:
        log.exception("the approval handler stumbled; it is denied")
        return _told(Decision("denied", f"the approval could not be given: {error}"))
    if isinstance(said, bool):
        return _told(Decision("approved" if said else "denied"))
    return _told(said if isinstance(said, Decision) else Decision(str(said)))


async def answer(handler: OnQuestion | None, params: Json) -> Json:
    """Asks the handler; there is no answer if it raises. Without one somebody else may answer."""
    if handler is None:
        raise PeerFault(NOBODY, "this program answers no questions in this session")
    try:
        return {"answer": await called(handler, parse(Question, params))}
    except Exception:
        log.exception("the question handler stumbled; the question stays unanswered")
        return {"answer": None}


def _told(decision: Decision) -> Json:
    note = {} if decision.note is None else {"note": decision.note}
    return {"decision": decision.decision, **note}
