"""Real clients' harnesses, in the files they have anyway: a declaration for each client, and its name in `_ROOMS`.

A client's declaration, and what opens its files, are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from takeback.adapters.roots import HIDDEN
from takeback.errors import InputError

if TYPE_CHECKING:
    from takeback.adapters.clients.adapter import ClientAdapter
    from takeback.adapters.clients.client import Client
    from takeback.adapters.clients.layout import Member
    from takeback.adapters.directory import Directory
    from takeback.adapters.manifest import Manifest


def _load_on_demand(room: str, function: str) -> Callable[..., Client]:
    def declared(*, user: bool = False) -> Client:
        client: Any = getattr(import_module(f"takeback.adapters.clients.{room}"), function)(user=user)
        return client  # type: ignore[no-any-return]

    return declared


_ROOMS: Final = {
    "claude-code": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "gemini": "gemini",
    "copilot": "copilot",
    "vscode": "copilot",
    "qwen": "gemini",
    "kilo": "opencode",
    **dict.fromkeys(("cursor", "cline", "roo", "windsurf", "zed", "amp", "kiro", "openclaw"), "json_clients"),
    "langgraph": "repositories",
    **dict.fromkeys(("aider", "goose", "hermes", "crewai", "roomodes"), "yaml_clients"),
    "claude-plugin": "claude",
    "skills": "repositories",
    "agents-md": "repositories",
}
"""The module of each client, in which a function of its name declares it; clients are looked for in this order."""
CLIENTS: Final[dict[str, Callable[..., Client]]] = {
    **{name: _load_on_demand(room, name.replace("-", "_")) for name, room in _ROOMS.items()},
    "continue": _load_on_demand("yaml_clients", "continue_dev"),  # a word of Python's own
}


def build_members(kinds: list[str], *, user: bool, where: str = "kinds") -> tuple[Member, ...]:
    """Return the clients of a directory; the names of the first have no prefix."""
    from takeback.adapters.clients.layout import Member  # noqa: PLC0415 - it needs the whole state

    members = []
    for at, kind in enumerate(kinds):
        if kind not in CLIENTS:
            raise InputError(where, found=kind, expected=f"one of {', '.join(CLIENTS)}")
        members.append(Member(CLIENTS[kind](user=user), kind if at else ""))
    return tuple(members)


def build_own_member(manifest: Manifest, members: Sequence[Member], where: str) -> Member:
    """Return the documents of one's own that a manifest names, as one more client with bare names."""
    from takeback.adapters.clients.layout import Member  # noqa: PLC0415 - it needs the whole state
    from takeback.adapters.clients.own_documents import declare_documents  # noqa: PLC0415 - only where there are any

    return Member(declare_documents(manifest.documents, [member.client for member in members], where))


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> ClientAdapter:
    """Return the adapter of a directory with clients' files."""
    from takeback.adapters.clients.adapter import ClientAdapter  # noqa: PLC0415 - it needs the whole state

    del hold
    where = str(directory.root)
    members = build_members(manifest.workspace.kinds, user=manifest.workspace.user, where=where)
    if manifest.documents:
        members = (*members, build_own_member(manifest, members, str(directory.root / HIDDEN)))
    return ClientAdapter(directory, members, ask=manifest.workspace.ask_client)


__all__ = ["CLIENTS", "build_members", "build_own_member", "open_adapter"]
