"""Real clients' harnesses: Claude Code, Codex, opencode, Gemini CLI, in the files they have anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.claude_code import claude_code
from takeback.adapters.clients.client import Client
from takeback.adapters.clients.codex import codex
from takeback.adapters.clients.gemini import gemini
from takeback.adapters.clients.layout import Member
from takeback.adapters.clients.opencode import opencode
from takeback.adapters.directory import Directory
from takeback.adapters.manifest import Manifest
from takeback.errors import InputError

CLIENTS: Final[dict[str, Callable[..., Client]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
    "gemini": gemini,
}


def members_of(kinds: list[str], *, user: bool, where: str = "kinds") -> tuple[Member, ...]:
    """The clients of a directory: the first has bare names."""
    members = []
    for at, kind in enumerate(kinds):
        if kind not in CLIENTS:
            raise InputError(where, found=kind, expected=f"one of {', '.join(CLIENTS)}")
        members.append(Member(CLIENTS[kind](user=user), kind if at else ""))
    return tuple(members)


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> ClientAdapter:
    """The adapter of a directory with clients' files."""
    del hold
    members = members_of(manifest.workspace.kinds, user=manifest.workspace.user, where=str(directory.root))
    return ClientAdapter(directory, members)


__all__ = ["CLIENTS", "ClientAdapter", "members_of", "open_adapter"]
