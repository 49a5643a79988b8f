"""Random orders of forget, edit, adopt, discard, undo, redo and restore on files that hold a secret.

What must hold is worked out here from the files alone, in plain sets of tokens (a line of CLAUDE.md, a setting of
settings.json): which tokens an order may take away is known from what the hand wrote between two adoptions, never
from Takeback's own states.
"""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.raw_bytes import files_holding

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.outcomes import Adopted, Discarded, Refused, Unchanged, Undone
from takeback.undo import Blocked, Gone

SECRET = "hunter2-XYZZY-4711"
Tokens = frozenset[str]
TEXT, SETTINGS = "CLAUDE.md", ".claude/settings.json"
STEPS = (4, 14)


class Story:
    """One project, one random order, and what a plain reading of its files must find after every step."""

    def __init__(self, root: Path, seed: int) -> None:
        self.rnd = random.Random(f"forget {seed}")
        self.root = root
        self.count = 0
        self.told: list[str] = []
        """What was done, for whoever reads a failure."""
        self.clean = False
        """Whether the secret was forgotten and nobody has typed it since."""
        self.did: dict[int, tuple[Tokens, Tokens]] = {}
        """What each entry brought and took, by its number."""
        (root / ".claude").mkdir(parents=True)
        lines = [self.word() for _ in range(self.rnd.randint(1, 5))]
        lines.insert(self.rnd.randint(0, len(lines)), self.word(SECRET))
        self.write_lines(lines)
        self.write_env(
            {"A": self.word(), "KEY": self.word(SECRET)} if self.rnd.random() < 0.6 else {"A": self.word()}
        )
        init_clients(root, ("claude-code",))
        self.adopted = self.read()
        self.opened: Harness | None = None

    def word(self, secret: str = "") -> str:
        self.count += 1
        return f"w{self.count}{' ' + secret if secret else ''}"

    def write_lines(self, lines: list[str]) -> None:
        (self.root / TEXT).write_text("".join(f"{line}\n" for line in lines))

    def write_env(self, env: dict[str, str]) -> None:
        (self.root / SETTINGS).write_text(json.dumps({"model": "opus", "env": env}, indent=2))

    def lines(self) -> list[str]:
        return (self.root / TEXT).read_text().splitlines()

    def env(self) -> dict[str, str]:
        return dict(json.loads((self.root / SETTINGS).read_text()).get("env", {}))

    def read(self) -> Tokens:
        """All that the files say; a file that is gone is a failure of its own."""
        for path in (TEXT, SETTINGS):
            assert (self.root / path).exists(), f"{path} was lost: {self.told}"
        assert json.loads((self.root / SETTINGS).read_text()).get("model") == "opus", self.told
        return frozenset(self.lines()) | {f"{key}={value}" for key, value in self.env().items()}

    def harness(self) -> Harness:
        if self.opened is None:
            self.opened = open_workspace(self.root)
        return self.opened

    def close(self) -> None:
        if self.opened is not None:
            self.opened.close()
            self.opened = None

    def run(self) -> None:
        """Do a random order of steps, then see that the way on is open."""
        try:
            for _ in range(self.rnd.randint(*STEPS)):
                self.step()
            self.end()
        finally:
            self.close()

    def step(self) -> None:
        kinds = ["edit"] * 5 + ["adopt"] * 4 + ["undo"] * 4 + ["discard", "redo", "restore", "forget", "forget"]
        kind = self.rnd.choice([*kinds, "forget_entry", "reopen", "reopen"])
        before = self.read()
        self.told.append(kind)
        getattr(self, kind)(before)
        self.check_secret()

    def check_secret(self) -> None:
        if self.clean:
            left = files_holding(self.root / ".takeback", SECRET)
            assert not left, f"the secret is in {left}: {self.told}"

    def check_loss(self, before: Tokens, allowed: Tokens) -> None:
        lost = before - self.read() - allowed
        assert not lost, f"{sorted(lost)} went unasked: {self.told}"

    def edit(self, before: Tokens) -> None:
        lines, env = self.lines(), self.env()
        kind = self.rnd.choice(["add", "add", "drop", "change", "clear", "type", "setting", "unset", "swap"])
        if kind == "add":
            lines.insert(self.rnd.randint(0, len(lines)), self.word())
        elif kind == "drop" and len(lines) > 1:
            lines.pop(self.rnd.randrange(len(lines)))
        elif kind == "change" and lines:
            lines[self.rnd.randrange(len(lines))] = self.word()
        elif kind == "clear":
            lines = [line for line in lines if SECRET not in line] or [self.word()]
            env = {key: value for key, value in env.items() if SECRET not in value}
        elif kind == "type":
            lines.insert(self.rnd.randint(0, len(lines)), self.word(SECRET))
            self.clean = False
        elif kind == "setting":
            env[self.rnd.choice(["A", "B", "KEY"])] = self.word()
        elif kind == "unset" and env:
            env.pop(self.rnd.choice(list(env)))
        elif kind == "swap":
            lines.reverse()
        self.told[-1] += f" {kind}"
        if lines != self.lines():
            self.write_lines(lines)
        if env != self.env():
            self.write_env(env)

    def reopen(self, before: Tokens) -> None:
        self.close()

    def note(self, number: int, before: Tokens) -> None:
        after = self.read()
        self.did[number] = (after - before, before - after)

    def adopt(self, before: Tokens) -> None:
        done = self.harness().adopt()
        assert done is None or isinstance(done, Adopted), (done, self.told)
        self.check_loss(before, frozenset())
        if done is not None:
            self.note(done.entry.number, self.adopted)
            self.adopted = before
        status = self.harness().status()
        assert not status.drift, f"drift is left after an adoption: {status.drift}, {self.told}"

    def discard(self, before: Tokens) -> None:
        done = self.harness().discard()
        if isinstance(done, Refused):
            self.told[-1] += " refused"
            assert self.read() == before, self.told
            self.follow(done, before)
            return
        self.check_loss(before, before - self.adopted)
        if isinstance(done, Discarded):
            self.note(done.entry.number, before)

    def forget(self, before: Tokens) -> None:
        done = self.harness().forget_value(SECRET)
        assert self.read() == before, self.told
        self.told[-1] += f" kept {len(done.kept)}"
        typed = {token for token in before - self.adopted if SECRET in token}  # which the next adoption records
        self.clean = (not done.kept and not typed) or self.clean

    def forget_entry(self, before: Tokens) -> None:
        numbers = sorted(self.did)
        if numbers:
            number = self.rnd.choice(numbers)
            self.told[-1] += f" {number}"
            self.harness().forget(str(number))
        assert self.read() == before, self.told

    def undo(self, before: Tokens) -> None:
        number = self.rnd.choice([*self.did, None]) if self.did else None
        self.toggle(before, "undo", number)

    def redo(self, before: Tokens) -> None:
        self.toggle(before, "redo", self.rnd.choice([*self.did, None]) if self.did else None)

    def restore(self, before: Tokens) -> None:
        self.toggle(before, "restore", self.rnd.choice([1, *self.did]))

    def toggle(self, before: Tokens, verb: str, number: int | None, *, again: bool = False) -> None:
        self.told[-1] += f" {verb} {number or ''}"
        harness = self.harness()
        names = () if number is None else (str(number),)
        try:
            done: Any = getattr(harness, verb)(*names)
            if isinstance(done, Blocked) and done.together is not None:
                self.told[-1] += " cascade"
                done = getattr(harness, verb)(*names, **({} if verb == "restore" else {"cascade": True}))
        except InputError as fault:
            if not fault.expected:
                pytest.fail(f"a refusal without a way out: {fault}, {self.told}")
            assert self.read() == before, self.told
            return
        if isinstance(done, Gone):
            done = self.salvage(done, before, names, verb)
        self.told[-1] += f" -> {type(done).__name__}"
        if isinstance(done, Refused):
            assert self.read() == before, self.told
            assert not again, f"a dead end: {done.message}, {self.told}"
            if self.follow(done, before):
                self.toggle(self.read(), verb, number, again=True)
        elif isinstance(done, Blocked | Gone | Unchanged) or done is None:
            assert self.read() == before, self.told
        else:
            self.check_loss(before, self.allowed(done, number, verb))
            self.note(done.entry.number, before)
            if not isinstance(done, Discarded):
                after = self.read()
                self.adopted = (self.adopted - (before - after)) | (after - before)

    def salvage(self, gone: Gone, before: Tokens, names: tuple[str, ...], verb: str) -> Any:
        assert gone.slots, self.told
        assert self.read() == before, self.told
        if verb != "undo" or not names or not gone.left or self.rnd.random() < 0.3:
            return gone
        self.told[-1] += " salvage"
        return self.harness().salvage(*names)

    def allowed(self, done: Any, number: int | None, verb: str) -> Tokens:
        """Tokens a step may take away: brought by entries it took back, or taken by entries it brought back."""
        if isinstance(done, Discarded):
            return self.did[number][0] if number is not None else frozenset()
        off: set[int] = set() if number is None or verb != "undo" else {number}
        on: set[int] = set() if number is None or verb != "redo" else {number}
        if isinstance(done, Undone):
            off, on = off | set(done.plan.off), on | set(done.plan.on)
        return frozenset().union(
            *(self.did[one][0] for one in off if one in self.did),
            *(self.did[one][1] for one in on if one in self.did),
        )

    def follow(self, refused: Refused, before: Tokens) -> bool:
        """Take the way out that a refusal names: one of the commands in it; tell whether to ask again."""
        ways = [verb for verb in ("adopt", "discard", "show") if f"takeback {verb}" in refused.message]
        assert ways, f"a refusal without a way out: {refused.message}, {self.told}"
        if ways == ["show"]:  # what is asked for is gone for good, or is copied by hand
            return False
        way = self.rnd.choice(ways)
        self.told.append(f"  ({way})")
        if way == "discard":
            done = self.harness().discard()
            assert not isinstance(done, Refused) or "takeback adopt" in done.message, (done, self.told)
            if not isinstance(done, Refused):
                self.check_loss(before, before - self.adopted)
                if done is not None:
                    self.note(done.entry.number, before)
                return True
        self.adopt(before)
        return True

    def end(self) -> None:
        """See that nothing is stuck: what is there can be adopted, and a new line comes and goes."""
        self.close()
        self.told.append("end")
        self.adopt(self.read())
        before = self.read()
        self.write_lines([*self.lines(), "the last line"])
        done = self.harness().adopt()
        assert isinstance(done, Adopted), (done, self.told)
        back = self.harness().undo(done.entry.id)
        assert isinstance(back, Undone), (back, self.told)
        assert self.read() == before, self.told
        with closing(open_workspace(self.root)) as again:
            assert not again.status().drift, self.told
        assert not self.harness().forget_value(SECRET).kept, self.told
        self.clean = True
        self.close()
        self.check_secret()
        assert self.read() == before, self.told
