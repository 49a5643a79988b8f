"""Edits by hand of harnesses in any formatting, taken back and brought back in any order: each goes alone.

What should be there is known without our own code: the edits are of a tree of pieces, and the others are done to it
again. Where edits lie so close that bytes may differ, what other parsers read is compared, and no comment is lost.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import files_of
from tests.support.hand_edits import Draw
from tests.support.hand_harnesses import MAIN, harness
from tests.support.written import Edit, Files, comments_in, meaning

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness import Harness
from takeback.harness.outcomes import Adopted, Undone
from takeback.undo import Blocked

Images = dict[str, tuple[bytes, int]]
SEEDS = range(5)
NO_MEANING = frozenset({"layout", "comment", "move"})
"""Kinds of edits that may be refused where later ones stand in the same places."""


def put(root: Path, images: Images, before: Images) -> None:
    """Save files as an editor would."""
    for path in before.keys() - images.keys():
        (root / path).unlink()
    for path, (content, mode) in images.items():
        place = root / path
        if before.get(path) != (content, mode):
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                place.chmod(0o644)
            place.write_bytes(content)
            place.chmod(mode)


def check(seen: Images, wanted: Images) -> None:
    """Every file is there with its mode and says what it should, and has every comment it should have."""
    assert seen.keys() == wanted.keys()
    for path, (content, mode) in seen.items():
        expected = wanted[path][0]
        assert mode == wanted[path][1], path
        if content == expected:
            continue
        if path.endswith((".json", ".jsonc", ".toml")):
            assert meaning(path, content) == meaning(path, expected), path
            lost = Counter(comments_in(path, expected)) - Counter(comments_in(path, content))
            assert not lost, path
        else:
            assert sorted(content.split()) == sorted(expected.split()), path


class Story:
    """A harness, edits by hand of it, and which of them are live."""

    def __init__(self, client: str, seed: int, root: Path) -> None:
        self.rnd = random.Random(f"{client} {seed}")
        self.root = root
        self.start = harness(client, self.rnd)
        self.draw = Draw(client, self.rnd)
        self.edits: list[Edit] = []
        self.kinds: list[str] = []
        self.entries: list[tuple[str, int]] = []
        self.live: set[int] = set()
        self.touched: list[set[str]] = []
        self.kept: dict[tuple[str, frozenset[int]], tuple[bytes, int] | None] = {}
        """What later edits kept of a file, by its live edits: with the same ones it is that again."""
        put(root, self.start.images(), {})
        init_clients(root, (client,))

    def edit(self, opened: Harness) -> None:
        """Make one edit by hand and take it in."""
        now = self.start.without(self.edits, set(range(len(self.edits))))
        kind, path, edit = self.draw.edit(now)
        changed = now.without([edit], {0})
        put(self.root, changed.images(), now.images())
        adopted = opened.adopt(f"{kind} {path}")
        assert isinstance(adopted, Adopted), (kind, path)
        self.live.add(len(self.edits))
        self.edits.append(edit)
        one, two = now.images(), changed.images()
        self.touched.append({path for path in one.keys() | two.keys() if one.get(path) != two.get(path)})
        self.kinds.append(f"{kind} {path}")
        self.entries.append((adopted.entry.id, adopted.entry.entry))

    def toggle(self, opened: Harness, at: int) -> None:
        """Take one edit back, or bring it back, and compare."""
        before = files_of(self.root)
        outcome = (opened.undo if at in self.live else opened.redo)(self.entries[at][0])
        seen = files_of(self.root)
        if not isinstance(outcome, Undone):
            assert seen == before
            assert isinstance(outcome, Blocked) or self.kinds[at].partition(" ")[0] in NO_MEANING, outcome
            return
        numbers = [number for _, number in self.entries]
        self.live -= {numbers.index(entry) for entry in outcome.plan.off}
        self.live |= {numbers.index(entry) for entry in outcome.plan.on}
        wanted = self.wanted().images()
        if outcome.plan.kept:
            differing = [path for path in wanted.keys() | seen.keys() if wanted.get(path) != seen.get(path)]
            self.kept |= {(path, self.live_at(path)): seen.get(path) for path in differing}
        known = {path: self.kept.get((path, self.live_at(path)), image) for path, image in wanted.items()}
        wanted = {path: image for path, image in known.items() if image is not None}
        if not outcome.plan.kept:
            check(seen, wanted)
        for path in before.keys() & seen.keys():
            assert seen[path] == before[path] or wanted[path] != before[path], f"{path} was not to be touched"
        assert opened.status().clean

    def live_at(self, path: str) -> frozenset[int]:
        """Those of the live edits that changed a file."""
        return frozenset(at for at in self.live if path in self.touched[at])

    def wanted(self) -> Files:
        return self.start.without(self.edits, self.live)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("client", MAIN)
def test_each_hand_edit_is_undone_alone_and_all_of_them_leave_no_trace(
    client: str, seed: int, tmp_path: Path
) -> None:
    story = Story(client, seed, tmp_path)
    with closing(open_workspace(tmp_path)) as opened:
        for _ in range(story.rnd.randint(3, 6)):
            story.edit(opened)
    with closing(open_workspace(tmp_path)) as opened:
        every = list(range(len(story.edits)))
        for at in (*story.rnd.sample(every, len(every)), *story.rnd.sample(every, len(every))):
            story.toggle(opened, at)
        for at in sorted(story.live, reverse=True):
            story.toggle(opened, at)
    assert story.live == set()
    assert files_of(tmp_path) == story.start.images()
