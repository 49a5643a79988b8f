"""Whether the step from one directory to another can be taken back, and by which recovery. Changes nothing.

Both are read as the harness that the first one is: its manifest, or else the clients whose files are in it.
A file that differs and belongs to no surface cannot be taken back, so such a step is not admitted. Operations are
found as for a recorded change: texts are edited where they differ, so that later steps on them can be undone apart.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from takeback.adapters.clients.discovery import FOREIGN
from takeback.adapters.clients.init import detect_clients
from takeback.adapters.clients.permissions import clients_of, find_loosened_permissions
from takeback.adapters.directory import Directory
from takeback.adapters.manifest import MANIFEST, PRIVATE, Manifest, Workspace, find_manifest_path
from takeback.adapters.opener import BUILT_IN, find_adapter, load_manifest
from takeback.adapters.trust import require_trusted
from takeback.errors import HarnessError, InputError
from takeback.harness import Harness
from takeback.harness.adapter import FileAdapter, NotExpressible
from takeback.harness.entry_log import diff_states
from takeback.harness.outcomes import Adopted, Applied, Refused
from takeback.harness.recorded_candidate import PlainOperation, list_units
from takeback.language import Candidate, NoInverse, Program
from takeback.language.program import read_program
from takeback.repair.oracle import oracle
from takeback.state import Stage, State, diff
from takeback.state.surface import install_surfaces
from takeback.undo import SlotChange
from takeback.undo.record import run_and_record
from takeback.verify import Verdict, verify

MOST_EDITS: Final = 4
"""A thing that takes more operations is written whole, if it can be."""
MOST: Final = 200_000
"""How many files of a directory are looked at."""
ADOPT_FIRST: Final = "'takeback adopt' records changes made outside Takeback"
NAMED: Final = 20
"""How many files or addresses one reason names."""


@dataclass(frozen=True, slots=True)
class HarnessStep:
    """What was found out about a step."""

    before: State
    after: State
    reasons: tuple[str, ...]
    """Why it cannot be taken back; none: it can."""
    candidate: Candidate | None = None
    """The step with its recovery; None where the harness does not differ, or no operation says it."""
    verdict: Verdict | None = None
    outside: tuple[str, ...] = ()
    """Files that differ and belong to no surface."""
    layout: tuple[str, ...] = ()
    """Files of the harness that differ in comments, formatting or permission bits only; a record lacks that."""
    looser: tuple[str, ...] = ()
    """What the step allows that was not allowed before, and which guards it removes."""

    @property
    def admitted(self) -> bool:
        """Whether it can be taken back."""
        return not self.reasons

    @property
    def changes(self) -> tuple[SlotChange, ...]:
        """What differs, slot by slot."""
        return diff_states(self.before, self.after)

    def to_json(self) -> dict[str, Any]:
        """Return the step as JSON."""
        return {
            "admitted": self.admitted,
            "reasons": list(self.reasons),
            "candidate": self.candidate.to_json() if self.candidate else None,
            "verdict": self.verdict.to_json() if self.verdict else None,
            "outside": list(self.outside),
            "layout": list(self.layout),
            "looser": list(self.looser),
        }


def judge_step(before: Path, after: Path, ignore: Sequence[str] = ()) -> HarnessStep:
    """Decide about the step from one directory to another; files that match a pattern in `ignore` are left aside."""
    install_surfaces()
    for place in (before, after):
        if not place.is_dir():
            raise InputError(str(place), found="no directory", expected="a directory")
    manifest = _build_manifest(before)
    if manifest.workspace.adapter not in BUILT_IN:
        require_trusted(before, manifest)
    with ExitStack() as leaving:
        old, new = (leaving.enter_context(closing(_open_files(place, manifest))) for place in (before, after))
        first = old.read(State())
        if first.broken:
            raise HarnessError(first.broken[0].message, where=first.broken[0].where, hint="mend the file first")
        then = new.read(first.state)
        differing = [
            path
            for path in _list_differing(before, after)
            if not any(fnmatchcase(path, pattern) or path.startswith(f"{pattern}/") for pattern in ignore)
        ]
        outside = tuple(path for path in differing if not old.owns(path) and not new.owns(path))
        reasons = [f"{fault.where}: {fault.message}" for fault in then.broken]
        reasons += [f"no surface of the harness has {_join_names(outside)}"] if outside else []
        decided = _decide_step(first.state, then.state)
        reasons += decided.reasons
        unwritten: tuple[str, ...] = ()
        if not reasons:
            unwritten, unsayable = _find_unwritten(
                old, after, decided, [path for path in differing if path not in outside]
            )
            reasons += unsayable
        return HarnessStep(
            first.state,
            then.state,
            tuple(reasons),
            decided.candidate,
            decided.verdict,
            outside,
            unwritten,
            tuple(find_loosened_permissions(first.state, then.state, clients_of(old))),
        )


def record_step(harness: Harness, step: HarnessStep, *, note: str = "", by: str = "") -> Applied | Adopted | Refused:
    """Record a step that is admitted as an entry of a harness whose journal is at its beginning.

    Where the files are there too, the step is made, with its recovery and verdict as evidence. Where the files have
    taken the step already, it is adopted.
    """
    if step.candidate is None or step.verdict is None or not step.admitted:
        raise InputError("the step", found="one that is not admitted, or changes nothing", expected="an admitted one")
    if harness.state != step.before:
        raise InputError(
            "the harness", found="another state in its journal", expected="that before the step", hint=ADOPT_FIRST
        )
    if harness.adapter.read(harness.state).state == step.after:
        origin = {"gate": step.verdict.grade.value, "recovery": step.candidate.digest()}
        adopted = harness.adopt(note, by=by, origin=origin)
        if adopted is not None:
            return adopted
    return harness.apply(step.candidate, evidence=step.verdict, note=note, by=by)


@dataclass(frozen=True, slots=True)
class _Decided:
    candidate: Candidate | None = None
    verdict: Verdict | None = None
    reasons: tuple[str, ...] = ()


def _decide_step(before: State, after: State) -> _Decided:
    """Return the step with a recovery: by parts of texts where that can be decided, else by whole texts."""
    decided = _Decided()
    for whole in (False, True):
        try:
            mutation = build_mutation(before, after, whole=whole)
        except InputError as fault:
            decided = _Decided(reasons=(str(fault),))
            continue
        made = run_and_record(mutation, before)
        if not made.receipt.succeeded or made.state != after:
            left = [str(change.address) for change in diff(made.state, after)]
            decided = _Decided(
                reasons=(f"no operation says what happened to {_join_names(left) or made.receipt.reason}",)
            )
            continue
        if not mutation:
            return _Decided()
        candidate = oracle(mutation, nominal=before)
        if isinstance(candidate, NoInverse):
            decided = _Decided(reasons=(str(candidate),))
            continue
        verdict = verify(candidate)
        if verdict.admitted:
            return _Decided(candidate, verdict)
        decided = _Decided(candidate, verdict, tuple(reason.message for reason in verdict.reasons))
    return decided


def build_mutation(before: State, after: State, *, whole: bool = False) -> Program:
    """Return a mutation from one state to another, texts by parts or `whole`; empty if they are equal.

    It leaves out what no operation can say, such as an empty directory. A step beyond a limit is an `InputError`.
    """
    units = list_units(before, after, diff_states(before, after))
    operations: list[PlainOperation] = []
    for unit in () if isinstance(units, str) else units:
        for way in unit.ways[1:] or unit.ways if whole else unit.ways:
            part = way()
            if len(part) > MOST_EDITS and way is not unit.ways[-1]:
                continue
            made = run_and_record(read_program(list(part), Stage.FORWARD, "the step"), before) if part else None
            if made is not None and made.receipt.succeeded and unit.is_made(made.state):
                operations, before = [*operations, *part], made.state
                break
    return read_program(operations, Stage.FORWARD, "the step") if operations else ()


def _find_unwritten(
    old: FileAdapter, after: Path, decided: _Decided, paths: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the differing files that a record of the step would not reproduce, and why it cannot be written."""
    if decided.candidate is None:
        return tuple(paths), []
    before = old.read(State()).state
    changes = old.render(before, run_and_record(decided.candidate.mutation, before).state)
    if isinstance(changes, NotExpressible):
        return (), [f"{changes.path}: {changes.reason}"]
    made = {change.path: change.after for change in changes}
    left = []
    for path in paths:
        image = made[path] if path in made else old.image(path)
        content = getattr(image, "content", None)
        place = after / path
        if content != (place.read_bytes() if place.is_file() else None):
            left.append(path)
    return tuple(left), []


def _build_manifest(before: Path) -> Manifest:
    if find_manifest_path(before) is not None:
        return load_manifest(before)
    kinds = detect_clients(before)
    if not kinds:
        raise InputError(
            str(before),
            found="neither a workspace nor a client's files",
            expected="a harness",
            hint="'takeback init DIR' starts tracking it",
        )
    return Manifest(workspace=Workspace(id="gate", adapter="clients", kinds=list(kinds)))


def _open_files(place: Path, manifest: Manifest) -> FileAdapter:
    opener = find_adapter(manifest.workspace.adapter, f"{place}: workspace.adapter")
    adapter = opener(Directory(place, tag=manifest.workspace.id), manifest, hold=False)
    if not isinstance(adapter, FileAdapter):
        raise InputError(str(place), found=f"the adapter {adapter.name}", expected="one whose harness is files")
    return adapter


def _list_differing(before: Path, after: Path) -> list[str]:
    """Return the paths at which two directories differ, without Takeback's own files and foreign folders."""
    old, new = _read_files(before), _read_files(after)
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def _read_files(root: Path) -> dict[str, tuple[int, bytes]]:
    files: dict[str, tuple[int, bytes]] = {}
    for folder, below, names in os.walk(root):
        linked = [name for name in below if Path(folder, name).is_symlink()]
        below[:] = sorted(name for name in below if name not in FOREIGN and name != PRIVATE and name not in linked)
        for name in (*names, *linked):
            place = Path(folder, name)
            path = place.relative_to(root).as_posix()
            if path == MANIFEST:
                continue
            if len(files) >= MOST:
                raise InputError(str(root), found=f"more than {MOST} files", expected="a harness's directory")
            files[path] = _read_content(place)
    return files


def _read_content(place: Path) -> tuple[int, bytes]:
    if place.is_symlink():
        return -1, os.fsencode(place.readlink())
    return place.stat().st_mode & 0o777, place.read_bytes() if place.is_file() else b""


def _join_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown
