"""Edits by hand of a client's files, drawn from a seed: each can be done again without the earlier ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.support.hand_harnesses import AGENT, MAIN, command, group, server, toml_group
from tests.support.written import Box, Edit, File, Files, Lines, Pen

LEFT = 2
"""Lines that are left at least: what is put into an empty text is all of it."""


class Draw:
    """Draws edits that can be done again to a harness in which some of the earlier ones are not."""

    def __init__(self, client: str, rnd: random.Random) -> None:
        self.client = client
        self.rnd = rnd
        self.count = 0

    def edit(self, now: Files) -> tuple[str, str, Edit]:
        """A kind, a path and an edit that changes the harness as it is now."""
        for _ in range(50):
            path = self.rnd.choice([*now.files, MAIN[self.client], MAIN[self.client], MAIN[self.client]])
            file = now.files.get(path)
            kinds = self._kinds(file)
            kind = self.rnd.choice(list(kinds))
            self.count += 1
            edit = kinds[kind](path, file)
            if edit is not None and now.without([edit], {0}).images() != now.images():
                return kind, path, edit
        raise AssertionError("no edit was found")

    def _kinds(self, file: File | None) -> dict[str, Callable[..., Edit | None]]:
        if file is None:
            return {"new file": self._new_file}
        both = {"mode": self._mode, "new file": self._new_file}
        if self.rnd.random() < 0.15:
            both |= {"delete": self._delete}
        if isinstance(file.body, Box):
            more = {"add": self._add, "set": self._set, "remove": self._remove, "move": self._move}
            if not any(self._comments(file)):
                return {**both, **more, "layout": self._layout}
            return {**both, **more, "layout": self._layout, "comment": self._comment}
        return {**both, "insert": self._insert, "replace": self._replace, "drop": self._drop}

    def _comments(self, file: File) -> list[bool]:
        boxes = file.body.below() if isinstance(file.body, Box) else ()
        return [bool(one.lead or one.tail) for box in boxes for one in box.entries]

    def _boxes(self, file: File, *, full: bool = False) -> list[Box]:
        found = list(file.body.below()) if isinstance(file.body, Box) else []
        return [box for box in found if not full or box.entries]

    def _add(self, path: str, file: File) -> Edit | None:
        box = self.rnd.choice(self._boxes(file))
        pen = Pen(self.rnd, comments=False, trailing=False)
        pen.newline, pen.unit = box.style.newline, box.style.unit
        pen.layouts = [box.style.layout]
        name = f"new{self.count}"
        key, value = self._fitting(box, name)
        at = self.rnd.randint(0, len(box.entries))
        anchor = box.entries[at - 1].name if at else None
        entry = pen.entry(value, key, f"{box.name}/{name}")

        def edit(files: Files) -> None:
            there = files.box(path, box.name)
            if there is not None:
                names = [one.name for one in there.entries]
                place = names.index(anchor) + 1 if anchor in names else min(at, len(names))
                there.entries.insert(place, deepcopy(entry))

        return edit

    def _fitting(self, box: Box, name: str) -> tuple[str | None, Any]:
        """A new member or item of the kind that is there."""
        steps = box.name.split("/")[1:]
        if steps[:1] == ["hooks"] and len(steps) == 2:
            return None, group(self.rnd)
        if steps[-1:] == ["hooks"] and len(steps) > 2:
            return None, command(self.rnd)
        if steps == ["hooks"]:
            return "SessionStart" if self.client == "claude-code" else "Notification", [group(self.rnd)]
        if steps[:1] in (["mcpServers"], ["mcp"]) and len(steps) == 1:
            return name, {"type": "local", "command": ["n"]} if steps == ["mcp"] else server(self.rnd)
        if steps[-1:] == ["bash"]:
            return f"{name} *", self.rnd.choice(["ask", "allow"])
        if steps == ["permission"]:
            return name, self.rnd.choice(["ask", "allow", "deny"])
        if box.opening == "[":
            return None, self.rnd.choice([name, "Read", "x"])
        return name, self.rnd.choice(["v", 5, True]) if steps[:1] != ["env"] else "v"

    def _set(self, path: str, file: File) -> Edit | None:
        box = self.rnd.choice(self._boxes(file, full=True))
        scalars = [one for one in box.entries if isinstance(one.value, str) and one.value not in ("{}", "[]")]
        if not scalars:
            return None
        one = self.rnd.choice(scalars)
        if one.key in {'"type"', '"defaultMode"'} or "permission" in box.name.split("/"):
            return None
        new = json.dumps(f"set {self.count}") if one.value.startswith('"') else str(self.count)
        if one.value in ("true", "false"):
            new = "false" if one.value == "true" else "true"

        def edit(files: Files) -> None:
            there = files.box(path, box.name)
            for found in () if there is None else there.entries:
                if found.name == one.name:
                    found.value = new

        return edit

    def _remove(self, path: str, file: File) -> Edit | None:
        box = self.rnd.choice(self._boxes(file, full=True))
        one = self.rnd.choice(box.entries)
        if one.key in {'"type"', '"command"', '"hooks"', '"url"'} or (not box.name and len(box.entries) < 3):
            return None

        def edit(files: Files) -> None:
            there = files.box(path, box.name)
            if there is not None:
                there.entries = [found for found in there.entries if found.name != one.name]

        return edit

    def _move(self, path: str, file: File) -> Edit | None:
        boxes = [box for box in self._boxes(file) if len(box.entries) > 1]
        if not boxes:
            return None
        box = self.rnd.choice(boxes)
        one = self.rnd.choice(box.entries)
        to = self.rnd.randrange(len(box.entries))

        def edit(files: Files) -> None:
            there = files.box(path, box.name)
            found = None if there is None else next((e for e in there.entries if e.name == one.name), None)
            if there is not None and found is not None:
                there.entries.remove(found)
                there.entries.insert(min(to, len(there.entries)), found)

        return edit

    def _layout(self, path: str, file: File) -> Edit | None:
        box = self.rnd.choice(self._boxes(file, full=True))
        layout = self.rnd.choice(["lines", "commas first", "inline", "packed", "loose"])

        def edit(files: Files) -> None:
            there = files.box(path, box.name)
            if there is not None:
                there.style.layout = layout

        return edit

    def _comment(self, path: str, file: File) -> Edit | None:
        box = self.rnd.choice(self._boxes(file, full=True))
        one = self.rnd.choice(box.entries)
        lead = "" if one.lead and self.rnd.random() < 0.4 else f"said {self.count}"

        def edit(files: Files) -> None:
            there = files.box(path, box.name)
            for found in () if there is None else there.entries:
                if found.name == one.name:
                    found.lead = lead

        return edit

    def _mode(self, path: str, file: File) -> Edit:
        mode = self.rnd.choice([0o600, 0o644, 0o755, 0o444])

        def edit(files: Files) -> None:
            if path in files.files:
                files.files[path].mode = mode

        return edit

    def _delete(self, path: str, file: File) -> Edit:
        return lambda files: files.files.pop(path, None) and None

    def _new_file(self, path: str, file: File | None) -> Edit | None:
        folder, _, ending = AGENT[self.client].rpartition("a")
        if self.client == "codex":
            where = f".agents/skills/n{self.count}/SKILL.md"
        else:
            where = f"{folder}n{self.count}{ending}"
        lines = [("0", "---"), ("1", f"name: n{self.count}"), ("2", "description: N"), ("3", "---"), ("4", "New.")]
        final = self.rnd.random() < 0.5
        return lambda files: files.files.__setitem__(where, File(Lines(list(lines), "\n", final=final)))

    def _insert(self, path: str, file: File) -> Edit | None:
        body = file.body
        assert isinstance(body, Lines)
        at = self.rnd.randint(0, len(body.lines))
        text = self.rnd.choice([f"line {self.count}", "- one", ""])
        new = [(f"n{self.count}", text)]
        if path.endswith(".toml"):
            new, at = self._toml_lines(body)
        elif body.lines and body.lines[0][1] == "---":
            at = max(at, 1)
            new = [(f"n{self.count}", f"key{self.count}: v")] if at < 7 else new
        before = body.lines[at - 1][0] if at else ""
        behind = body.lines[at][0] if at < len(body.lines) else ""

        def edit(files: Files) -> None:
            there = files.files.get(path)
            if there is not None and isinstance(there.body, Lines):
                place = there.body.at(before) if before else None
                place = None if place is None else place + 1
                if place is None and behind:  # blank lines have no name: what stands below tells where
                    place = there.body.at(behind)
                place = min(at, len(there.body.lines)) if place is None else place
                there.body.lines[place:place] = new

        return edit

    def _toml_lines(self, body: Lines) -> tuple[list[tuple[str, str]], int]:
        end, name = len(body.lines), f"n{self.count}"
        heads = [at for at, (_, text) in enumerate(body.lines) if text.startswith("[")]
        kind = self.rnd.choice(["comment", "group", "server", "key", "top"])
        if kind == "comment":
            return [(name, f"# said {self.count}")], self.rnd.choice([*heads, end])
        if kind == "group":
            return toml_group(name, "Stop", group(self.rnd)), self.rnd.choice([end, self._after_block(body, heads)])
        if kind == "server":
            lines = [(name, f"[mcp_servers.{name}]"), (f"{name} c", 'command = "n"  # new 7')]
            return lines, self.rnd.choice([end, self._after_block(body, heads)])
        if kind == "key":
            return [
                (name, f"{name} = {self.rnd.choice(['1', '[1, 2]', '{ a = 1 }', chr(39) + 'x' + chr(39)])}")
            ], self._in_table(body)
        return [(name, f"{name} = true")], 1

    def _in_table(self, body: Lines) -> int:
        at = body.at("tui s") or body.at("mcp x c")
        return 1 if at is None else at + 1

    def _after_block(self, body: Lines, heads: list[int]) -> int:
        """Before a table that does not belong to the one above it."""
        free = [at for at in heads if not body.lines[at][1].startswith("  [[")]
        return self.rnd.choice(free) if free else len(body.lines)

    def _replace(self, path: str, file: File) -> Edit | None:
        body = file.body
        assert isinstance(body, Lines)
        if not body.lines:
            return None
        name, text = self.rnd.choice(body.lines)
        new = f"{text} {self.count}"
        if path.endswith(".toml"):
            swaps = {
                '"x"': f'"x{self.count}"',
                "false": "true",
                '"-a"': f'"-a{self.count}"',
                "'a'": "'c'",
                "Line two": "Line",
            }
            swaps |= {"'gpt'": f"'gpt{self.count}'", '"gpt"': f'"gpt{self.count}"', "60": "61", '"true"': '"false"'}
            old = next((one for one in swaps if one in text), None)
            if old is None or not name:
                return None
            new = text.replace(old, swaps[old], 1)
        elif text == "---" or text.startswith(("name:", "#!")) or name in {"f3", "f4", "f5"}:
            return None

        def edit(files: Files) -> None:
            there = files.files.get(path)
            at = there.body.at(name) if there is not None and isinstance(there.body, Lines) else None
            if there is not None and at is not None:
                there.body.lines[at] = (name, new)  # type: ignore[union-attr]

        return edit

    def _drop(self, path: str, file: File) -> Edit | None:
        body = file.body
        assert isinstance(body, Lines)
        names = [
            name for name, text in body.lines if name and text != "---" and not text.startswith(("name:", "desc"))
        ]
        if path.endswith(".toml"):
            names = [
                name
                for name in names
                if name in {"mcp x", "mcp y", "tui", "tui s", "mcp x a", "policy", "notify"}
                or name.startswith("hook ")
            ]
            names = [name for name in names if len(name.split()) <= 2]
        if not names or len(body.lines) <= LEFT:
            return None
        gone = self.rnd.choice(names)
        block = path.endswith(".toml")

        def edit(files: Files) -> None:
            there = files.files.get(path)
            if there is not None and isinstance(there.body, Lines):
                there.body.lines = [
                    one
                    for one in there.body.lines
                    if one[0] != gone and not (block and one[0].startswith(f"{gone} "))
                ]

        return edit
