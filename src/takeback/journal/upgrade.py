"""Writes a journal of layout 1 or 2 anew in the present layout, when it is opened.

Those layouts kept the values an entry captured, and whole candidates, beside and inside each record. Every record is
written again at its place, with its kind and time, its values as contents; places become entry numbers. The old
chain is followed first: a broken one is not written anew. Its ids go into the contents of a closing `layout` record,
so that old names still find their records; they are no more than contents, because a digest over old records
would let a forgotten value be guessed, and go when anything from before is forgotten.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from takeback.errors import JournalCorruptError
from takeback.journal.content import (
    FORGOTTEN,
    Content,
    Json,
    Leaf,
    Tree,
    decode,
    encode,
    guard_against_corruption,
    make_leaf,
    sha256,
)
from takeback.journal.record import ENTRY_KINDS, KINDS, ROOT, Draft
from takeback.state import SURFACES, State
from takeback.state.slots import is_slot_key

OLD_COLUMNS: Final = "seq, kind, created_at, payload, attachments, prev, digest"
PLAIN_FIELDS: Final = frozenset({"op_type", "target", "witness_key", "index", "priority"})
"""What of an operation is no value: it names things, and stays."""
CHANGES: Final = frozenset({"apply", "adopt", "salvage"})
SUMMARY: Final = ("admitted", "grade", "rule", "language", "splits", "classes")
"""What of a verdict holds no value."""


class OldRow(NamedTuple):
    """A record of layout 1 or 2."""

    seq: int
    kind: str
    created_at: str
    payload: str
    attachments: str
    prev: str
    digest: str

    def compute_digest(self) -> str:
        """The digest as those layouts had it."""
        return sha256(
            f'{{"attachments":{self.attachments},"created_at":{encode(self.created_at)},"kind":{encode(self.kind)},'
            f'"payload":{self.payload},"prev":{encode(self.prev)},"seq":{self.seq}}}'
        )


def demand_whole(rows: Sequence[OldRow], location: str) -> None:
    """Refuse to write a broken chain anew: that would hide what is wrong with it."""
    prev = ROOT
    for expected, row in enumerate(rows, start=1):
        if row.seq != expected or row.prev != prev or row.compute_digest() != row.digest or row.kind not in KINDS:
            raise JournalCorruptError(
                f"the journal {location} has an older layout, and record {expected} of it was altered: it is left "
                "as it is",
                seq=expected,
            )
        prev = row.digest


def upgraded(rows: Sequence[OldRow], texts: Mapping[int, Mapping[str, str]]) -> Iterator[tuple[Draft, str]]:
    """A draft and a time for every old record in order, and the record that closes; `texts` are attachments."""
    numbers: dict[int, int] = {}
    for row in rows:
        if row.kind in ENTRY_KINDS:
            numbers[row.seq] = len(numbers) + 1
    counts = {"entries": 0, "changes": 0, "aborted": 0}
    before: OldRow | None = None
    for row in rows:
        counts["entries"] += row.kind in ENTRY_KINDS
        counts["changes"] += row.kind in CHANGES
        counts["aborted"] += row.kind == "abort" and before is not None and before.kind in CHANGES
        with guard_against_corruption(f"record {row.seq} of the older layout", seq=row.seq):
            draft = _draft(row, texts.get(row.seq, {}), numbers, counts)
        yield draft, row.created_at
        before = row
    former = make_leaf({"head": rows[-1].digest if rows else ROOT, "ids": [row.digest for row in rows]})
    yield Draft("layout", {"records": len(rows)}, {"former": former}), rows[-1].created_at if rows else ""


def _draft(row: OldRow, texts: Mapping[str, str], numbers: Mapping[int, int], counts: Mapping[str, int]) -> Draft:
    payload: dict[str, Any] = decode(row.payload)
    if row.kind == "genesis":
        images = _images(payload, row, texts.get("images"))
        return Draft(
            "genesis", payload | images.payload, {"state": _state(decode(texts["state"])), **images.contents}
        )
    if row.kind == "checkpoint":
        return _checkpoint(decode(texts["state"]), numbers, counts)
    if row.kind in {"commit", "abort"}:
        reason = {"reason": make_leaf(payload["reason"], "reason")} if "reason" in payload else {}
        return Draft(row.kind, {"entry": numbers[payload["entry"]]}, reason)
    if row.kind == "forget":
        return Draft("forget", {"contents": [], "entries": [numbers[int(seq)] for seq in payload["forgotten"]]})
    payload |= _renumbered(payload, numbers)
    contents: dict[str, Any] = {}
    if "candidate" in payload:
        contents["candidate"] = pack_candidate(payload.pop("candidate"))
    if "evidence" in payload:
        payload["evidence"], contents["evidence"] = divide_evidence(payload["evidence"])
    keys = [key for key in payload.get("slots", payload.get("touches", ())) if is_slot_key(key)]
    for name in ("before", "after"):
        contents[name] = _writes(keys, texts.get(name))
    images = _images(payload, row, texts.get("images"))
    return Draft(row.kind, payload | images.payload, _there({**contents, **images.contents}))


def _there(contents: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in contents.items() if value is not None}


def _renumbered(payload: Mapping[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    """What in a payload names records, naming entries."""
    found: dict[str, Any] = {
        name: [numbers[seq] for seq in payload[name]]
        for name in ("off", "on", "ties")
        if isinstance(payload.get(name), list)
    }
    grounds = payload.get("on")
    if isinstance(grounds, dict):
        found["on"] = {at: [numbers.get(entry, entry), position] for at, (entry, position) in grounds.items()}
    return found


class _Images(NamedTuple):
    payload: dict[str, Any]
    contents: dict[str, Any]


def _images(payload: Mapping[str, Any], row: OldRow, text: str | None) -> _Images:
    """Images of files, as `harness/images.py` keeps them now; of forgotten ones only the names are known."""
    if "images" not in decode(row.attachments):
        return _Images({}, {})
    if text is None:
        paths = [decode(key)[1] for key in payload.get("touches", ()) if key.startswith('["@file"')]
        gone = [FORGOTTEN for _ in paths]
        unknown = ["f", 0o644]
        return _Images(
            {"images": [[path, unknown, unknown] for path in paths]}, {"image_before": gone, "image_after": gone}
        )
    raw: Any = decode(text)
    rows = [[one["path"], _form(one["before"]) if "before" in one else "?", _form(one["after"])] for one in raw]
    sides = {f"image_{side}": [_image(one["path"], one.get(side)) for one in raw] for side in ("before", "after")}
    return _Images({"images": rows}, sides)


def _form(raw: Any) -> Json:
    return None if raw is None else ["d" if "directory" in raw else "f", int(raw["mode"], 8)]


def _image(path: str, raw: Any) -> Leaf | None:
    if raw is None or "directory" in raw:
        return None
    return Leaf(raw["content"].encode() if "content" in raw else base64.b64decode(raw["base64"]), f"file {path}")


def pack_candidate(candidate: Mapping[str, Any]) -> Tree:
    """A candidate as a tree: operations and names stand in it, values are its parts."""
    parts: list[Content] = []

    def operation(op: Mapping[str, Any]) -> Json:
        plain: dict[str, Json] = {}
        for field, value in op.items():
            if field in PLAIN_FIELDS:
                plain[field] = value
            else:
                plain[field] = {"$": len(parts)}
                parts.append(make_leaf(value, f"{op.get('op_type')} {op.get('target')} {field}"))
        return plain

    skeleton = {
        name: [operation(op) if isinstance(op, Mapping) else op for op in part] if isinstance(part, list) else part
        for name, part in candidate.items()
    }
    return Tree(skeleton, parts, "candidate")


def divide_evidence(evidence: Mapping[str, Any]) -> tuple[dict[str, Json], Leaf | None]:
    """What of a verdict can stand in a record for good, and the rest, if it has any, as a content."""
    summary = {name: evidence[name] for name in SUMMARY if name in evidence}
    rest = {name: value for name, value in evidence.items() if name not in SUMMARY}
    rest.pop("mutation_digest", None)  # a digest without salt, over what the candidate holds
    return summary, make_leaf(rest, "evidence") if any(rest.values()) else None


def _checkpoint(whole: Any, numbers: Mapping[int, int], counts: Mapping[str, int]) -> Draft:
    undone = sorted(numbers[seq] for seq in whole["undone"] if seq in numbers)
    standing = make_leaf({"undone": group_runs(undone), "identity": whole["identity"], **counts}, "standing")
    return Draft("checkpoint", {}, {"state": _state(whole["state"]), "standing": standing})


def group_runs(numbers: Sequence[int]) -> list[list[int]]:
    """Ascending numbers as runs, each with its first and last."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _writes(keys: Sequence[str], text: str | None) -> list[Content | None]:
    if text is None:
        return [FORGOTTEN] * len(keys)
    items: Any = decode(text)
    return [_slot(decode(key), item[0]) if item else None for key, item in zip(keys, items, strict=True)]


def _slot(slot: list[str], raw: Any) -> Content | None:
    from takeback.journal.packer import Packer  # noqa: PLC0415 - start-up

    surface = SURFACES.get(slot[0])
    if surface is None:
        return make_leaf(raw, encode(slot))
    return Packer().slot(tuple(slot), surface.slot_from_json(raw, tuple(slot[1:])))


def _state(raw: Mapping[str, Any]) -> Tree:
    """A whole state; surfaces that are not installed stand in it as they were written down."""
    from takeback.journal.packer import Packer  # noqa: PLC0415 - start-up

    known = State({name: SURFACES[name].load(part) for name, part in raw.items() if name in SURFACES})
    packed = Packer().state(known)
    parts: list[Content] = list(packed.parts)
    nodes: dict[str, Json] = dict(cast("Mapping[str, Json]", packed.value))
    for name in raw.keys() - SURFACES.keys():
        nodes[name] = len(parts)
        parts.append(make_leaf(raw[name], encode([name])))
    return Tree(nodes, parts, packed.scope)
