"""What the policy's verbs mean as rights of database roles, where the journal is in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from takeback.govern.policy import Policy
from takeback.govern.roles import Principal, Verb
from takeback.journal.postgres_grants import TOGGLES, Rights

DATABASE: Final = "database"
NOTED: Final = frozenset({"adopt", "commit", "abort", "checkpoint", "evidence"})
"""What whoever may write at all may add: what happened already, and how a change ended."""
KINDS: Final = {
    Verb.APPLY: {"apply", "salvage", "step", *TOGGLES},
    Verb.UNDO_OTHERS: {*TOGGLES, "salvage"},
    Verb.OVER: {"discard"},
    Verb.FORGET: {"forget", "hold", "label"},
    Verb.RESOLVE: {"step"},
}
"""The kinds of records that a verb lets a role add."""


def list_rights(policy: Policy) -> dict[str, Rights]:
    """Return the rights of each database role that a policy names; a role that may not read has none."""
    roles = policy.roles
    if roles is None:
        return {}
    rights: dict[str, Rights] = {}
    for principal in roles.who:
        kind, _, name = principal.partition(":")
        may = {verb for verb in Verb if roles.allows(Principal(kind, name), verb)}
        if kind == DATABASE and Verb.READ in may:
            rights[name] = _build_rights(may, forgets_images=policy.capture is not None)
    return rights


def _build_rights(may: Iterable[Verb], *, forgets_images: bool) -> Rights:
    verbs = set(may)
    kinds = {kind for verb in verbs for kind in KINDS.get(verb, ())}
    erase = Verb.FORGET in verbs or (forgets_images and Verb.APPLY in verbs)
    kinds |= NOTED if kinds else set()
    kinds |= {"forget"} if erase else set()
    return Rights(frozenset(kinds), Verb.FORCE in verbs, Verb.UNDO_OTHERS in verbs, erase)
