"""A harness with a policy: every request of the command line, server, page, hooks and programs passes here first.

It decides by `roles`, notes reads by `audit`, and signs entries with who was verified, so that nobody can undo
another's entry as their own by saying another name.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import DeniedError
from takeback.govern.audit import AuditChain
from takeback.govern.policy import POLICY, Policy, read_policy
from takeback.govern.roles import AGENT, Principal, Verb
from takeback.harness.harness import Harness
from takeback.harness.outcomes import (
    Adopted,
    Applied,
    Discarded,
    PlanOutcome,
    Preview,
    Refused,
    Unchanged,
    UndoOutcome,
)
from takeback.journal import Record, Store
from takeback.lazy_names import load_later
from takeback.state.slots import Slot, describe_slot, find_containing_slot
from takeback.undo import Plan

if TYPE_CHECKING:
    from takeback.harness import entry_names
    from takeback.harness.apply import Given
    from takeback.harness.calls import CallApproval
    from takeback.harness.calls_steps import OpenStep
    from takeback.harness.entry_names import EntryRef
    from takeback.harness.forget import Forgetting
    from takeback.harness.harness import ToggleReader
    from takeback.harness.toggle import ToggleAsk
else:
    (entry_names,) = load_later(globals(), "takeback.harness", "entry_names")

MOST_ENTRIES: Final = 50
"""So many entries of a plan are named in a note."""


@dataclass(frozen=True, slots=True)
class Governance:
    """What binds one opening of a workspace."""

    policy: Policy
    principal: Principal
    chain: AuditChain | None
    """Where reads are noted; None where they are not, or nothing may be written."""


def find_governance(
    root: Path, token: str | None, anchor: Path | None, store: Store, *, readonly: bool
) -> Governance | None:
    """Return what binds whoever opens a workspace; None where no policy says anything of roles or reads."""
    if not os.path.lexists(root / POLICY):
        return None
    policy = read_policy(root)
    if policy.roles is None and not policy.audit:
        return None
    chain = AuditChain(root, anchor) if policy.audit and not readonly else None
    return Governance(policy, _find_principal(policy, token, store), chain)


def _find_principal(policy: Policy, token: str | None, store: Store) -> Principal:
    """Return who this process is: by its token, by its role in the journal's database, or by its Unix user."""
    if token and policy.roles is not None:
        return policy.roles.find_token(token)
    role = getattr(store, "database_role", "")
    if role:
        return Principal("database", role)
    number = os.getuid()
    try:
        return Principal("user", pwd.getpwuid(number).pw_name)
    except KeyError:
        return Principal("user", str(number))


class GovernedHarness(Harness):
    """A harness that asks its policy first whether this principal may, and signs entries with who was verified."""

    _agent: str = ""

    def __init__(self, *given: Any, governance: Governance, **how: Any) -> None:
        self.governance = governance
        super().__init__(*given, **how)

    def treat_as_agent(self, name: str) -> None:
        self._agent = name or "unnamed"

    def require(self, verb: str, by: str = "") -> None:
        """Raise `DeniedError` where the policy does not let this principal do that."""
        roles = self.governance.policy.roles
        if roles is not None:
            roles.require(self._find_principal(by), Verb(verb))

    def note_read(self, way: str, entry: str = "", slots: Iterable[Slot | str] | None = None, by: str = "") -> None:
        """Refuse reading contents, or note who reads which slots of which entry; never what they hold."""
        self.require(Verb.READ, by)
        self._note(way, entry, slots, by)

    def _note(self, way: str, entry: str, slots: Iterable[Slot | str] | None, by: str) -> None:
        chain = self.governance.chain
        if chain is not None:
            names = ["*"] if slots is None else list(dict.fromkeys(map(_name_slot, slots)))
            chain.append(str(self._find_principal(by)), way, entry, names)

    def name_author(self, by: str) -> str:
        """Return the verified name, with what else was said; an agent's begins so that it is nobody else's."""
        if self.governance.policy.roles is None:
            return by
        principal = self._find_principal(by)
        if by in {"", principal.name, str(principal)} or not principal.verified:
            return str(principal)
        return by if by.startswith(f"{principal}, says ") else f"{principal}, says {by}"

    def _find_principal(self, by: str) -> Principal:
        return (
            Principal(AGENT, by.removeprefix(f"{AGENT}:") or self._agent)
            if self._agent
            else self.governance.principal
        )

    def _require_own(self, records: Iterable[Record], by: str) -> None:
        """Refuse taking back or bringing back what others made, unless the policy allows that too."""
        if self.governance.policy.roles is None:
            return
        principal = self._find_principal(by)
        said = f"{principal}, says " if principal.verified else None
        own = all(r.by == str(principal) or (said is not None and r.by.startswith(said)) for r in records)
        self.require(Verb.APPLY if own else Verb.UNDO_OTHERS, by)

    def _require_toggle(self, ask: ToggleAsk, by: str, *, cascade: bool, over: bool = False) -> None:
        """Refuse a request that would take back or bring back what this principal may not; the lock is held."""
        if over:
            self.require(Verb.OVER, by)
        if self.governance.policy.roles is None:
            return
        plan = super()._plan(lambda ledger, _: ask(ledger), (), (cascade, False, over))
        asked = ask(self.ledger)
        numbers = {*asked[0], *asked[1], *((*plan.off, *plan.on) if isinstance(plan, Plan) else ())}
        self._require_own(map(self.journal.get, sorted(numbers)), by)

    def apply(
        self, candidate: Given, *, force: bool = False, by: str = "", approval: CallApproval | None = None, **how: Any
    ) -> Applied | Refused:
        self.require(Verb.APPLY, by)
        if force:
            self.require(Verb.FORCE, by)
        if approval is not None:
            self.require(Verb.APPROVE, by)
        return super().apply(candidate, force=force, by=self.name_author(by), approval=approval, **how)

    def preview(self, candidate: Given, **how: Any) -> Preview | Refused:
        """Return what `apply` would do, if the policy lets this principal propose changes."""
        self.require(Verb.PROPOSE)
        preview = super().preview(candidate, **how)
        if isinstance(preview, Preview):
            self._note("preview", "", [write.slot for write in preview.changes], "")
        return preview

    def _plan(self, ask: ToggleReader, entries: tuple[EntryRef, ...], how: tuple[bool, bool, bool]) -> PlanOutcome:
        """Return what a request would do, if the policy lets this principal read."""
        self.require(Verb.READ)
        plan = super()._plan(ask, entries, how)
        if isinstance(plan, Plan):
            ids = ",".join(self.journal.get(number).id for number in (*plan.off, *plan.on)[:MOST_ENTRIES])
            self._note("plan", ids, [change.slot for change in plan.changes], "")
        return plan

    def undo(
        self, *entries: EntryRef, cascade: bool = False, over: bool = False, by: str = "", **how: Any
    ) -> UndoOutcome:
        with self._engine.session():
            record = None
            if len(entries) == 1:
                self.ledger.refresh()
                record = entry_names.resolve_entry_ref(self.ledger, entries[0])
            if record is not None and record.kind == "discard":
                self._require_own([record], by)
            else:
                ask = partial(
                    entry_names.build_undo_request, entries=entries, asked=entry_names.name_entries(entries)
                )
                self._require_toggle(ask, by, cascade=cascade, over=over)
            return super().undo(*entries, cascade=cascade, over=over, by=self.name_author(by), **how)

    def redo(self, *entries: EntryRef, cascade: bool = False, by: str = "", **how: Any) -> UndoOutcome:
        with self._engine.session():
            ask = partial(entry_names.build_redo_request, names=entry_names.name_entries(entries))
            self._require_toggle(ask, by, cascade=cascade)
            return super().redo(*entries, cascade=cascade, by=self.name_author(by), **how)

    def restore(self, to: EntryRef, *, by: str = "", **how: Any) -> UndoOutcome | Unchanged:
        with self._engine.session():
            self._require_toggle(
                partial(entry_names.build_restore_request, name=entry_names.name_entry(to)), by, cascade=False
            )
            return super().restore(to, by=self.name_author(by), **how)

    def undo_files(
        self,
        matches: Callable[[str], bool],
        *entries: EntryRef,
        planning: bool = False,
        by: str = "",
        **how: Any,
    ) -> Plan | Adopted | UndoOutcome:
        with self._engine.session():
            if planning:
                self.require(Verb.READ, by)
            else:
                ask = partial(
                    entry_names.build_undo_request, entries=entries, asked=entry_names.name_entries(entries)
                )
                self._require_toggle(ask, by, cascade=False)
            done = super().undo_files(matches, *entries, planning=planning, by=self.name_author(by), **how)
        if planning and isinstance(done, Plan):
            self._note("plan", "", [change.slot for change in done.changes], by)
        return done

    def salvage(self, *entries: EntryRef, by: str = "") -> Adopted | UndoOutcome:
        """Put back what is left of an undo, if the policy lets this principal: it asks as for the undo."""
        return super().salvage(*entries, by=self.name_author(by))

    def adopt(self, note: str = "", *, by: str = "", **how: Any) -> Adopted | Refused | None:
        """Take in what others changed. Nobody is refused that: it records what is so already."""
        return super().adopt(note, by=self.name_author(by), **how)

    def discard(
        self, paths: Sequence[str] = (), note: str = "", *, by: str = "", **how: Any
    ) -> Discarded | Refused | None:
        """Put files back, if the policy lets this principal write over what others wrote."""
        self.require(Verb.OVER, by)
        return super().discard(paths, note, by=self.name_author(by), **how)

    def forget(self, *entries: EntryRef, dry: bool = False) -> Forgetting:
        self.require(Verb.FORGET)
        return super().forget(*entries, dry=dry)

    def forget_value(self, value: str | bytes, *, dry: bool = False) -> Forgetting:
        self.require(Verb.FORGET)
        return super().forget_value(value, dry=dry)

    def forget_subject(self, subject: str, *, dry: bool = False) -> Forgetting:
        self.require(Verb.FORGET)
        return super().forget_subject(subject, dry=dry)

    def resolve(self, entry: EntryRef, step: int, *, made: bool, by: str) -> tuple[OpenStep, ...]:
        self.require(Verb.RESOLVE, by)
        return super().resolve(entry, step, made=made, by=self.name_author(by))


def _name_slot(slot: Slot | str) -> str:
    """Return the name of a slot, or of the text or list it is a part of: parts may be named by what they hold."""
    return slot if isinstance(slot, str) else describe_slot(find_containing_slot(slot))


def why_agent_denied(root: Path, name: str) -> str:
    """Return why the policy of a workspace does not let an agent change it; empty where it does or says nothing."""
    if not os.path.lexists(root / POLICY):
        return ""
    roles = read_policy(root).roles
    if roles is None:
        return ""
    try:
        roles.require(Principal(AGENT, name), Verb.APPLY)
    except DeniedError as fault:
        return fault.message
    return ""
