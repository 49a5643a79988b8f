"""Entries as journal records, and back.

A change record names the slots it wrote in `touches` (which the journal indexes); what they held before and
after, and the values in its candidate, are contents, which can be forgotten. A record that takes entries back
or brings them back lists them in `off` and `on`, and what it does to the state in `slots`, which is not
indexed: it is no version.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import KEYS_HINT, JournalCorruptError, JournalError, MissingKeysError
from takeback.harness.late_contents import LateContents, can_read_late, defer_files
from takeback.harness.pack import Packer, Unpacker
from takeback.journal import Content, Draft, Leaf, Record, Ref, Store, Stored, Tree, make_leaf
from takeback.journal.content import FORGOTTEN, Json, guard_against_corruption, is_redacted
from takeback.journal.store import keyless_of
from takeback.state import ABSENT, SURFACES
from takeback.state.address import is_part
from takeback.state.file import File
from takeback.state.forgotten import FORGOTTEN_VALUE, find_redacted, find_seal
from takeback.state.slots import (
    Slot,
    describe_slot,
    find_containing_slot,
    format_slot_key,
    is_slot_key,
    parse_slot_key,
)
from takeback.undo.index import START, list_write_claims

if TYPE_CHECKING:
    from takeback.language import Candidate
    from takeback.undo import SlotChange, Write

CLAIM = "@"
CALL: Final = "call"
"""The content that holds what a person or an agent said for a recorded change: its command, its prompt."""
TAKEN_IN: Final = "taken_in"
"""In a payload, the slots that an entry took in; under the same name, what was there."""
TAKEN_IN_KEY: Final = format_slot_key(("@takes in",))
"""The index key of every entry that took anything in."""
STORED_START: Final = [-1, 0]
"""How a record says that a parent write was there from the start."""
FORGOTTEN_WORD = "(forgotten)"
REDACTED_WORD = "(redacted)"
SEALED_WORD = "(sealed: {seal})"
UNREADABLE_WORD = "(its surface is not installed)"
PLAIN_FIELDS: Final = frozenset({"op_type", "target", "witness_key", "index", "priority"})
"""What of an operation is no value: it names things, and stays."""
SUMMARY: Final = ("admitted", "grade", "rule", "language", "splits", "classes", "when", "steps", "class", "stays")
"""What of a verdict holds no value."""
PENDING: Final = "pending"
"""Why a recorded change has no evidence that is to be proved by the next command: a later record holds it then."""


def draft_change(
    kind: str,
    writes: Sequence[Write],
    about: Mapping[str, Any],
    *,
    packer: Packer | None = None,
    taken_in: Sequence[Write] = (),
) -> Draft:
    """Build the record of a change (`apply`, `adopt`). `about` may hold a `candidate` and `evidence`, as JSON.

    `taken_in` is what was there before, in slots of which the journal did not know yet.
    """
    payload, contents = _divide_about(about)
    touches = [format_slot_key(write.slot) for write in writes]
    claims = (make_claim_key(write.slot[0], claim) for write in writes for claim in list_write_claims(write))
    lists = (make_shared_key(write.slot[:-1]) for write in writes if write.shared and is_part(write.slot[-1]))
    grounds = {str(at): _write_parent(write.on) for at, write in enumerate(writes) if write.on is not None}
    payload["touches"] = [*touches, *dict.fromkeys(claims), *dict.fromkeys(lists)]
    if taken_in:
        payload[TAKEN_IN] = [format_slot_key(write.slot) for write in taken_in]
        payload["touches"] += [TAKEN_IN_KEY, *(make_taken_in_key(write.slot) for write in taken_in)]
        packer = Packer() if packer is None else packer
        contents[TAKEN_IN] = [packer.slot(write.slot, write.after) for write in taken_in]
    said: dict[str, Any] = {
        "strict": [at for at, write in enumerate(writes) if write.strict],
        "on": grounds,
        "needs": [at for at, write in enumerate(writes) if write.needs],
        "shared": [at for at, write in enumerate(writes) if write.shared],
        "bare": [at for at, write in enumerate(writes) if write.bare],
    }
    payload |= {name: what for name, what in said.items() if what}
    if any(SURFACES[write.slot[0]].can_merge_in_place(write.before) for write in writes):
        payload["mends"] = True
    packed = zip((write.after for write in taken_in), contents.get(TAKEN_IN, ()), strict=True)
    known = {write.slot: pair for write, pair in zip(taken_in, packed, strict=True)}
    return Draft(kind, payload, {**contents, **_pack_contents(writes, packer, anew=kind == "apply", known=known)})


def draft_evidence(entry: int, about: Mapping[str, Any]) -> Draft:
    """Build the record that says, later, on what evidence a recorded change rests, or why on none."""
    payload, contents = _divide_about(about)
    return Draft("evidence", {"entry": entry, **payload}, contents)


def _divide_about(about: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a record says, and the contents it refers to: candidate, and evidence that holds values."""
    payload = dict(about)
    contents: dict[str, Any] = {}
    if "candidate" in payload:
        steps = payload.pop("candidate")
        contents["candidate"] = list(map(pack_candidate, steps)) if isinstance(steps, list) else pack_candidate(steps)
    if "evidence" in payload:
        payload["evidence"], rest = divide_evidence(payload["evidence"])
        contents |= {} if rest is None else {"evidence": rest}
    said = payload.pop(CALL, None)
    contents |= {CALL: make_leaf(said, CALL)} if said else {}
    return payload, contents


def with_evidence(store: Store, record: Record) -> Record:
    """Return an entry with the evidence that a later record holds for it; as it is where there is none."""
    if record.unproved != PENDING:
        return record
    later = store.latest("evidence")
    while later is not None and later.seq > record.seq:
        if later.about == record.number:
            return record.with_evidence(later)
        later = store.latest("evidence", later.seq)
    return record


def draft_toggle(
    kind: str,
    off: Iterable[int],
    on: Iterable[int],
    changes: Sequence[SlotChange],
    about: Mapping[str, Any],
    *,
    packer: Packer | None = None,
) -> Draft:
    """Build the record of entries taken back or brought back (`undo`, `redo`, `restore`)."""
    payload = {
        **about,
        "off": list(off),
        "on": list(on),
        "slots": [format_slot_key(change.slot) for change in changes],
    }
    return Draft(kind, payload, _pack_contents(changes, packer))


def load_call(store: Store, record: Record) -> dict[str, str]:
    """Return what was said for a recorded change: its command and its prompt, as far as they were not forgotten."""
    ref = next(iter(record.refs(CALL)), None)
    stored = None if not ref else store.content(ref)
    call = {} if stored is None else stored.json()
    return {str(name): str(text) for name, text in call.items()} if isinstance(call, dict) else {}


def load_taken_in(
    store: Store, record: Record, note_late: Callable[[LateContents], None] | None = None
) -> tuple[Write, ...]:
    """Return what a record took in, as writes: what was there before, in slots that nobody knew of.

    With `note_late`, which is told of them, the bytes of many files are read when they are needed.
    """
    from takeback.undo import Write  # noqa: PLC0415 - start-up

    keys = record.taken_in
    if not keys:
        return ()
    refs = record.refs(TAKEN_IN)
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        slots = list(map(parse_slot_key, keys))
        files: Mapping[int, File] = {}
        if note_late is not None and can_read_late(store, keys):
            late, files = defer_files(store, slots, refs)
            note_late(late)
        held = _fetch_contents(store, [ref for at, ref in enumerate(refs) if ref and at not in files])
        keyless = keyless_of(store)
        pairs = enumerate(zip(slots, refs, strict=True))
        return tuple(
            Write(slot, ABSENT, files[at] if at in files else _unpack_content(slot, ref, held, keyless))
            for at, (slot, ref) in pairs
        )


def _write_parent(when: tuple[int, int]) -> list[int]:
    return STORED_START if when == START else list(when)


def _read_parent(when: tuple[int, int] | None) -> tuple[int, int] | None:
    return START if when == tuple(STORED_START) else when


def read_slots(record: Record) -> list[Slot]:
    """Return the slots a record writes, in order."""
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        return [parse_slot_key(key) for key in record.written_keys if is_slot_key(key)]


def list_addresses(record: Record) -> tuple[str, ...]:
    """Return what a record wrote, as people name it, each once."""
    return tuple(dict.fromkeys(describe_slot(find_containing_slot(slot)) for slot in read_slots(record)))


def load_record_writes(store: Store, record: Record) -> tuple[Write, ...]:
    """Return what a record did to each slot, in order; forgotten values are `Forgotten`."""
    return next(load_writes(store, (record,)))


def load_writes(store: Store, records: Iterable[Record], *, planning: bool = False) -> Iterator[tuple[Write, ...]]:
    """Yield what several records did, with contents read together.

    For `planning`, what was there before is read only of parts, whose history needs it; `Forgotten` elsewhere.
    """
    chosen = [(record, not planning or record.edits_inside) for record in records]
    names = {True: ("before", "after"), False: ("after",)}
    refs = [ref for record, before in chosen for name in names[before] for ref in record.refs(name) if ref]
    held = _fetch_contents(store, refs)
    for record, before in chosen:
        yield _build_writes(record, held, keyless_of(store), before=before)


def _fetch_contents(store: Store, refs: Sequence[Ref]) -> dict[Ref, Stored | None]:
    held = store.contents(refs)
    parts = [part for stored in held.values() if stored and stored.tree for part in stored.open_tree()[0] if part]
    return {**held, **store.contents(parts)} if parts else held


def _build_writes(
    record: Record, held: Mapping[Ref, Stored | None], keyless: Mapping[Ref, str], *, before: bool
) -> tuple[Write, ...]:
    from takeback.undo import Write  # noqa: PLC0415 - start-up

    slots = read_slots(record)
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        after = [
            _unpack_content(slot, ref, held, keyless) for slot, ref in zip(slots, record.refs("after"), strict=True)
        ]
        olds = record.refs("before") if before else [FORGOTTEN] * len(slots)
        old = [_unpack_content(slot, ref, held, keyless) for slot, ref in zip(slots, olds, strict=True)]
    rows = enumerate(zip(slots, old, after, strict=True))
    strict, parents, needs, shared, bare = record.strict, record.parents, record.needs, record.shared, record.bare
    return tuple(
        Write(slot, before, after, at in strict, _read_parent(parents.get(at)), at in needs, at in shared, at in bare)
        for at, (slot, before, after) in rows
    )


def _unpack_content(
    slot: Slot, ref: Ref | None, held: Mapping[Ref, Stored | None], keyless: Mapping[Ref, str]
) -> Any:
    if ref is None:
        return ABSENT
    if ref == FORGOTTEN or slot[0] not in SURFACES:
        return FORGOTTEN_VALUE
    stored = held[ref]
    if stored is None or not stored.tree:
        return Unpacker(keyless=keyless).leaf(slot, ref, stored)
    parts, node = stored.open_tree()
    return Unpacker(keyless=keyless).tree(slot, node, lambda at: (parts[at], held[parts[at]] if parts[at] else None))


def describe_unknown_content(slot: Slot, content: Any) -> str:
    """Return what is shown in place of a content that is not known here."""
    if slot[0] not in SURFACES:
        return UNREADABLE_WORD
    if find_redacted(content):
        return REDACTED_WORD
    seal = find_seal(content)
    return SEALED_WORD.format(seal=seal) if seal else FORGOTTEN_WORD


def load_candidate_json(store: Store, record: Record) -> dict[str, Any] | None:
    """Return the candidate of an entry as JSON, `(forgotten)` in place of values; None if it has none.

    One that was proved in steps is shown as one.
    """
    steps = [plain for plain, _ in _load_steps(store, record)]
    if len(steps) < 2:  # noqa: PLR2004 - one, or none
        return steps[0] if steps else None
    return {
        "mutation": [op for step in steps for op in step["mutation"]],
        "witness": [op for step in steps for op in step["witness"]],
        "recovery": [op for step in reversed(steps) for op in step["recovery"]],
        "contract": sorted({address for step in steps for address in step["contract"]}),
    }


def load_candidate(store: Store, record: Record) -> Candidate | None:
    """Return the candidate of an entry; None if it has none, or part of it was forgotten."""
    from takeback.language.program import join_candidates, read_candidate  # noqa: PLC0415 - start-up

    steps = _load_steps(store, record)
    if not steps or not all(whole for _, whole in steps):
        return None
    with guard_against_corruption(f"the candidate of record {record.seq}", seq=record.seq):
        return join_candidates([read_candidate(plain) for plain, _ in steps])


def _load_steps(store: Store, record: Record) -> list[tuple[dict[str, Any], bool]]:
    """Return the candidates of an entry as JSON, and whether nothing of each was forgotten."""
    refs = [ref for ref in with_evidence(store, record).refs("candidate") if ref]
    trees = store.contents(refs)
    steps = [_load_candidate_tree(store, record, stored) for ref in refs if (stored := trees[ref]) is not None]
    return steps if len(steps) == len(refs) else []


def _load_candidate_tree(store: Store, record: Record, stored: Stored) -> tuple[dict[str, Any], bool]:
    parts, skeleton = stored.open_tree()
    held = store.contents(part for part in parts if part)
    keyless = keyless_of(store)

    def fill(node: Any) -> Any:
        if isinstance(node, dict) and "$" in node:
            ref = parts[node["$"]]
            value = held.get(ref)
            if value is None:
                if is_redacted(ref):
                    return REDACTED_WORD
                return SEALED_WORD.format(seal=keyless[ref]) if ref in keyless else FORGOTTEN_WORD
            return _unpack_file(node["mode"], value.data) if "mode" in node else value.json()
        if isinstance(node, dict):
            return {name: fill(item) for name, item in node.items()}
        return [fill(item) for item in node] if isinstance(node, list) else node

    with guard_against_corruption(f"the candidate of record {record.seq}", seq=record.seq):
        candidate: dict[str, Any] = fill(skeleton)
        return candidate, all(part and held[part] is not None for part in parts)


def _unpack_file(mode: str, content: bytes) -> dict[str, str]:
    try:
        return {"content": content.decode(), "mode": mode}
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode(), "mode": mode}


def load_evidence(store: Store, record: Record) -> dict[str, Any] | None:
    """Return the verdict an entry was made on, as JSON; None if it has none."""
    record = with_evidence(store, record)
    if record.evidence is None:
        return None
    refs = record.refs("evidence")
    stored = store.content(refs[0]) if refs and refs[0] else None
    rest: dict[str, Any] = {"reasons": [], "counterexample": None} if stored is None else stored.json()
    return {**record.evidence, **rest}


def pack_candidate(candidate: Mapping[str, Any]) -> Tree:
    """Return a candidate as a tree: operations and names stand in it, values are its parts."""
    parts: list[Content] = []

    def operation(op: Mapping[str, Any]) -> Json:
        plain: dict[str, Json] = {}
        for field, value in op.items():
            content = _find_file_bytes(value) if op.get("op_type") == "write_file" else None
            if field in PLAIN_FIELDS:
                plain[field] = value
            elif content is not None:  # stored as the slot's own content is, which it therefore shares
                plain[field] = {"$": len(parts), "mode": value["mode"]}
                parts.append(Leaf(content, format_slot_key(("files", *op["target"].split("/")))))
            else:
                plain[field] = {"$": len(parts)}
                parts.append(make_leaf(value, f"{op.get('op_type')} {op.get('target')} {field}"))
        return plain

    skeleton = {
        name: [operation(op) if isinstance(op, Mapping) else op for op in part] if isinstance(part, list) else part
        for name, part in candidate.items()
    }
    return Tree(skeleton, parts, "candidate")


def _find_file_bytes(value: Any) -> bytes | None:
    """Return the bytes of a file that is written with its mode; None where the value has another form."""
    if not isinstance(value, Mapping) or value.keys() not in ({"content", "mode"}, {"base64", "mode"}):
        return None
    content = value["content"].encode() if "content" in value else b64decode(value["base64"])
    return content if _unpack_file(value["mode"], content) == value else None


def divide_evidence(evidence: Mapping[str, Any]) -> tuple[dict[str, Json], Leaf | None]:
    """Return what of a verdict can stand in a record for good, and the rest, if it has any, as a content."""
    summary = {name: evidence[name] for name in SUMMARY if name in evidence}
    if not summary.get("stays"):  # reversible, which is what an entry is that says nothing
        summary = {name: said for name, said in summary.items() if name not in {"class", "stays"}}
    rest = {name: value for name, value in evidence.items() if name not in SUMMARY}
    rest.pop("mutation_digest", None)  # a digest without salt, over what the candidate holds
    return summary, make_leaf(rest, "evidence") if any(rest.values()) else None


def group_runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return ascending numbers as runs, each with its first and last."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def make_taken_in_key(slot: Slot) -> str:
    """Return the index key of the entry that took a slot in."""
    return format_slot_key(("@taken in", *slot))


def explain_no_state(store: Store, record: Record) -> JournalError:
    """Return the error for a record whose state cannot be read."""
    known = keyless_of(store)
    seal = next((known[ref] for ref in record.refs("state") if ref is not None and ref in known), "")
    if seal:
        return MissingKeysError(f"the state of record {record.seq} is sealed: {seal}", hint=KEYS_HINT)
    return JournalCorruptError(f"record {record.seq} holds no state", seq=record.seq)


def make_claim_key(surface: str, claim: str) -> str:
    """Return the index key of something that only one slot may hold."""
    return format_slot_key((CLAIM + surface, claim))


def make_shared_key(slot: Slot) -> str:
    """Return the index key of the parts of a list that belongs to nobody."""
    return make_claim_key("shared", format_slot_key(slot))


def _pack_contents(
    writes: Sequence[Write | SlotChange],
    packer: Packer | None,
    *,
    anew: bool = False,
    known: Mapping[Slot, tuple[Any, Content | None]] = MappingProxyType({}),
) -> dict[str, list[Content | None]]:
    """Pack what was in each slot before and after; with `anew`, forgotten values written again are stored again.

    `known` are contents that are packed already: what was packed, and as what.
    """
    pack = Packer() if packer is None else packer
    after = pack.pack_written if anew else pack.slot

    def pack_before(write: Write | SlotChange) -> Content | None:
        value, content = known.get(write.slot, (None, None))
        return content if content is not None and value is write.before else pack.slot(write.slot, write.before)

    return {"before": list(map(pack_before, writes)), "after": [after(write.slot, write.after) for write in writes]}
