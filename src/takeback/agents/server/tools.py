"""The MCP server: tools, resources and a prompt over one desk, for any transport.

A tool that may need a person's word has a question worked out first; a client that can ask a person is told to, one
that cannot is refused with the command a person can run. Nothing that a model sends is run, and nothing is forced.
"""
# no `from __future__ import annotations`: the SDK reads annotations that name what is local to a function

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from takeback import __version__
from takeback.agents.server.answers import Done, HistoryPage, Planned, Proposed, StateAnswer, StatusAnswer
from takeback.agents.server.desk import Desk
from takeback.agents.server.guidance import INSTRUCTIONS, how_to_change
from takeback.agents.server.makers import maker
from takeback.agents.server.persons import Question
from takeback.agents.server.proposals import Sent
from takeback.agents.server.reading import entry_of, history_of, state_of, status_of
from takeback.canonical import compact
from takeback.errors import TakebackError
from takeback.present.secrets import masked_text

READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""A change that was admitted destroys nothing: it can be taken back. The same token twice changes nothing more."""
TAKES_BACK: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
"""An undo removes what an entry made, though that can be brought back."""


class Approval(BaseModel):
    """A person's answer."""

    approve: bool = Field(description="Whether this may be done.")


def build(
    desk: Desk, session: str | None = None, *, auth: AuthSettings | None = None, verifier: TokenVerifier | None = None
) -> MCPServer:
    """The server over a desk. `session` is what its one client's entries are signed with, where there is only one."""
    server: MCPServer = MCPServer(
        "takeback",
        version=__version__,
        instructions=INSTRUCTIONS,
        auth=auth,
        token_verifier=verifier,
        log_level="ERROR",
    )

    def who(context: Context) -> str:
        return maker(context, session)

    _reading(server, desk, who)
    _changing(server, desk, who)
    _undoing(server, desk, who)
    _resources(server, desk)
    return server


Who = Callable[[Context], str]


def _reading(server: MCPServer, desk: Desk, who: Who) -> None:
    @server.tool(annotations=READS)
    def harness_state(
        surfaces: Annotated[list[str], Field(description="Only these surfaces, such as config or prompts.")] = [],  # noqa: B006
        match: Annotated[str, Field(description="Only addresses or names that match, with * and ?.")] = "",
        limit: Annotated[int, Field(ge=1, le=500)] = 100,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> StateAnswer:
        """Show the harness: settings, prompts, routing, tools, hooks, files. Secrets are masked."""
        with _said():
            return state_of(desk, surfaces, match, limit, offset)

    @server.tool(annotations=READS)
    def history(
        context: Context,
        limit: Annotated[int, Field(ge=1, le=500)] = 20,
        before: Annotated[int | None, Field(description="Only entries with a lower number.")] = None,
        text: Annotated[str, Field(description="Only entries with this in id, kind, maker or summary.")] = "",
    ) -> HistoryPage:
        """List entries, newest first: what was changed, by whom, on what evidence, and what became of it."""
        with _said():
            return history_of(desk, who(context), limit, before, text)

    @server.tool(annotations=READS)
    def status(context: Context) -> StatusAnswer:
        """Say how the harness stands: entries, what was changed behind Takeback's back, problems."""
        with _said():
            return status_of(desk, who(context))


def _changing(server: MCPServer, desk: Desk, who: Who) -> None:
    @server.tool(annotations=READS)
    def propose_change(
        context: Context,
        lines: Annotated[
            list[str],
            Field(description="One-line forms, such as: set config timeout 60. Their recovery is written."),
        ] = [],  # noqa: B006
        mutation: Annotated[list[dict[str, Any]], Field(description="Or operations, as in a candidate.")] = [],  # noqa: B006
        witness: Annotated[
            list[dict[str, Any]] | None, Field(description="What to capture before; optional.")
        ] = None,
        recovery: Annotated[list[dict[str, Any]] | None, Field(description="How to take it back; optional.")] = None,
        contract: dict[str, Any] | None = None,
        note: Annotated[str, Field(max_length=2000, description="Why, for the log.")] = "",
    ) -> Proposed:
        """Have a change judged: can it be taken back on every state? Nothing is changed.

        Answers the verdict, the smallest state that breaks a recovery, a repaired candidate where there is one, and
        a token for apply_change.
        """
        with _said():
            return desk.propose(Sent(lines, mutation, witness, recovery, contract, note), who(context))

    def question(context: Context, token: str) -> Question:
        with _said():
            return desk.question_of_change(token, who(context))

    def asked(context: Context, about: Annotated[Question, Resolve(question)]) -> Approval | Elicit[Approval]:
        return _asked(context, about)

    @server.tool(annotations=CHANGES)
    def apply_change(
        context: Context,
        token: Annotated[str, Field(description="The token that propose_change gave.")],
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(asked)],
    ) -> Done:
        """Make a change that was admitted, by its token. A person is asked where it loosens a guard."""
        with _said():
            return desk.apply(token, who(context), _allowed(context, about, answer))


def _undoing(server: MCPServer, desk: Desk, who: Who) -> None:
    @server.tool(annotations=READS)
    def plan_undo(
        context: Context,
        entries: Annotated[list[str], Field(min_length=1, description="Ids, beginnings of ids, numbers, or HEAD.")],
        cascade: Annotated[bool, Field(description="Take along the entries that block.")] = False,
    ) -> Planned:
        """Show what taking entries back would do, whatever came after them, with a token for undo."""
        with _said():
            return desk.plan_undo(entries, who(context), cascade=cascade)

    def question(context: Context, token: str) -> Question:
        with _said():
            return desk.question_of_undo(token, who(context))

    def asked(context: Context, about: Annotated[Question, Resolve(question)]) -> Approval | Elicit[Approval]:
        return _asked(context, about)

    @server.tool(annotations=TAKES_BACK)
    def undo(
        context: Context,
        token: Annotated[str, Field(description="The token that plan_undo gave.")],
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(asked)],
    ) -> Done:
        """Take entries back as planned; the others stay. A person is asked about entries that someone else made."""
        with _said():
            return desk.undo(token, who(context), _allowed(context, about, answer))


def _resources(server: MCPServer, desk: Desk) -> None:
    @server.resource("takeback://history", mime_type="application/json")
    def recent() -> str:
        """The last entries, newest first."""
        with _said(ResourceError):
            return compact(
                history_of(desk, "", 100, None, "").model_dump(exclude={"entries": {"__all__": {"yours"}}})
            )

    @server.resource("takeback://entry/{name}", mime_type="application/json")
    def entry(name: str) -> str:
        """One entry by id or number: what it changed, its candidate and its evidence."""
        with _said(ResourceError):
            found = entry_of(desk, name, "")
            del found["yours"]
            return compact(found)

    @server.prompt()
    def change_harness(goal: str) -> str:
        """How to change this harness so that the change can be taken back."""
        return how_to_change(goal)


@contextmanager
def _said(error: type[ToolError | ResourceError] = ToolError) -> Iterator[None]:
    """Faults with their message, which the SDK keeps to itself of other exceptions."""
    try:
        yield
    except TakebackError as fault:
        raise error(masked_text(str(fault))) from fault


def _can_ask(context: Context) -> bool:
    """Whether the client can put a question to a person."""
    found = context.client_capabilities
    asking = None if found is None else found.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


def _asked(context: Context, about: Question) -> Approval | Elicit[Approval]:
    if not about.reasons or not _can_ask(context):
        return Approval(approve=False)
    return Elicit(about.text, Approval)


def _allowed(context: Context, about: Question, answer: ElicitationResult[Approval]) -> Callable[[Question], str]:
    """What stands against a request, given what was asked and answered; the question is worked out anew."""

    def objection(now: Question) -> str:
        if not now.reasons:
            return ""
        reasons = "; ".join(now.reasons)
        if not _can_ask(context):
            return f"a person must decide about this, and the client cannot ask one: {reasons}"
        if now != about:
            return f"things have changed since a person was asked; nothing was done, try again: {reasons}"
        if isinstance(answer, AcceptedElicitation) and answer.data.approve:
            return ""
        return f"a person was asked and does not want it: {reasons}"

    return objection
