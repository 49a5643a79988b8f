"""The experiment: adopt consecutive commits, take single ones out of the middle, compare with `git revert`.

Where git reverts cleanly, the two trees are equal or the difference is one of three kinds, each of them checked: a
later commit wrote the same lines again, the plan is blocked by name through a rename, or twins were said. A revert
with which git takes out lines that a later commit wrote, or leaves the commit's own in a file that it lost, is not
among them: by the judge's line histories, not by ours. The judge must explain every line that differs by a later
commit; with one left open, the case counts as explained, or as different. `git_reverts`, `explained_or_git_wrong` and
`unequal_share` count all that git reverts without a conflict, whoever is right.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

from takeback.present.plans import find_repeats
from takeback.progress import report_progress
from takeback.state import ABSENT, State
from takeback.state.address import PATH, PLACE, is_part, make_part_name
from takeback.state.chain import Link
from takeback.state.file import File
from takeback.state.file_paths import project_files
from takeback.state.slots import Slot, find_containing_slot
from takeback.track.identity import FileVersion
from takeback.undo import Blocked, Index, Plan
from takeback_lab.git_history.adopted import AdoptedHistory, TreeChanges, list_tree_changes, read_mode
from takeback_lab.git_history.judge import Judge, cut
from takeback_lab.git_history.repository import NOTHING, RawChange, Repository, open_repository

COMMITS: Final = 300
TAKEN: Final = 200
LATER: Final = 10
SAMPLE: Final = 20
MOST_EXPLAINED: Final = 0.02
KINDS: Final = ("later_writer", "rename_blocked", "twins")
GIT_WRONG: Final = "git_wrong"
"""What git makes of it without a conflict is wrong, by the judge: a commit that was reverted and made again, and git
takes out the later lines; a file that moved, and git leaves the commit's lines in it."""
SHOWN: Final = 40
ELSEWHERE: Final = "it puts a file at "
"""How a reason begins that is about where a file stands."""


class Case(NamedTuple):
    """One commit taken out."""

    commit: str
    onto: str
    kind: str
    """`equal`, one of `KINDS`, `different`, `git_wrong`, or of a conflict `possible` or `blocked`."""
    kept: bool
    faults: tuple[str, ...]
    tree: str | None
    """What git made of it; None where it conflicts."""
    detail: str
    git_ms: float
    plan_ms: float


@dataclass
class Report:
    """What was found."""

    tip: str
    later: int | None
    commits: int = 0
    empty: int = 0
    moves: int = 0
    twins: int = 0
    cases: list[Case] = field(default_factory=list)
    all_back: bool = False
    agreed: int = 0
    asked: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def count(self, *kinds: str) -> int:
        """Return how many cases are of some kinds."""
        return sum(case.kind in kinds for case in self.cases)

    @property
    def clean(self) -> list[Case]:
        """Cases that git reverts without a conflict, and not wrongly."""
        return [case for case in self.cases if case.tree is not None and case.kind != GIT_WRONG]

    @property
    def unequal_share(self) -> float:
        """The part of all that git reverts without a conflict that does not come out equal, whoever is right."""
        unequal = self.count(*KINDS, GIT_WRONG, "different")
        return unequal / max(1, unequal + self.count("equal"))

    @property
    def holds(self) -> bool:
        """Whether everything that is claimed is so."""
        explained = self.count(*KINDS)
        few = explained <= MOST_EXPLAINED * len(self.clean) or explained <= 1
        wrong = any(case.faults for case in self.cases)
        return few and not wrong and not self.count("different") and self.all_back and self.agreed == self.asked

    def to_json(self) -> dict[str, Any]:
        """Return the figures."""
        conflicts = [case for case in self.cases if case.tree is None]
        possible = [case for case in conflicts if case.kind == "possible"]
        return {
            "tip": self.tip,
            "later": "tip" if self.later is None else self.later,
            "commits": self.commits,
            "empty": self.empty,
            "moves": self.moves,
            "twins": self.twins,
            "taken_out": len(self.cases),
            "git_clean": len(self.clean),
            GIT_WRONG: self.count(GIT_WRONG),
            "equal": self.count("equal"),
            "explained": self.count(*KINDS),
            "git_reverts": len(self.clean) + self.count(GIT_WRONG),
            "explained_or_git_wrong": self.count(*KINDS, GIT_WRONG),
            "unequal_share": round(self.unequal_share, 4),
            "explained_by": {kind: self.count(kind) for kind in KINDS},
            "different": self.count("different"),
            "git_conflict": len(conflicts),
            "possible": len(possible),
            "kept_said": sum(case.kept for case in possible),
            "blocked": sum(case.kind == "blocked" for case in conflicts),
            "silently_wrong": sum(bool(case.faults) for case in conflicts),
            "faults_where_equal": sum(bool(case.faults) for case in self.cases if case.tree is not None),
            "all_back": self.all_back,
            "real_revert": {"asked": self.asked, "agreed": self.agreed},
            "seconds": {name: round(spent, 2) for name, spent in self.seconds.items()},
            "git_ms": _summarize([case.git_ms for case in self.cases]),
            "plan_ms": _summarize([case.plan_ms for case in self.cases]),
            "cases": [
                {"commit": case.commit, "kind": case.kind, "detail": case.detail, "faults": list(case.faults)}
                for case in self.cases
                if case.kind not in {"equal", "possible", "blocked"} or case.faults
            ][:SHOWN],
            "holds": self.holds,
        }


def _summarize(numbers: Sequence[float]) -> dict[str, float]:
    if not numbers:
        return {}
    ordered = sorted(numbers)
    return {
        "median": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2),
        "worst": round(ordered[-1], 2),
    }


def run_git_history(
    place: Path,
    *,
    later: int | None = LATER,
    tip: str = "HEAD",
    commits: int = COMMITS,
    take: int = TAKEN,
    seed: int = 0,
) -> Report:
    """Adopt commits of a repository, and take single ones out after so many later ones; None: at the tip."""
    with open_repository(place, tip) as (repository, end), TemporaryDirectory(prefix="takeback-git-") as folder:
        run = _Run(repository, repository.list_commits(end, commits + 1), Path(folder), later, take)
        run.adopt_all()
        run.compare_real(seed)
        run.take_all_back(seed)
        return run.report


class _Run:
    def __init__(
        self, repository: Repository, commits: list[str], folder: Path, later: int | None, take: int
    ) -> None:
        self.repository, self.folder, self.later = repository, folder, later
        self.base, self.commits = commits[0], commits[1:]
        self.report = Report(commits[-1], later, len(self.commits))
        self.entries: dict[int, int] = {}
        self.places: dict[int, int] = {}
        started = perf_counter()
        self.changes = [self.repository.list_changes(f"{one}^1", one) for one in self.commits]
        full = [at for at, changes in enumerate(self.changes) if changes]
        lead = max(0, (len(full) - take) // 2)
        self.chosen = full[lead : lead + take]
        touched = {change.path for changes in self.changes for change in changes}
        start = self._read_files(self.repository.list_tree(self.base, sorted(touched)))
        self.adopted = AdoptedHistory(folder, start)
        self.judge = Judge({path: (file.mode, file.content) for path, file in start.items()})
        self.report.seconds["read"] = perf_counter() - started

    def _read_files(self, found: dict[str, tuple[str, str]]) -> dict[str, File]:
        held = self.repository.read(list(found.values()))
        return {path: File(held[name], read_mode(mode)) for path, (mode, name) in found.items()}

    def adopt_all(self) -> None:
        """Take every commit in; those to be taken out are planned when their time has come."""
        spent = 0.0
        for at, commit in enumerate(self.commits):
            report_progress("commits taken in", at + 1, len(self.commits))
            versions = list(self._read_versions(self.changes[at]))
            started = perf_counter()
            entry = self.adopted.adopt(commit, versions)
            spent += perf_counter() - started
            self.judge.see(at, self._read_for_judge(f"{commit}^1", commit))
            if entry is None:
                self.report.empty += 1
            else:
                self.entries[at], self.places[entry] = entry, at
            if self.later is not None and at - self.later in self.chosen:
                self._take_out(at - self.later, at)
        self.report.seconds["adopt"] = spent
        self.report.moves = sum(len(said.moved) for said in self.adopted.said.values())
        self.report.twins = sum(len(said.twins) for said in self.adopted.said.values())
        if self.later is None:
            self.adopted.reopen()
            for done, at in enumerate(self.chosen):
                report_progress("commits taken out", done + 1, len(self.chosen))
                self._take_out(at, len(self.commits) - 1)
        else:
            for at in self.chosen:
                if at + self.later >= len(self.commits):
                    self._take_out(at, len(self.commits) - 1)

    def _read_versions(self, changes: Sequence[RawChange]) -> Iterator[FileVersion]:
        held = self.repository.read([pair for one in changes for pair in _list_ids(one)])

        def make(mode: str, name: str) -> File | None:
            return None if mode == NOTHING else File(held[name], read_mode(mode))

        for one in changes:
            yield FileVersion(one.path, make(one.old_mode, one.old_id), make(one.new_mode, one.new_id))

    def _read_for_judge(self, old: str, new: str) -> Iterator[tuple[str, str, str, int, bytes | None]]:
        changes = self.repository.list_changes(old, new, renames=True)
        held = self.repository.read([pair for one in changes for pair in _list_ids(one)])
        for one in changes:
            gone = one.new_mode == NOTHING
            mode = read_mode(one.old_mode if gone else one.new_mode)
            yield one.status, one.old_path, one.path, mode, None if gone else held[one.new_id]

    def _take_out(self, at: int, end: int) -> None:
        if at not in self.entries:
            return
        commit, onto = self.commits[at], self.commits[end]
        started = perf_counter()
        tree = self.repository.revert(commit, onto)
        middle = perf_counter()
        plan = self.adopted.plan(self.entries[at])
        ended = perf_counter()
        ours: TreeChanges = {}
        faults: tuple[str, ...] = ()
        said: set[str] = set()
        if isinstance(plan, Plan):
            ours = list_tree_changes(plan.before, plan.state)
            said = {path for one in plan.kept for path in self.adopted.name(one.slot)}
            now = {path: (file.mode, file.content) for path, file in project_files(plan.before)}
            faults = tuple(self.judge.find_faults(at, ours, now, said | self._list_twins(at, end)))
        kind, detail = self._classify(at, end, tree, plan, ours)
        spent = ((middle - started) * 1000, (ended - middle) * 1000)
        self.report.cases.append(Case(commit, onto, kind, bool(said), faults, tree, detail, *spent))

    def _list_twins(self, at: int, end: int) -> set[str]:
        """The paths of twins that were said of a commit, or of a later one."""
        said = [self.adopted.said[self.entries[one]] for one in range(at, end + 1) if one in self.entries]
        return {path for one in said for old, news in one.twins for path in (old, *news)}

    def _classify(self, at: int, end: int, tree: str | None, plan: object, ours: TreeChanges) -> tuple[str, str]:
        if tree is None:
            return ("possible" if isinstance(plan, Plan) else "blocked"), ""
        theirs = self._read_their_changes(self.commits[end], tree)
        if isinstance(plan, Blocked):
            by = ", ".join(f"#{entry}: {why}" for entry, why in plan.reasons[:3])
            if not self._is_by_rename(at, plan):
                return "different", f"blocked by {by}"
            wrong = self._find_stayed(at, theirs) if self.judge.has_dependent(at) else None
            return (GIT_WRONG, f"blocked by {by}; git: {wrong}") if wrong else ("rename_blocked", f"blocked by {by}")
        differ = sorted(path for path in {*ours, *theirs} if ours.get(path, 0) != theirs.get(path, 0))
        if not differ:
            return "equal", ""
        detail = f"differs in {', '.join(differ[:4])}"
        if isinstance(plan, Plan) and all(self._is_written_again(at, plan, path, ours, theirs) for path in differ):
            mine, wrong = (self._find_taken(at, side, plan.before) for side in (ours, theirs))
            now = {name: (file.mode, file.content) for name, file in project_files(plan.before)}
            open_lines = next(self.judge.find_unexplained(at, ours, theirs, now), None)
            wrong = None if mine or open_lines else wrong
            return (GIT_WRONG, f"{detail}; git: {wrong}") if wrong else ("later_writer", detail)
        return ("twins" if {*differ} & self._list_twins(at, end) else "different"), detail

    def _find_stayed(self, at: int, theirs: TreeChanges) -> str | None:
        """Return what of a commit git leaves in silence, by the judge; None if it leaves nothing."""
        now = {path: (file.mode, file.content) for path, file in project_files(self.adopted.ledger.state)}
        return next(self.judge.find_faults(at, theirs, now, set()), None)

    def _find_taken(self, at: int, changes: TreeChanges, state: State) -> str | None:
        now = {path: (file.mode, file.content) for path, file in project_files(state)}
        line = next(self.judge.find_taken(at, changes, now), None)
        return None if line is None else f"it takes out what a later commit wrote, {line}"

    def _read_their_changes(self, onto: str, tree: str) -> TreeChanges:
        changes = self.repository.list_changes(onto, tree)
        held = self.repository.read([(one.new_mode, one.new_id) for one in changes])
        return {
            one.path: None if one.new_mode == NOTHING else (read_mode(one.new_mode), held[one.new_id])
            for one in changes
        }

    def _is_by_rename(self, at: int, plan: Blocked) -> bool:
        """Tell whether a commit, or one that blocks it, moved a file, or wrote one that was moved between them."""
        index = self.adopted.ledger.history.index
        mine = {find_containing_slot(write.slot) for write in index.writes(self.entries[at])}
        for entry in plan.entries:
            common = mine & {find_containing_slot(write.slot) for write in index.writes(entry)}
            between = range(at, self.places[entry] + 1)
            for slot in common:
                moved = index.at((*slot, make_part_name(PATH)))
                if any(self.places[version.entry] in between for version in moved):
                    return True
        return any(why.startswith(ELSEWHERE) for _, why in plan.reasons)

    def _is_written_again(self, at: int, plan: Plan, path: str, ours: TreeChanges, theirs: TreeChanges) -> bool:
        """Tell whether what differs at a path are lines of a commit that later ones wrote again, or moved.

        What was taken out and written again is another line, which stays; what was moved is the commit's, and goes.
        Where the commit took lines out and a later one wrote the same again, both stand there, which is said.
        Which of several equal lines came or went is a matter of reading: where a later commit rewrote one of them,
        git may take it for the other one, and has the same lines in another order.
        """
        index, entry = self.adopted.ledger.history.index, self.entries[at]
        writes = [write for write in index.writes(entry) if path in self.adopted.name(write.slot)]
        moved = _list_texts(write.after for write in writes if _is_moved_later(index, write.slot, entry))
        now = {name: (file.mode, file.content) for name, file in project_files(plan.before)}
        one, two = (cut((side.get(path, now.get(path)) or (0, b""))[1]) for side in (ours, theirs))
        differing = {*(Counter(one) - Counter(two)), *(Counter(two) - Counter(one))}
        versions = [
            version.write
            for slot in {find_containing_slot(write.slot) for write in writes}
            for version in (*index.below(slot), *index.at(slot))
            if version.entry > entry
        ]
        mine = _list_texts(side for write in writes for side in (write.before, write.after))
        if one != two and not differing:
            rewritten = _list_texts(write.before for write in versions)
            return not self._list_repeated(at, path).isdisjoint(mine & rewritten)
        said = [*(one.slot for one in plan.kept), *(one.slot for one in find_repeats(plan, index))]
        if not moved and not any(path in self.adopted.name(slot) for slot in said):
            return False
        return differing <= mine and differing <= _list_texts(write.after for write in versions) | moved

    def _list_repeated(self, at: int, path: str) -> set[str]:
        """Return the lines that a commit's file has several times, before or after it."""
        versions = self._read_versions([one for one in self.changes[at] if one.path == path])
        counts = [
            Counter(cut(file.content)) for one in versions for file in (one.before, one.after) if file is not None
        ]
        return {line for found in counts for line, times in found.items() if times > 1}

    def compare_real(self, seed: int) -> None:
        """Ask the real `git revert` about a sample."""
        cases = random.Random(seed).sample(self.report.cases, min(SAMPLE, len(self.report.cases)))
        work = self.folder / "work"
        work.mkdir()
        started = perf_counter()
        for case in cases:
            self.report.asked += 1
            self.report.agreed += self.repository.revert_really(case.commit, case.onto, work) == case.tree
        self.report.seconds["real_revert"] = perf_counter() - started

    def take_all_back(self, seed: int) -> None:
        """Take every entry back in random order; the first tree must be there again, byte for byte."""
        self.adopted.reopen()
        order = list(self.entries.values())
        random.Random(seed).shuffle(order)
        started = perf_counter()
        for done, entry in enumerate(order):
            report_progress("entries taken back", done + 1, len(order))
            if entry not in self.adopted.ledger.history.undone:
                self.adopted.take_back(entry)
        self.report.seconds["all_back"] = perf_counter() - started
        now = {path: (file.mode, file.content) for path, file in project_files(self.adopted.ledger.state)}
        self.report.all_back = now == self.adopted.first


def _is_moved_later(index: Index, slot: Slot, entry: int) -> bool:
    """Tell whether a later entry moved a line."""
    place = (*slot[:-1], make_part_name(PLACE + slot[-1][1:]))
    return is_part(slot[-1]) and any(version.entry > entry for version in index.at(place))


def _list_ids(change: RawChange) -> tuple[tuple[str, str], ...]:
    return (change.old_mode, change.old_id), (change.new_mode, change.new_id)


def _list_texts(contents: Iterable[Any]) -> set[str]:
    """Return the lines that some contents of slots say."""
    found: set[str] = set()
    for content in contents:
        if content is ABSENT:
            continue
        if isinstance(content, Link) and isinstance(content.record, str):
            found.update(cut(content.record.encode()))
        elif isinstance(content, File):
            found.update(cut(content.content))
    return found
