"""Programs and candidates, read from JSON with exact errors, and the JSON Schema they follow.

A candidate is a mutation, a witness program, a recovery program and a contract. The digest of its mutation
detects a repair that changes it. Everything is bounded, so that nothing a candidate contains can make a later
stage slow or large. The schema is fit for constrained decoding: every string, number and array is bounded,
every object closed, and each operation is one alternative with its `op_type` fixed, so that a decoder can
only write what the parser takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from stat import S_ISREG
from typing import Any, Final, final

from takeback.canonical import check_text, digest, parse
from takeback.errors import InputError, LimitError, UnknownOperationError, WrongTypeError
from takeback.state import ABSENT, KINDS, SURFACES, Contract, Kind, Level, Operation, Position, Requirement, Stage
from takeback.state.operation import SPOTS, Anchor, copy_plain_json, freeze_plain_json, vouch
from takeback.state.surface import find_kind, install_surfaces
from takeback.state.values import read_name, read_whole_number

MAX_OPERATIONS: Final = 64
MAX_FILE: Final = 4_000_000
MAX_INDEX: Final = 10_000
SHOWN_OPERATIONS: Final = 3
SHOWN_TARGET: Final = 24
PROGRAMS: Final = {"mutation": Stage.FORWARD, "witness": Stage.CAPTURE, "recovery": Stage.RECOVERY}
_FIELDS = {"op_type", "target", "value", "witness_key", *SPOTS}

Program = tuple[Operation, ...]


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A change and how to take it back.

    It cannot be changed: programs given as lists are copied.
    """

    mutation: Program
    witness: Program
    recovery: Program
    contract: Contract

    def __post_init__(self) -> None:
        for name in PROGRAMS:
            program = getattr(self, name)
            if type(program) is not tuple:
                program = tuple(program)
                object.__setattr__(self, name, program)
            for op in program:
                if type(op) is not Operation:
                    raise InputError(name, found=f"a {type(op).__name__}", expected="operations")
        if type(self.contract) is not Contract:
            raise InputError("contract", found=f"a {type(self.contract).__name__}", expected="a Contract")

    def __init_subclass__(cls) -> None:
        raise TypeError("Candidate is final: what was verified must be what is applied")

    @property
    def as_read(self) -> bool:
        """Whether all its operations are what its JSON says."""
        return all(op.as_read for program in (self.mutation, self.witness, self.recovery) for op in program)

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as JSON, with its contract whether it was declared or inferred."""
        return {
            "mutation": [op.to_json() for op in self.mutation],
            "witness": [op.to_json() for op in self.witness],
            "recovery": [op.to_json() for op in self.recovery],
            "contract": self.contract.to_json(),
        }

    def digest(self) -> str:
        """Return the SHA-256 of the whole candidate."""
        return digest(self.to_json())

    def mutation_digest(self) -> str:
        """Return the SHA-256 of the mutation, which a repair must not change."""
        return digest_program(self.mutation)

    def __repr__(self) -> str:
        named = [f"{op.kind.name} {op.target[:SHOWN_TARGET]}" for op in self.mutation[:SHOWN_OPERATIONS]]
        more = len(self.mutation) - len(named)
        return f"Candidate({', '.join(named)}{f' and {more} more' if more else ''})"


def join_candidates(steps: Sequence[Candidate]) -> Candidate:
    """Return steps as one candidate: every capture is taken before the first, recovery goes from the last back."""
    if len(steps) == 1:
        return steps[0]
    return Candidate(
        tuple(op for step in steps for op in step.mutation),
        tuple(op for step in steps for op in step.witness),
        tuple(op for step in reversed(steps) for op in step.recovery),
        Contract(
            surfaces={name for step in steps for name in step.contract.surfaces},
            addresses={address for step in steps for address in step.contract.addresses},
        ),
    )


def digest_program(program: Program) -> str:
    """Return the SHA-256 of a program."""
    return digest([op.to_json() for op in program])


def infer_contract(mutation: Iterable[Operation]) -> Contract:
    """Return the contract that lists just the addresses a mutation names."""
    return Contract(addresses=(address for op in mutation for address in (op.address, *op.also)))


def read_candidate(raw: Any, where: str = "candidate") -> Candidate:
    """Return the candidate in a JSON value, or raise naming the place of the mistake."""
    if not isinstance(raw, dict):
        raise InputError(where, found=raw, expected="a mapping with mutation, witness, recovery and contract")
    raw = dict.copy(raw)
    unknown = sorted(set(raw) - {*PROGRAMS, "contract"})
    if unknown:
        raise InputError(
            where, found=f"the field {unknown[0]!r}", expected="only mutation, witness, recovery and contract"
        )
    if "mutation" not in raw:
        raise InputError(where, found="no mutation", expected="a list of operations under 'mutation'")
    mutation, witness, recovery = (
        read_program(raw.get(name, []), stage, f"{where}.{name}") for name, stage in PROGRAMS.items()
    )
    inferred = "contract" not in raw
    contract = infer_contract(mutation) if inferred else Contract.read(raw["contract"], f"{where}.contract")
    return Candidate(mutation, witness, recovery, contract)


MutationLike = Candidate | Mapping[str, Any] | list[Any] | tuple[Any, ...]
"""How a caller gives a mutation: operations, as they are or as JSON, one of them, or a candidate that has it."""


def read_mutation(given: MutationLike, where: str = "mutation") -> Program:
    """Return the mutation that a caller gives; its recovery, if it comes with one, is left out."""
    if type(given) is tuple and all(type(op) is Operation for op in given):
        return given
    if isinstance(given, Candidate):
        return given.mutation
    if isinstance(given, Mapping) and "op_type" not in given:
        return read_candidate(dict(given), where).mutation
    if not isinstance(given, Mapping | list | tuple):
        expected = "a list of operations such as {'op_type': …, 'target': …}, a Candidate, or its JSON object"
        raise WrongTypeError(where, given, expected=expected)
    given = [given] if isinstance(given, Mapping) else given
    raw = [op.to_json() if isinstance(op, Operation) else dict(op) if isinstance(op, Mapping) else op for op in given]
    return read_program(raw, Stage.FORWARD, where)


def reread_candidate(candidate: Candidate) -> Candidate:
    """Return the candidate as its JSON has it: the object itself if it was read from that, else one read again.

    An operation that was built by hand may print one value and hold another; what is printed decides.
    """
    return candidate if candidate.as_read else read_candidate(candidate.to_json())


def load_json(path: str | FilePath) -> Any:
    """Return the JSON in a file, or raise naming the file."""
    place = FilePath(path)
    try:
        if not S_ISREG(place.stat().st_mode):
            raise InputError(str(path), found="no regular file", expected="a file with JSON in it")
        with place.open("rb") as file:
            raw = file.read(MAX_FILE + 1)
    except OSError as fault:
        raise InputError(str(path), found=fault.strerror or str(fault), expected="a readable file") from None
    if len(raw) > MAX_FILE:
        raise LimitError(str(path), found="a larger file", expected=f"at most {MAX_FILE} bytes")
    return parse(raw, str(path))


def read_program(raw: Any, stage: Stage, where: str) -> Program:
    """Return the operations of one stage."""
    if not isinstance(raw, list):
        raise InputError(where, found=raw, expected="a list of operations")
    raw = list.copy(raw)
    if len(raw) > MAX_OPERATIONS:
        raise LimitError(where, found=f"{len(raw)} operations", expected=f"at most {MAX_OPERATIONS}")
    return tuple(read_operation(item, stage, f"{where}[{at}]") for at, item in enumerate(raw))


def read_operation(raw: Any, stage: Stage | None, where: str) -> Operation:
    """Return one operation, checked against its kind's declaration."""
    if not isinstance(raw, dict):
        raise InputError(where, found=raw, expected="a mapping with op_type and target")
    raw = copy_plain_json(raw)
    kind = find_kind(raw.get("op_type"))
    read = frozenset[str]() if kind is None else SURFACES[kind.surface].list_fields_read(kind)
    check_text({field: item for field, item in raw.items() if field not in read}, where)
    raw = _fold_edit(raw)
    unknown = sorted(set(raw) - _FIELDS)
    if unknown:
        raise InputError(where, found=f"the field {unknown[0]!r}", expected=f"only {', '.join(sorted(_FIELDS))}")
    name = raw.get("op_type")
    if kind is None or not _belongs(kind, stage):
        wanted = [kind.name for kind in KINDS.values() if _belongs(kind, stage)]
        place, expected = f"{where}.op_type", f"one of {', '.join(wanted)}"
        if name is None:
            raise InputError(place, found="no op_type", expected=expected)
        raise UnknownOperationError(place, found=name, expected=expected)
    target = raw.get("target")
    if type(target) is not str or not target:
        raise InputError(f"{where}.target", found=target, expected="the text of a target")
    surface = SURFACES[kind.surface]
    path = surface.target(target, f"{where}.target", kind)
    _check_field(kind.value, "value", raw, where)
    _check_field(kind.witness, "witness_key", raw, where)
    value = raw.get("value", ABSENT)
    op = Operation(
        kind=kind,
        target=target,
        path=path,
        address=surface.address(path),
        value=ABSENT if value is ABSENT else surface.value(kind, target, value, f"{where}.value"),
        raw=value,
        witness_key=_read_witness_key(raw, where),
        spot=_read_position(raw, kind, target, where),
    )
    also = surface.addresses(op)[1:]
    return vouch(replace(op, also=also) if also else op)


def _fold_edit(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the operation with `old` and `new` moved into its value, where they stand beside the target."""
    if "value" in raw or not {"old", "new"} <= raw.keys():
        return raw
    rest = {key: item for key, item in raw.items() if key not in {"old", "new"}}
    return {**rest, "value": {"old": raw["old"], "new": raw["new"]}}


def _belongs(kind: Kind, stage: Stage | None) -> bool:
    """Whether a kind of operation may stand in the program of a stage."""
    return stage is None or kind.stage is stage or (kind.recovers and stage is Stage.RECOVERY)


def _check_field(takes: Requirement, field: str, raw: dict[str, Any], where: str) -> None:
    if takes is Requirement.REQUIRED and field not in raw:
        raise InputError(where, found=f"no {field}", expected=f"{raw['op_type']} with a {field}")
    if takes is Requirement.FORBIDDEN and field in raw:
        raise InputError(f"{where}.{field}", found=raw[field], expected=f"no {field} for {raw['op_type']}")


def _read_witness_key(raw: dict[str, Any], where: str) -> str | None:
    if "witness_key" not in raw:
        return None
    place = f"{where}.witness_key"
    key = read_name(raw["witness_key"], place)
    if key.endswith("_existed"):
        raise InputError(place, found=key, expected="a key that does not end in _existed, which marks existence")
    return key


def _read_position(raw: dict[str, Any], kind: Kind, target: str, where: str) -> Position | None:
    given = [name for name in SPOTS if name in raw]
    if not given:
        if kind.spot is Requirement.REQUIRED:
            raise InputError(where, found="no place", expected=f"{kind.name} with one of {', '.join(kind.spots)}")
        return None
    if kind.spot is Requirement.FORBIDDEN or given[0] not in kind.spots:
        raise InputError(f"{where}.{given[0]}", found=given[0], expected=f"no such place for {kind.name}")
    if len(given) > 1:
        raise InputError(where, found=" and ".join(given), expected=f"at most one of {', '.join(kind.spots)}")
    name, place = given[0], f"{where}.{given[0]}"
    if name in {"before", "after"}:
        anchor = _read_anchor(raw, kind, name, target, place)
        return Position(before=anchor) if name == "before" else Position(after=anchor)
    number = read_whole_number(raw[name], place)
    if name == "index" and not 0 <= number <= MAX_INDEX:
        raise InputError(place, found=number, expected=f"a position from 0 to {MAX_INDEX}")
    return Position(index=number) if name == "index" else Position(priority=number)


def _read_anchor(raw: dict[str, Any], kind: Kind, name: str, target: str, where: str) -> str | Anchor:
    """Return the element to stand next to: an item where parts are written, else another element's id."""
    if kind.inside:
        return Anchor(freeze_plain_json(raw[name]), SURFACES[kind.surface].value(kind, target, raw[name], where))
    anchor = read_name(raw[name], where)
    if anchor == (raw.get("value") if kind.surface == "listeners" else target):
        raise InputError(where, found=anchor, expected="another id than the target")
    return anchor


MAX_ITEMS: Final = 12
_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 120}
_KEY: Final = {"type": "string", "minLength": 1, "maxLength": 24, "pattern": "^[a-z][a-z0-9_]*$"}
_SCALAR: Final[list[dict[str, Any]]] = [
    {"type": "string", "maxLength": 400},
    {"type": "integer", "minimum": -1_000_000, "maximum": 1_000_000},
    {"type": "number", "minimum": -1_000_000, "maximum": 1_000_000},
    {"type": "boolean"},
    {"type": "null"},
]
_ANY: Final[dict[str, Any]] = {
    "anyOf": [
        *_SCALAR,
        {"type": "array", "maxItems": 12, "items": {"anyOf": _SCALAR}},
        {"type": "object", "maxProperties": 12, "additionalProperties": {"anyOf": _SCALAR}},
    ]
}
_SPOTS: Final[dict[str, dict[str, Any]]] = {
    "index": {"type": "integer", "minimum": 0, "maximum": 100},
    "before": _NAME,
    "after": _NAME,
    "priority": {"type": "integer", "minimum": 0, "maximum": 1000},
}


def candidate_schema(level: Level, *, mutation: bool = True) -> dict[str, Any]:
    """Return the schema; without `mutation` it is that of a repair, which cannot change the mutation."""
    install_surfaces()
    programs = {
        name: {
            "type": "array",
            "minItems": int(name == "mutation"),
            "maxItems": MAX_ITEMS,
            "items": {"anyOf": list(_list_operation_forms(stage, level))},
        }
        for name, stage in PROGRAMS.items()
        if mutation or name != "mutation"
    }
    contract = {"type": "array", "maxItems": 2 * MAX_ITEMS, "items": {"type": "string", "maxLength": 200}}
    properties = {**programs, "contract": contract}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list_operation_forms(stage: Stage, level: Level) -> list[dict[str, Any]]:
    known = (kind for kind in KINDS.values() if not SURFACES[kind.surface].outside)
    usable = [kind for kind in known if level.includes(kind.level)]
    kinds = [kind for kind in usable if kind.stage is stage or (kind.recovers and stage is Stage.RECOVERY)]
    return [form for kind in kinds for form in _build_forms(kind)]


def _build_forms(kind: Kind) -> list[dict[str, Any]]:
    properties: dict[str, Any] = {"op_type": {"const": kind.name}, "target": _NAME}
    required = ["op_type", "target"]
    for takes, field, schema in (
        (kind.value, "value", kind.schema or _ANY),
        (kind.witness, "witness_key", _KEY),
    ):
        if takes is not Requirement.FORBIDDEN:
            properties[field] = schema
        if takes is Requirement.REQUIRED:
            required.append(field)
    forms = [] if kind.spot is Requirement.REQUIRED else [_close_object(properties, required)]
    if kind.spot is not Requirement.FORBIDDEN:
        for name in kind.spots:
            schema = _ANY if kind.inside and name != "index" else _SPOTS[name]
            forms.append(_close_object({**properties, name: schema}, [*required, name]))
    return forms


def _close_object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
