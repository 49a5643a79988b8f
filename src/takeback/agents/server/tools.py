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
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import AnyHttpUrl, BaseModel, BeforeValidator, Field, ValidationError

from takeback import __version__
from takeback.adapters.sockets import LOOPBACK
from takeback.agents.server.answers import (
    MOST_LINES,
    DiffAnswer,
    Done,
    HistoryPage,
    Planned,
    Proposed,
    Question,
    Sent,
    StateAnswer,
    StatusAnswer,
)
from takeback.agents.server.corrections import CorrectedCall, correct_arguments, correct_names
from takeback.agents.server.lookups import (
    read_diff,
    read_entry,
    read_history,
    read_state,
    read_status,
)
from takeback.agents.server.service import ProposalService
from takeback.canonical import write_compact
from takeback.errors import InputError, TakebackError
from takeback.harness.entry_names import read_time
from takeback.language.oneline import list_things
from takeback.present.visible import escape_invisible
from takeback.secret_mask import mask_text_secrets
from takeback.state import SURFACES

INSTRUCTIONS: Final = (
    "Changes of this agent's own harness (settings, prompts, tools, hooks, files) that can be undone. Look with "
    "harness_state, have a change checked with propose_change, make it with apply_change and the token. "
    "plan_undo and undo take back any entry, whatever came after it; redo brings it back. "
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


READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
CHANGES: Final = READS.model_copy(update={"read_only_hint": False})
"""A change that was admitted destroys nothing: it can be taken back. The same token twice changes nothing more."""
TAKES_BACK: Final = CHANGES.model_copy(update={"destructive_hint": True})
"""An undo removes what an entry made, though that can be brought back."""


GRAMMAR: Final = """One change per line: VERB THING NAME [VALUE] [OPTIONS], quoted as in a shell.
set THING NAME VALUE · add THING NAME VALUE · remove THING NAME · move middleware|listener|file NAME …
edit prompt|file NAME --old TEXT --new TEXT (TEXT stands there once) | --append TEXT
set config NAME+ ITEM adds to a list, NAME- ITEM removes from it
THING: {things}. NAME: as in harness_state, config["a.b"] is config a.b
VALUE: JSON in config, else text; or --json JSON, --text TEXT
Place: --before|--after OTHER, --index N, --priority N. File: --mode 0755
Examples: set config cleanupPeriodDays 30 · set config permissions.deny+ 'Bash(rm:*)' ·
edit prompt CLAUDE.md --old 'two spaces' --new 'four spaces' · add tool mcp:docs --json '{{"command": "docs"}}'"""
"""The grammar of one-line changes, for the description of the argument."""


def read_texts(given: Any) -> Any:
    """Return texts as a list: one alone becomes a list, a number its digits."""
    items = given if isinstance(given, list) else [given]
    return [str(item) if type(item) is int else item for item in items]


def _read_text(given: Any) -> Any:
    return str(given) if type(given) is int else given


Names = Annotated[list[str], BeforeValidator(read_texts)]


class CorrectingServer(MCPServer):
    """A server that answers a call that fails with one that works."""

    def __init__(self, desk: ProposalService, **settings: Any) -> None:
        super().__init__("takeback", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR", **settings)
        self._desk = desk

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; a fault names the call to send instead."""
        tool = next((known for known in self._tool_manager.list_tools() if known.name == name), None)
        if tool is None:
            known = [known.name for known in self._tool_manager.list_tools()]
            raise ToolError(f"there is no tool {name}, only {', '.join(known)}\n{self._correct(name, arguments)}")
        problem = _check_arguments(tool, arguments)
        if problem:
            raise ToolError(f"{problem}\n{self._correct(name, arguments)}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as fault:
            if not isinstance(fault.__cause__, TakebackError):
                raise
            message = _describe_fault(fault.__cause__)
        except ToolError as fault:
            message = str(fault).removeprefix(f"Error executing tool {name}: ")
        raise ToolError(f"{message}\n{self._correct(name, arguments)}")

    def _correct(self, name: str, arguments: dict[str, Any]) -> CorrectedCall:
        """Return a call near one that failed, which works."""
        tools = {tool.name: tool for tool in self._tool_manager.list_tools()}
        known = name if name in tools else correct_names(name, list(tools)) or "status"
        fixed = correct_arguments(tools[known].parameters, arguments)
        if known == "propose_change":
            return self._desk.correct_proposal(fixed)
        if known == "apply_change":
            return self._desk.give_example()
        if known in {"plan_undo", "undo"}:
            return self._desk.name_newest()
        if known in {"redo", "diff"}:
            return self._desk.name_newest(known)
        for moment in ("since", "until"):
            if moment in fixed and not _is_time(fixed[moment]):
                fixed[moment] = "yesterday" if moment == "since" else "1h ago"
        return CorrectedCall(known, fixed)


def _is_time(text: str) -> bool:
    try:
        read_time(text, datetime.now(UTC))
    except TakebackError:
        return False
    return True


def _check_arguments(tool: Tool, arguments: dict[str, Any]) -> str:
    """Return what is wrong with a tool's arguments, in plain words; nothing where they fit."""
    properties = tool.parameters.get("properties", {})
    strange = [name for name in arguments if name not in properties]
    if strange:
        return f"{tool.name} has no argument {', '.join(strange)}, only {', '.join(properties) or 'none at all'}"
    try:
        tool.fn_metadata.validate_arguments(arguments)
    except ValidationError as fault:
        errors = [
            f"{'.'.join(map(str, error['loc']))}: {error['msg'][:1].lower()}{error['msg'][1:]}"
            for error in fault.errors()
        ]
        return f"{tool.name}: {'; '.join(errors)}"
    return ""


def shorten_schema(schema: Any, *, bare: bool) -> Any:
    """Return a schema without titles and, if `bare`, without descriptions and defaults: the same values fit."""
    if isinstance(schema, list):
        return [shorten_schema(item, bare=bare) for item in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = {"title", "description", "default"} if bare else {"title"}
    short: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"properties", "$defs"}:
            short[key] = {name: shorten_schema(inner, bare=bare) for name, inner in value.items()}
        elif key not in left_out:
            short[key] = shorten_schema(value, bare=bare)
    return short


def _shorten_tools(server: CorrectingServer) -> None:
    """Leave out of the tools' schemas what says nothing to a model."""
    for tool in server._tool_manager.list_tools():  # noqa: SLF001 - the SDK has no other way to its own schemas
        tool.parameters = shorten_schema(tool.parameters, bare=False)
        if tool.fn_metadata.output_schema is not None:
            tool.fn_metadata.output_schema = _outline_answer(tool.fn_metadata.output_schema)


def _outline_answer(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a model needs of an answer's schema: its fields, and the outcomes there are."""
    fields = {
        name: {"enum": field["enum"]} if "enum" in field else {}
        for name, field in schema.get("properties", {}).items()
    }
    return {"type": "object", "properties": fields}


class Approval(BaseModel):
    """A person's answer."""

    approve: bool = Field(description="Whether to do this.")


def build_mcp_server(
    desk: ProposalService,
    session: str | None = None,
    *,
    auth: AuthSettings | None = None,
    verifier: TokenVerifier | None = None,
) -> MCPServer:
    """Build the server over a service. `session` signs the entries of its one client, where there is only one."""
    server = CorrectingServer(desk, auth=auth, token_verifier=verifier)

    def who(context: Context) -> str:
        return build_signature(context, session)

    _add_reading_tools(server, desk, who)
    _add_changing_tools(server, desk, who)
    _add_undo_tools(server, desk, who)
    _add_redo_tool(server, desk, who)
    _add_resources(server, desk)
    _shorten_tools(server)
    return server


Who = Callable[[Context], str]


def _add_reading_tools(server: MCPServer, desk: ProposalService, who: Who) -> None:
    @server.tool(annotations=READS)
    def harness_state(
        surfaces: Annotated[
            list[str], Field(description="Only these.", json_schema_extra={"items": {"enum": list(SURFACES)}})
        ] = [],  # noqa: B006
        match: Annotated[str, Field(description="Only addresses or names that match, with * and ?.")] = "",
        limit: Annotated[int, Field(ge=1, le=500)] = 100,
        offset: Annotated[int, Field(ge=0)] = 0,
        *,
        context: Context,
    ) -> StateAnswer:
        """Show the harness: settings, prompts, routing, tools, hooks, files. Secrets are masked."""
        return read_state(desk, surfaces, match, limit, offset, who(context))

    @server.tool(annotations=READS)
    def history(
        context: Context,
        limit: Annotated[int, Field(ge=1, le=500)] = 20,
        before: Annotated[int | None, Field(description="Only entries with a lower number.")] = None,
        text: Annotated[str, Field(description="Only entries with this in id, kind, maker or summary.")] = "",
        by: Annotated[str, Field(description="Only by this author, or part of the name.")] = "",
        since: Annotated[str, Field(description="Only from then on: 2h ago, yesterday, or ISO 8601.")] = "",
        until: Annotated[str, Field(description="Only up to then.")] = "",
    ) -> HistoryPage:
        """List entries, newest first: what was changed, by whom, on what evidence, and what became of it."""
        return read_history(desk, who(context), limit, before, text, by=by, since=since, until=until)

    @server.tool(annotations=READS)
    def diff(
        context: Context,
        entry: Annotated[str, BeforeValidator(_read_text), Field(description="Number, id or HEAD.")],
    ) -> DiffAnswer:
        """Show what one entry changed, as a unified diff, and the prompt behind it."""
        return read_diff(desk, entry, who(context))

    @server.tool(annotations=READS)
    def status(context: Context) -> StatusAnswer:
        """Say how the harness stands: entries, what was changed outside Takeback, problems."""
        return read_status(desk, who(context))


def _add_changing_tools(server: MCPServer, desk: ProposalService, who: Who) -> None:
    @server.tool(annotations=READS)
    def propose_change(
        context: Context,
        lines: Annotated[
            Names,
            Field(description=GRAMMAR.format(things=", ".join(list_things("set"))), max_length=MOST_LINES),
        ] = [],  # noqa: B006
        mutation: Annotated[list[dict[str, Any]], Field(description="Or operations instead of lines.")] = [],  # noqa: B006
        witness: Annotated[
            list[dict[str, Any]] | None, Field(description="What to capture before the change; optional.")
        ] = None,
        recovery: Annotated[
            list[dict[str, Any]] | None, Field(description="How to undo the change; optional.")
        ] = None,
        contract: dict[str, Any] | None = None,
        note: Annotated[str, Field(max_length=2000, description="Why, for the log.")] = "",
    ) -> Proposed:
        """Have a change judged: can it be taken back on every state? Nothing is changed.

        Answers the verdict, the smallest state that breaks a recovery, a repaired candidate where there is one, and
        a token for apply_change.
        """
        return desk.propose(Sent(lines, mutation, witness, recovery, contract, note), who(context))

    def question(context: Context, token: str) -> Question:
        return desk.question_of_change(token, who(context))

    ask = _ask_person(question)

    @server.tool(annotations=CHANGES)
    def apply_change(
        context: Context,
        token: Annotated[str, Field(description="The token that propose_change gave.")],
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(ask)],
    ) -> Done:
        """Make a change that was admitted, by its token. A person is asked where it loosens a guard."""
        return desk.apply(token, who(context), _allow_after_answer(context, about, answer))


def _add_undo_tools(server: MCPServer, desk: ProposalService, who: Who) -> None:
    @server.tool(annotations=READS)
    def plan_undo(
        context: Context,
        entries: Annotated[Names, Field(min_length=1, description="Numbers, ids or HEAD.")],
        cascade: Annotated[bool, Field(description="Include the blocking entries.")] = False,
    ) -> Planned:
        """Show what taking entries back would do, whatever came after them, with a token for undo."""
        return desk.plan_undo(entries, who(context), cascade=cascade)

    def question(context: Context, token: str) -> Question:
        return desk.question_of_undo(token, who(context))

    ask = _ask_person(question)

    @server.tool(annotations=TAKES_BACK)
    def undo(
        context: Context,
        token: Annotated[str, Field(description="The token that plan_undo gave.")],
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(ask)],
    ) -> Done:
        """Take entries back as planned; the others stay. A person is asked about entries that someone else made."""
        return desk.undo(token, who(context), _allow_after_answer(context, about, answer))


def _add_redo_tool(server: MCPServer, desk: ProposalService, who: Who) -> None:
    def question(context: Context, entries: list[str]) -> Question:
        return desk.question_of_redo(entries, who(context))

    ask = _ask_person(question)

    @server.tool(annotations=CHANGES)
    def redo(
        context: Context,
        about: Annotated[Question, Resolve(question)],
        answer: Annotated[ElicitationResult[Approval], Resolve(ask)],
        entries: Annotated[Names, Field(description="Entries that were undone; none: the latest undo.")] = [],  # noqa: B006
    ) -> Done:
        """Bring back entries that were undone. A person is asked about what someone else undid."""
        return desk.redo(entries, who(context), _allow_after_answer(context, about, answer))


def _add_resources(server: MCPServer, desk: ProposalService) -> None:
    @server.resource("takeback://history", mime_type="application/json")
    def recent() -> str:
        """The last entries, newest first."""
        with _report_faults():
            return write_compact(
                read_history(desk, "", 100, None, "").model_dump(exclude={"entries": {"__all__": {"yours"}}})
            )

    @server.resource("takeback://entry/{name}", mime_type="application/json")
    def entry(name: str) -> str:
        """One entry by id or number: what it changed, its candidate and its evidence."""
        with _report_faults():
            answer = read_entry(desk, name, "")
            del answer["yours"]
            return write_compact(answer)

    @server.prompt()
    def change_harness(goal: str) -> str:
        """How to change this harness so that the change can be taken back."""
        return explain_change(goal)


@contextmanager
def _report_faults() -> Iterator[None]:
    try:
        yield
    except TakebackError as fault:
        raise ResourceError(_describe_fault(fault)) from fault


def _describe_fault(fault: TakebackError) -> str:
    return mask_text_secrets(str(fault)).replace("'takeback log'", "history")


def _can_ask(context: Context) -> bool:
    capabilities = context.client_capabilities
    asking = None if capabilities is None else capabilities.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


def _ask_person(question: Callable[..., Question]) -> Callable[..., Approval | Elicit[Approval]]:
    """Return what asks a person a question that is worked out first, where there are reasons to and a client can."""

    def ask(context: Context, about: Annotated[Question, Resolve(question)]) -> Approval | Elicit[Approval]:
        if not about.reasons or not _can_ask(context):
            return Approval(approve=False)
        return Elicit(about.text, Approval)

    return ask


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
            return f"the harness changed while a person was asked; nothing was done, try again: {reasons}"
        if isinstance(answer, AcceptedElicitation) and answer.data.approve:
            return ""
        return f"a person was asked and declined: {reasons}"

    return objection


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
        facts = path.stat()
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise InputError(str(path), found=f"no readable file ({fault})", expected="a file with a token") from None
    mode = stat.S_IMODE(facts.st_mode)
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
