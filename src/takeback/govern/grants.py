"""The policy's verbs as grants and row security of a journal in PostgreSQL, whatever program a role uses.

The owner of the schema may everything, as the server has it. Nobody else may change or delete a record; which kinds
of records a role may add, and whether it may take back what others made, stands in its policy on `records`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from psycopg import sql

from takeback.errors import InputError, JournalError
from takeback.govern.policy import Policy
from takeback.govern.roles import Principal, Verb
from takeback.journal.postgres import PostgresStore
from takeback.journal.record import ENTRY_KINDS

TOGGLES: Final = ("undo", "redo", "restore")
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
PREFIX: Final = "takeback "
"""Begins the names of row policies that are made here."""
_OWN: Final = """
CREATE OR REPLACE FUNCTION {schema}.is_own(payload text) RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog AS $$
  SELECT coalesce(payload::json ->> 'by', '') = 'database:' || session_user
  OR starts_with(coalesce(payload::json ->> 'by', ''), 'database:' || session_user || ', says ') $$
"""
_OWN_TOGGLE: Final = """
CREATE OR REPLACE FUNCTION {schema}.is_own_toggle(payload text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
  SELECT NOT EXISTS (SELECT 1 FROM {schema}.records r WHERE NOT {schema}.is_own(r.payload) AND r.entry::text IN (
    SELECT json_array_elements_text(coalesce($1::json -> 'off', '[]'))
    UNION ALL SELECT json_array_elements_text(coalesce($1::json -> 'on', '[]')))) $$
"""
_CHECK: Final = """kind = ANY({kinds}) AND (kind <> ALL({signed}) OR {schema}.is_own(payload))
  AND ({force} OR kind <> 'apply' OR coalesce(payload::json ->> 'forced', 'false') <> 'true')
  AND ({others} OR kind <> ALL({toggles}) OR {schema}.is_own_toggle(payload))"""


@dataclass(frozen=True, slots=True)
class Rights:
    """What a database role may do to a journal, beside reading it."""

    kinds: frozenset[str] = frozenset()
    """The kinds of records it may add."""
    force: bool = False
    """Whether it may add changes that were not admitted."""
    others: bool = False
    """Whether it may take back and bring back what others made."""
    erase: bool = False
    """Whether it may delete contents."""


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


def grant_rights(store: PostgresStore, rights: Mapping[str, Rights], *, dry: bool = False) -> list[str]:
    """Give each database role its rights, and take all from every other role; return the statements.

    With `dry`, nothing is done.
    """
    known = {str(row[0]) for row in store.run("SELECT rolname FROM pg_roles")}
    for role in sorted(rights.keys() - known):
        raise InputError(role, found="no role of the database", expected="one that CREATE ROLE made")
    statements = list(_build_statements(store, rights))
    texts = [statement.as_string(None) for statement in statements]
    if dry:
        return texts
    owns = store.run("SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = ?", (store.schema,))
    if not owns[0][0]:
        raise JournalError(
            f"only the owner of the schema {store.schema} can grant rights on it; nothing was changed",
            hint="open the journal as its owner, or give what --plan prints to whoever is",
        )
    with store.transaction():
        for text in texts:
            store.execute_plain(text)
    return texts


def _build_statements(store: PostgresStore, rights: Mapping[str, Rights]) -> Iterator[sql.Composed]:
    schema = sql.Identifier(store.schema)
    for (name,) in store.run(
        "SELECT policyname FROM pg_policies WHERE schemaname = ? AND tablename = 'records' AND policyname LIKE ? "
        "ORDER BY policyname",
        (store.schema, f"{PREFIX}%"),
    ):
        yield sql.SQL("DROP POLICY {} ON {}.records").format(sql.Identifier(str(name)), schema)
    for (role,) in store.run(
        "SELECT DISTINCT a.grantee::regrole::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, "
        "aclexplode(c.relacl) a WHERE n.nspname = ? AND a.grantee <> c.relowner AND a.grantee <> 0 ORDER BY 1",
        (store.schema,),
    ):
        yield from _take_rights(schema, sql.SQL(str(role)))
    yield from _take_rights(schema, sql.SQL("PUBLIC"))
    yield sql.SQL(_OWN).format(schema=schema)
    yield sql.SQL(_OWN_TOGGLE).format(schema=schema)
    yield sql.SQL("ALTER TABLE {}.records ENABLE ROW LEVEL SECURITY").format(schema)
    yield sql.SQL("CREATE POLICY {} ON {}.records FOR SELECT USING (true)").format(
        sql.Identifier(f"{PREFIX}read"), schema
    )
    for role, may in sorted(rights.items()):
        yield from _give_rights(schema, role, may)


def _take_rights(schema: sql.Identifier, role: sql.SQL) -> Iterator[sql.Composed]:
    yield sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(schema, role)
    yield sql.SQL("REVOKE ALL ON SCHEMA {} FROM {}").format(schema, role)


def _give_rights(schema: sql.Identifier, name: str, may: Rights) -> Iterator[sql.Composed]:
    role = sql.Identifier(name)
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role)
    yield sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(schema, role)
    if not may.kinds:
        return
    tables = ("records", "contents", "pieces", "touches", "touched_keys", "touched_buckets")
    yield _grant("INSERT", schema, tables, role)
    yield _grant("UPDATE", schema, ("touched_keys", "touched_buckets"), role)
    if may.erase:
        yield _grant("UPDATE, DELETE", schema, ("contents", "pieces"), role)
        yield _grant("UPDATE", schema, ("about",), role)
    check = sql.SQL(_CHECK).format(
        schema=schema,
        kinds=_write_array(may.kinds),
        signed=_write_array(ENTRY_KINDS - {"genesis"}),
        toggles=_write_array(TOGGLES),
        force=sql.SQL("true" if may.force else "false"),
        others=sql.SQL("true" if may.others else "false"),
    )
    yield sql.SQL("CREATE POLICY {} ON {}.records FOR INSERT TO {} WITH CHECK ({})").format(
        sql.Identifier(f"{PREFIX}add {name}"), schema, role, check
    )


def _grant(what: str, schema: sql.Identifier, tables: tuple[str, ...], role: sql.Identifier) -> sql.Composed:
    named = sql.SQL(", ").join(sql.SQL("{}.{}").format(schema, sql.Identifier(table)) for table in tables)
    return sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(what), named, role)


def _write_array(words: frozenset[str] | tuple[str, ...]) -> sql.Composed:
    return sql.SQL("ARRAY[{}]").format(sql.SQL(", ").join(map(sql.Literal, sorted(words))))
