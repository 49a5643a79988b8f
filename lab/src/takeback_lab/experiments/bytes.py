"""Bytes: every kind of change to every file of a corpus of odd formatting, in a workspace and in clients' harnesses.

A case is one file and one change. `untouched` counts those where the change alone left every other byte as it was,
`identical` those where apply followed by undo gave back every file byte for byte, with its mode.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Applied, Harness, Undone
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage
from takeback_lab.bytes.changes import ByteChange, changes_of
from takeback_lab.bytes.client_changes import client_changes
from takeback_lab.bytes.harnesses import HARNESSES
from takeback_lab.bytes.untouched import untouched
from takeback_lab.experiment import Asked, Option
from takeback_lab.protocol import parts_of, sources
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "bytes"
FEW: Final = 5
CORPUS: Final = Path(__file__).parents[1] / "bytes" / "corpus"
FOLDERS: Final = {"prompts": ".md", "tools": ".json", "files": ""}
MODES: Final = (0o644, 0o600, 0o640)
TreeImage = Mapping[str, tuple[bytes, int]]


@dataclass
class ByteFindings:
    """What a run counted; anything in `examples` is a defect."""

    files: int = 0
    of: int = 0
    identical: int = 0
    untouched: int = 0
    refused: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The findings as JSON."""
        return {
            "files": self.files,
            "of": self.of,
            "identical": self.identical,
            "untouched": self.untouched,
            "refused": self.refused,
            "formats": dict(sorted(self.formats.items())),
            "examples": self.examples[:FEW],
        }

    @property
    def hold(self) -> bool:
        """Whether every case came out as it must."""
        return self.of == self.identical == self.untouched and not self.refused


def corpus() -> tuple[Path, ...]:
    """The files, in order."""
    return tuple(sorted(path for path in CORPUS.rglob("*") if path.is_file() and not path.name.startswith(".")))


def run(files: Sequence[Path] | None = None) -> ByteFindings:
    """Every kind of change to each file."""
    found = ByteFindings()
    for number, path in enumerate(corpus() if files is None else files):
        try_file(path, MODES[number % len(MODES)], found)
    for kind in HARNESSES if files is None else ():
        try_client(kind, found)
    return found


def try_file(path: Path, mode: int, found: ByteFindings) -> None:
    """Every kind of change to one file."""
    with tempfile.TemporaryDirectory(prefix="takeback-bytes-") as directory:
        _one_file(Path(directory) / "agent", path, mode, found)
    found.files += 1


def try_client(kind: str, found: ByteFindings) -> None:
    """Every kind of change to what a client's files hold."""
    with tempfile.TemporaryDirectory(prefix="takeback-bytes-") as directory:
        root = Path(directory)
        for number, (path, text) in enumerate(HARNESSES[kind].items()):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
            (root / path).chmod(MODES[number % len(MODES)])
            found.files += 1
        init_clients(root, (kind,))
        with closing(open_workspace(root, hold=False)) as harness:
            for change in list(client_changes(kind, harness.state.write())):
                found.of += 1
                found.formats[kind] += 1
                wrong = "; ".join(_one_change(harness, root, change, found))
                if wrong:
                    found.examples.append(f"{kind}: {change.ops[0]}: {wrong}")


@dataclass(frozen=True, slots=True)
class BytesPlan:
    """Which files of the corpus, and which clients."""

    files: tuple[Path, ...]
    clients: tuple[str, ...] = ()

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        texts = {str(path.relative_to(CORPUS)): path.read_bytes().hex() for path in self.files}
        texts |= {f"{kind}/{path}": text for kind in self.clients for path, text in HARNESSES[kind].items()}
        code = sources(
            "takeback.adapters", "takeback.harness", "takeback_lab.bytes", "takeback_lab.experiments.bytes"
        )
        return parts_of(tasks=texts, analysis=code)

    def units(self) -> dict[str, Any]:
        """One unit per file, and per client."""
        return {f"clients/{kind}": {"client": kind} for kind in self.clients} | {
            str(path.relative_to(CORPUS)): {
                "file": str(path.relative_to(CORPUS)),
                "mode": MODES[number % len(MODES)],
            }
            for number, path in enumerate(self.files)
        }


class Bytes:
    """Apply and undo every kind of change to hand-written files, and compare their bytes. 1 if any differs.

    Example: `takeback lab bytes --json`
    """

    name = NAME
    asks = False
    options = (Option("files", "number", "Only the first files of the corpus, and no clients.", least=1),)

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> BytesPlan:
        """The whole corpus and every client, or its first files."""
        del frozen
        few = given.get("files")
        return BytesPlan(corpus()[:few], tuple(HARNESSES) if few is None else ())

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Every kind of change to one file, or to one client's."""
        del asked
        found = ByteFindings()
        if "client" in unit:
            try_client(unit["client"], found)
        else:
            try_file(CORPUS / unit["file"], unit["mode"], found)
        return found.to_json()

    def data(self, plan: BytesPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """All files together."""
        del plan, who
        total = ByteFindings()
        for one in done.values():
            for name in ("files", "of", "identical", "untouched", "refused"):
                setattr(total, name, getattr(total, name) + one[name])
            total.formats.update(one["formats"])
            total.examples += one["examples"]
        return {NAME: {"population": f"{total.files} files of odd formatting", **total.to_json()}}

    def summary(self, plan: BytesPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The counts."""
        del plan
        return dict(data[NAME])

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether every case came out as it must."""
        return summary["of"] == summary["identical"] == summary["untouched"] and not summary["refused"]

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The counts in words."""
        yield (
            f"{summary['files']} files, {summary['of']} changes: {summary['untouched']} left every other byte alone, "
            f"{summary['identical']} gave back every byte when undone"
        )
        yield from (f"  ! {text}" for text in summary["examples"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """The counts as a table."""
        rows = tuple((name, str(data[name])) for name in ("files", "of", "untouched", "identical", "refused"))
        yield Table(NAME, f"Bytes after a change and its undo: {data['population']}", ("count", "ours"), rows)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: counts need no plot."""
        del data
        return iter(())


def _one_file(root: Path, path: Path, mode: int, found: ByteFindings) -> None:
    surface = path.parent.name
    place = root / surface / path.name if surface in FOLDERS else root / f"{surface}.toml"
    place.parent.mkdir(parents=True)
    place.write_bytes(path.read_bytes())
    place.chmod(mode)
    init_workspace(root)
    name = path.stem if surface in {"prompts", "tools"} else path.name
    with closing(open_workspace(root, hold=False)) as harness:
        for change in list(changes_of(surface, name, harness.state.write())):
            found.of += 1
            found.formats[place.suffix or surface] += 1
            wrong = "; ".join(_one_change(harness, root, change, found))
            if wrong:
                found.examples.append(f"{surface}/{path.name}: {change.ops[0]}: {wrong}")


def _one_change(harness: Harness, root: Path, change: ByteChange, found: ByteFindings) -> Iterator[str]:
    before = _images(root)
    done = harness.apply(invert_mutation(read_program(list(change.ops), Stage.FORWARD, "mutation")))
    if not isinstance(done, Applied):
        found.refused += 1
        yield f"refused: {done.message}"
        return
    after = _images(root)
    if untouched(_bytes(before), _bytes(after), change.effect) and _modes_kept(before, after):
        found.untouched += 1
    else:
        different = {path: data for path, (data, _) in after.items() if after[path] != before.get(path)}
        yield f"{change.effect} touched more: {different}"
    taken = harness.undo(done.entry.id)
    if isinstance(taken, Undone) and _images(root) == before:
        found.identical += 1
    else:
        yield f"not identical after undo ({type(taken).__name__})"


def _images(root: Path) -> TreeImage:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".takeback" not in path.relative_to(root).parts
    }


def _bytes(images: TreeImage) -> dict[str, bytes]:
    return {path: data for path, (data, _) in images.items()}


def _modes_kept(before: TreeImage, after: TreeImage) -> bool:
    documents = (path for path in before.keys() & after.keys() if not _is_file(path))
    return all(before[path][1] == after[path][1] for path in documents)


def _is_file(path: str) -> bool:
    """Whether a mode is part of what a file is to the state."""
    return path.startswith("files/") or "/hooks/" in path


EXPERIMENT = Bytes()
