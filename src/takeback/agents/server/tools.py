"""The MCP server: tools, resources and a prompt, on standard input and output or HTTP on loopback.

A tool that may need a person's approval has a question worked out first; a client that can ask a person
does, any other gets the command a person can run. Nothing that a model sends is run, and nothing is forced.
Over HTTP, requests without the bearer token, to another host name or from another origin are refused. A
client says its own name, which is `declared`; a name that belongs to the bearer token is `verified`.
"""

# no `from __future__ import annotations`: the SDK reads annotations that name what is local to a function
import hmac
import secrets
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import AnyHttpUrl, BaseModel, Field

from takeback import __version__
from takeback.agents.server.answers import (
    Done,
    HistoryPage,
    Planned,
    Proposed,
    Question,
    Sent,
    StateAnswer,
    StatusAnswer,
)
from takeback.agents.server.service import ProposalService, read_entry, read_history, read_state, read_status
from takeback.canonical import write_compact
from takeback.errors import InputError, TakebackError
from takeback.present.secrets import mask_text_secrets
from takeback.present.visible import escape_invisible

INSTRUCTIONS: Final = (
    "Changes of this agent's own harness (settings, prompts, tools, hooks, files) that can be taken back. "
    "Look with harness_state, have a change judged with propose_change, make it with apply_change and the token. "
    "plan_undo and undo take any entry back, whatever came after it. "
    "Edit harness files through these tools rather than with an editor or a shell."
)


def explain_change(goal: str) -> str:
    """Return the steps of a change for an agent."""
    return f"""Change this harness so that: {goal}

Do it so that it can be taken back:
1. Call status. If it is not clean, stop and show the person the command it names.
2. Call harness_state with a filter for what concerns the goal. Values shown as [masked by takeback] are secrets:
   leave them as they are, and never send that text back as a value.
3. Call propose_change, one change per intention, so that each can be taken back by itself. One-line forms:
   set config timeout 60
   set config permissions.deny+ 'Bash(rm:*)'
   edit prompt CLAUDE.md --old 'two spaces' --new 'four spaces'
   add tool mcp:docs --json '{{"command": "docs-server"}}'
   Operations with a witness and a recovery of your own are possible; a recovery that does not hold on every state is
   refuted with the smallest state that breaks it, and repaired where that is possible.
4. Read the answer. Call apply_change with its token only if the changes shown are what you mean.
5. What loosens permissions, removes a guard or takes back someone else's entry is for a person to decide. If you are
   refused, show the person the command in the answer. Do not look for a way around it.
6. Say which entries you made, by number, so that the person can take any of them back.
"""


LONGEST: Final = 60
SESSION_HEADER: Final = "mcp-session-id"
ANYONE: Final = "bearer"
"""The name of a token that has none of its own: it says that the client may ask, not who it is."""


def build_signature(context: Context[Any, Any], session: str | None) -> str:
    """Return the signature of the entries that a request's client makes."""
    headers = context.headers
    given = session if headers is None else headers.get(SESSION_HEADER)
    suffix = f", session {_clean_name(given)}" if given else ""
    parameters = context.session.client_params
    declared = _clean_name(parameters.client_info.name) if parameters is not None else ""
    user = getattr(context.request_context.request, "scope", {}).get("user")
    verified = user.access_token.client_id if isinstance(user, AuthenticatedUser) else ANYONE
    if verified != ANYONE:
        named = f" as {declared}" if declared else ""
        return f"{_clean_name(verified)} (verified{named}){suffix}"
    return f"{declared or 'an MCP client'} (declared){suffix}"


def _clean_name(text: str) -> str:
    """Return a name on one line, without the brackets and commas that a signature is built with."""
    kept = "".join(char for char in escape_invisible(text) if char not in "(),\\")
    return " ".join(kept.split())[:LONGEST]


# no `from __future__ import annotations`: the SDK reads annotations that name what is local to a function


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


def build_mcp_server(
    desk: ProposalService,
    session: str | None = None,
    *,
    auth: AuthSettings | None = None,
    verifier: TokenVerifier | None = None,
) -> MCPServer:
    """Build the server over a service. `session` signs the entries of its one client, where there is only one."""
    server: MCPServer = MCPServer(
        "takeback",
        version=__version__,
        instructions=INSTRUCTIONS,
        auth=auth,
        token_verifier=verifier,
        log_level="ERROR",
    )

    def who(context: Context) -> str:
        return build_signature(context, session)

    _add_reading_tools(server, desk, who)
    _add_changing_tools(server, desk, who)
    _add_undo_tools(server, desk, who)
    _add_resources(server, desk)
    return server


Who = Callable[[Context], str]


def _add_reading_tools(server: MCPServer, desk: ProposalService, who: Who) -> None:
    @server.tool(annotations=READS)
    def harness_state(
        surfaces: Annotated[list[str], Field(description="Only these surfaces, such as config or prompts.")] = [],  # noqa: B006
        match: Annotated[str, Field(description="Only addresses or names that match, with * and ?.")] = "",
        limit: Annotated[int, Field(ge=1, le=500)] = 100,
        offset: Annotated[int, Field(ge=0)] = 0,
        *,
        context: Context,
    ) -> StateAnswer:
        """Show the harness: settings, prompts, routing, tools, hooks, files. Secrets are masked."""
        with _report_faults():
            return read_state(desk, surfaces, match, limit, offset, who(context))

    @server.tool(annotations=READS)
    def history(
        context: Context,
        limit: Annotated[int, Field(ge=1, le=500)] = 20,
        before: Annotated[int | None, Field(description="Only entries with a lower number.")] = None,
        text: Annotated[str, Field(description="Only entries with this in id, kind, maker or summary.")] = "",
    ) -> HistoryPage:
        """List entries, newest first: what was changed, by whom, on what evidence, and what became of it."""
        with _report_faults():
            return read_history(desk, who(context), limit, before, text)

    @server.tool(annotations=READS)
    def status(context: Context) -> StatusAnswer:
        """Say how the harness stands: entries, what was changed outside Takeback, problems."""
        with _report_faults():
            return read_status(desk, who(context))


def _add_changing_tools(server: MCPServer, desk: ProposalService, who: Who) -> None:
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
        with _report_faults():
            return desk.propose(Sent(lines, mutation, witness, recovery, contract, note), who(context))

    def question(context: Context, token: str) -> Question:
        with _report_faults():
            return desk.question_of_change(token, who(context))

    def asked(context: Context, about: Annotated[Question, Resolve(question)]) -> Approval | Elicit[Approval]:
        return _ask_person(context, about)

    @server.tool(annotations=CHANGES)
    def apply_change(
        context: Context,
        token: Annotated[str, Field(description="The token that propose_change gave.")],
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(asked)],
    ) -> Done:
        """Make a change that was admitted, by its token. A person is asked where it loosens a guard."""
        with _report_faults():
            return desk.apply(token, who(context), _allow_after_answer(context, about, answer))


def _add_undo_tools(server: MCPServer, desk: ProposalService, who: Who) -> None:
    @server.tool(annotations=READS)
    def plan_undo(
        context: Context,
        entries: Annotated[list[str], Field(min_length=1, description="Ids, beginnings of ids, numbers, or HEAD.")],
        cascade: Annotated[bool, Field(description="Include the blocking entries.")] = False,
    ) -> Planned:
        """Show what taking entries back would do, whatever came after them, with a token for undo."""
        with _report_faults():
            return desk.plan_undo(entries, who(context), cascade=cascade)

    def question(context: Context, token: str) -> Question:
        with _report_faults():
            return desk.question_of_undo(token, who(context))

    def asked(context: Context, about: Annotated[Question, Resolve(question)]) -> Approval | Elicit[Approval]:
        return _ask_person(context, about)

    @server.tool(annotations=TAKES_BACK)
    def undo(
        context: Context,
        token: Annotated[str, Field(description="The token that plan_undo gave.")],
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(asked)],
    ) -> Done:
        """Take entries back as planned; the others stay. A person is asked about entries that someone else made."""
        with _report_faults():
            return desk.undo(token, who(context), _allow_after_answer(context, about, answer))


def _add_resources(server: MCPServer, desk: ProposalService) -> None:
    @server.resource("takeback://history", mime_type="application/json")
    def recent() -> str:
        """The last entries, newest first."""
        with _report_faults(ResourceError):
            return write_compact(
                read_history(desk, "", 100, None, "").model_dump(exclude={"entries": {"__all__": {"yours"}}})
            )

    @server.resource("takeback://entry/{name}", mime_type="application/json")
    def entry(name: str) -> str:
        """One entry by id or number: what it changed, its candidate and its evidence."""
        with _report_faults(ResourceError):
            found = read_entry(desk, name, "")
            del found["yours"]
            return write_compact(found)

    @server.prompt()
    def change_harness(goal: str) -> str:
        """How to change this harness so that the change can be taken back."""
        return explain_change(goal)


@contextmanager
def _report_faults(error: type[ToolError | ResourceError] = ToolError) -> Iterator[None]:
    try:
        yield
    except TakebackError as fault:
        raise error(mask_text_secrets(str(fault))) from fault


def _can_ask(context: Context) -> bool:
    found = context.client_capabilities
    asking = None if found is None else found.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


def _ask_person(context: Context, about: Question) -> Approval | Elicit[Approval]:
    if not about.reasons or not _can_ask(context):
        return Approval(approve=False)
    return Elicit(about.text, Approval)


def _allow_after_answer(
    context: Context, about: Question, answer: ElicitationResult[Approval]
) -> Callable[[Question], str]:
    """Return the objection to a request, given question and answer; the question is worked out anew."""

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


LOOPBACK: Final = "127.0.0.1"
SCOPE: Final = "harness"
SHORTEST: Final = 16
Tokens = Mapping[str, str]
"""Names of clients by token."""


class Bearers:
    """Tells whose a token is; compares every token in constant time."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = dict(tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a token's owner; None for an unknown token."""
        name = None
        for known, owner in self._tokens.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                name = owner
        return None if name is None else AccessToken(token=token, client_id=name, scopes=[SCOPE])


def make_token() -> str:
    """Return a new token."""
    return secrets.token_urlsafe(32)


def read_tokens(path: Path) -> Tokens:
    """Return the tokens in a file, one line each: TOKEN, or NAME TOKEN."""
    try:
        found = path.stat()
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise InputError(str(path), found=f"no readable file ({fault})", expected="a file with a token") from None
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        hint = f"chmod 600 {path}"
        raise InputError(
            str(path), found=f"mode {mode:04o}", expected="mode 0600: only its owner reads it", hint=hint
        )
    tokens: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        token = words[-1]
        if len(words) > 2 or len(token) < SHORTEST or token in tokens:  # noqa: PLR2004
            expected = f"TOKEN or NAME TOKEN, each token once and at least {SHORTEST} characters long"
            raise InputError(f"{path}: line {number}", found="something else", expected=expected)
        tokens[token] = words[0] if len(words) > 1 else ANYONE
    if not tokens:
        raise InputError(str(path), found="nothing in it", expected="a token")
    return tokens


def listen_on_loopback(port: int) -> socket.socket:
    """Return a socket on loopback; port 0 means any free one."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
    except OSError as fault:
        bound.close()
        raise InputError("--port", found=f"{port} ({fault.strerror})", expected="a port that is free") from None
    bound.listen()
    return bound


def serve_stdio(desk: ProposalService, session: str) -> None:
    """Serve one client on standard input and output, until it closes them."""
    build_mcp_server(desk, session).run("stdio")


def serve_http(desk: ProposalService, bound: socket.socket, tokens: Tokens) -> None:
    """Serve clients on a socket, until the process is stopped."""
    port = bound.getsockname()[1]
    names = [f"{host}:{port}" for host in (LOOPBACK, "localhost")]
    url = AnyHttpUrl(f"http://{names[0]}")
    auth = AuthSettings(
        issuer_url=url, resource_server_url=url, required_scopes=[SCOPE], validate_token_resource=False
    )
    server = build_mcp_server(desk, auth=auth, verifier=Bearers(tokens))
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = server.streamable_http_app(transport_security=security)
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False)
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[bound]))
