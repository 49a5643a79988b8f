"""JSON in odd but legal formatting, made from a seed: for tests of edits in place."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

from takeback.adapters.formats.json_document import CommentedJsonDocument, Json5Document, JsoncDocument, JsonDocument

DIALECTS = (JsonDocument, CommentedJsonDocument, JsoncDocument, Json5Document)
KEYS = ["a", "b", "c d", "e.f", "ü", "$x", "//", "a,b", "true"]
SCALARS = [None, True, False, 0, -5, 1.5, "", 'x"\\', "# no // comment", "/* */ , ]", "é\n", 2**62, "it's", "x" * 300]


@dataclass
class OddWriter:
    """Writes values, each container in a layout of its own unless the document is uniform."""

    kind: type[JsonDocument]
    rnd: random.Random
    comments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        choose = self.rnd.choice
        self.newline = choose(["\n", "\n", "\r\n"])
        self.unit = choose(["  ", "    ", "\t", " "])
        self.colon = choose([":", ": ", " : ", ":  "])
        self.pad = choose(["", " "])
        self.gap = choose(["", " "])
        self.layouts = choose(
            [["inline"], ["lines"], ["commas first"], ["inline", "lines", "commas first", "packed"]]
        )
        dialect = self.kind.dialect
        self.commented = dialect.comments and self.rnd.random() < 0.6
        self.trailing = dialect.trailing_comma and self.rnd.random() < 0.5
        self.json5 = dialect.json5
        self.quote = choose(["'", '"']) if self.json5 else '"'

    def document(self, value) -> bytes:
        text = self.comment(line=True) + self.value(value, "") + self.comment(line=False)
        start = self.rnd.choice(["", "", "\ufeff"])
        end = self.rnd.choice(["", self.newline, self.newline * 2])
        lead = self.rnd.choice(["", "", self.newline])
        return (start + lead + text + end).encode()

    def value(self, value, indent: str) -> str:
        if isinstance(value, dict):
            items = [
                self.key(key) + self.separator() + self.value(item, indent + self.unit) for key, item in value.items()
            ]
            return self.container("{", items, "}", indent)
        if isinstance(value, list):
            return self.container("[", [self.value(item, indent + self.unit) for item in value], "]", indent)
        return self.scalar(value)

    def separator(self) -> str:
        return f" {self.block()}: {self.block()}" if self.commented and self.rnd.random() < 0.1 else self.colon

    def key(self, key: str) -> str:
        bare = self.json5 and key.replace("$", "_").isidentifier() and self.rnd.random() < 0.7
        return key if bare else self.scalar(key)

    def scalar(self, value) -> str:
        text = json.dumps(value, ensure_ascii=self.rnd.random() < 0.2)
        if not self.json5:
            return text
        if isinstance(value, str):
            if self.quote == "'":
                inside = text[1:-1].replace('\\"', '"').replace("'", "\\'")
                text = f"'{inside}'"
            return text[:1] + self.rnd.choice(["", f"\\{self.newline}"]) + text[1:]
        if isinstance(value, int) and not isinstance(value, bool):
            return self.rnd.choice([text, f"{'-' if value < 0 else '+'}{abs(value)}", hex(value)])
        return self.rnd.choice([text, "+1.50", "1.5e0"]) if value == 1.5 else text

    def container(self, start: str, items: list[str], end: str, indent: str) -> str:
        layout = self.rnd.choice(self.layouts)
        inner, newline = indent + self.unit, self.newline
        if not items:
            return start + self.rnd.choice(["", "", self.pad, f"{newline}{indent}", self.comment(line=False)]) + end
        if layout in {"inline", "packed"}:
            pad = self.pad if layout == "inline" else self.rnd.choice(["", " ", "\t", newline])
            gap = self.gap if layout == "inline" else self.rnd.choice(["", " ", newline + inner])
            tail = self.rnd.choice(["", ","]) if self.trailing else ""
            return (
                start
                + pad
                + ("," + gap).join(self.block() + item + self.block() for item in items)
                + tail
                + pad
                + end
            )
        if layout == "commas first":
            text = f"{newline}{indent}, ".join(item + self.comment(line=False) for item in items)
            return f"{start} {text}{newline}{indent}{end}"
        text = ""
        for at, item in enumerate(items):
            comma = "," if at + 1 < len(items) or self.trailing else ""
            text += f"{newline}{self.above(inner)}{inner}{item}{comma}{self.comment(line=False)}"
        return f"{start}{text}{newline}{self.above(indent)}{indent}{end}"

    def above(self, indent: str) -> str:
        return self.rnd.choice(["", "", self.newline, self.comment(line=True, indent=indent)])

    def mark(self) -> str:
        self.comments.append(f"c{len(self.comments)}.")
        return self.comments[-1]

    def block(self) -> str:
        return f"/* {self.mark()} */" if self.commented and self.rnd.random() < 0.15 else ""

    def comment(self, *, line: bool, indent: str = "") -> str:
        """A comment with lines of its own, or one behind something on its line."""
        if not self.commented or self.rnd.random() < 0.6:
            return ""
        if line:
            long = f"/* {self.mark()}{self.newline} and so on */"
            return indent + self.rnd.choice([f"// {self.mark()}", long]) + self.newline
        return f" // {self.mark()}{self.newline}" if self.rnd.random() < 0.2 else f" /* {self.mark()} */"


def any_value(rnd: random.Random, depth: int = 1):
    """A value; lists of equal items are frequent."""
    kind = rnd.random()
    if depth > 3 or kind < 0.5:
        return rnd.choice(SCALARS)
    if kind < 0.75:
        equal = rnd.random() < 0.2
        return (
            [rnd.choice(SCALARS[:4])] * 3 if equal else [any_value(rnd, depth + 1) for _ in range(rnd.randrange(4))]
        )
    return {key: any_value(rnd, depth + 1) for key in rnd.sample(KEYS, rnd.randrange(4))}


def any_mapping(rnd: random.Random):
    """The value of a whole document."""
    return {key: any_value(rnd) for key in rnd.sample(KEYS, rnd.randrange(5))}


def paths(value, above=()):
    """Every path in a value, the empty one included."""
    yield above
    if isinstance(value, dict | list):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*above, step))
