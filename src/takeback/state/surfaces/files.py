"""Files: a sandbox of relative paths. Content, mode and path count; times and inodes do not.

Directories are containers of the tree. A path that could leave the sandbox is refused when it is read, here. A
symbolic link is a file whose mode says so; what an adapter cannot store of all this is refused before it is written
(`why_not_regular`).

`ProjectSurface` holds a project's own files, as far as they were changed since tracking began: a surface of its own,
because a client's files keep their meaning elsewhere, but to people it is `files["path"]` all the same. It has no
operations: what is in it was recorded, and is taken back by slots. It is registered where a project is tracked.
"""

from __future__ import annotations

import base64
import binascii
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import InputError, LimitError, OperationFailed
from takeback.state import part_slots, tree, values
from takeback.state.address import PATH, is_part
from takeback.state.chain import Link
from takeback.state.file import DEFAULT_MODE, LINK_MODE, File
from takeback.state.file_paths import find_current_path, list_place_claims, name_slot, why_elsewhere
from takeback.state.forgotten import Forgotten
from takeback.state.harness_state import State
from takeback.state.operation import Captured, Kind, Level, Operation, Requirement, Stage
from takeback.state.part_slots import link_from_json, link_to_json
from takeback.state.pmap import ABSENT, EMPTY, PMap
from takeback.state.slots import Slot, find_containing_slot, get_slot
from takeback.state.surface import EXISTENCE, SURFACES, Strategy, register
from takeback.state.text import READS, SCHEMA, Text, apply_edit, group_edits_by_path, make_probe_texts, read_edit
from takeback.state.tree import TreePath
from takeback.state.tree_surface import TreeSurface, capture, restore
from takeback.state.values import read_storable_text

MAX_PATH: Final = 4000
"""Bytes of a path, as of every path on disk."""
MAX_LEVELS: Final = 256
MAX_NAME_BYTES: Final = 255
KEEP_MODE: Final = -1
"""As the mode of a written file: keep the mode of the file that is there, or use the default."""
_MODE = re.compile(rf"[0-7]{{4}}|{LINK_MODE:o}")
_PERMISSIONS: Final = 0o777


def write_file(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Write the file, keeping the mode of one that is there unless a mode is given."""
    there = tree.get(value, op.path)
    if type(there) is PMap:
        raise OperationFailed(f"{op.target!r} is a directory")
    content = op.value
    if content.mode == KEEP_MODE:
        content = File(content.content, DEFAULT_MODE if there is ABSENT else there.mode)
    return tree.put(value, op.path, content), None


def restore_file(value: PMap, op: Operation, captured: Captured | None) -> PMap:
    """Restore as trees do, but never take a directory for a file."""
    gone = captured is None or captured.content is ABSENT
    if gone and type(tree.get(value, op.path)) is PMap:
        raise OperationFailed(f"{op.target!r} is a directory")
    return restore(value, op, captured)


def edit_file(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Replace one stretch of a UTF-8 file; its mode stays."""
    there = tree.get(value, op.path)
    lines = there.parts() if isinstance(there, File) else None
    if lines is None:
        raise OperationFailed(f"there is no file with UTF-8 text at {op.target!r}")
    return tree.put(value, op.path, there.replace_parts(apply_edit(lines, op.value))), None


def remove_file(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Remove the file; where there is none, nothing happens. Directories stay."""
    if type(tree.get(value, op.path)) is PMap:
        raise OperationFailed(f"{op.target!r} is a directory")
    return tree.drop(value, op.path), None


def remove_directory(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Remove the directory with all that is in it; where there is none, nothing happens. A file stays."""
    if type(tree.get(value, op.path)) is File:
        raise OperationFailed(f"{op.target!r} is a file")
    return tree.drop(value, op.path), None


def why_not_regular(op: Operation) -> str | None:
    """Return why an operation writes what is no regular file of a readable name; None where it does not."""
    if op.kind.surface != "files" or op.kind.stage is not Stage.FORWARD:
        return None
    names = [op.target, *(["/".join(op.value)] if op.kind.name == "move_file" else ())]
    if any("\udc80" <= char <= "\udcff" for name in names for char in name):
        return f"the name of {op.address} is not UTF-8"
    mode = op.value.mode if isinstance(op.value, File) else KEEP_MODE
    if mode == LINK_MODE:
        return f"{op.address} would be a link"
    return f"{op.address} would have mode {mode:04o}" if mode != KEEP_MODE and mode & ~_PERMISSIONS else None


def move_file(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Put the file elsewhere, where nothing may stand yet."""
    there = tree.get(value, op.path)
    if type(there) is not File:
        raise OperationFailed(f"there is no file {op.target!r}")
    if tree.get(value, op.value) is not ABSENT:
        raise OperationFailed(f"{'/'.join(op.value)!r} is there already")
    return tree.put(tree.drop(value, op.path), op.value, there.whole()), None


_READS = ("ancestors are directories", "the path is a directory", "mode, to keep it")
_TEXT_SCHEMA = {"type": "string", "maxLength": 2000}
_FILE_SCHEMA = {
    "type": "object",
    "properties": {"content": _TEXT_SCHEMA, "mode": {"type": "string", "pattern": "^0[0-7]{3}$"}},
    "required": ["content"],
    "additionalProperties": False,
}
_PATH_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 200}


class FilesSurface(TreeSurface):
    """Sandbox path → {content, mode}."""

    name = "files"
    strict = True
    movable = True
    kinds: tuple[Kind, ...] = (
        Kind.capture("capture_file", Level.L1, capture),
        Kind.forward(
            "write_file",
            Level.L1,
            write_file,
            verb="set",
            reads=_READS,
            schema={"anyOf": [_TEXT_SCHEMA, _FILE_SCHEMA]},
        ),
        Kind.recovery("restore_file", Level.L1, restore_file, reads=_READS),
        Kind.recovery("delete_file", Level.L1, restore_file, removes=True, reads=_READS),
        Kind.forward("edit_file", Level.L2, edit_file, verb="edit", inside=True, reads=READS, schema=SCHEMA),
        Kind.forward("remove_file", Level.L2, remove_file, verb="remove", value=Requirement.FORBIDDEN, reads=_READS),
        Kind.forward(
            "remove_directory",
            Level.L2,
            remove_directory,
            value=Requirement.FORBIDDEN,
            clears=True,
            reads=("the path is a file",),
        ),
        Kind.forward(
            "move_file",
            Level.L2,
            move_file,
            verb="move",
            needs=True,
            reads=(*_READS, "the file is there"),
            schema=_PATH_SCHEMA,
        ),
    )

    def read(self, raw: Any, where: str) -> PMap:
        if not isinstance(raw, dict):
            raise InputError(where, found=raw, expected="a mapping of paths")
        root: dict[str, Any] = {}
        for key in raw:
            place = f"{where}[{key!r}]"
            self._add(root, self.target(key, place, None), _read_file(raw[key], place), place)
        return _freeze_tree(root)

    def _add(self, root: dict[str, Any], path: TreePath, content: File | PMap, where: str) -> None:
        node = root
        for name in path[:-1]:
            node = node.setdefault(name, {})
            if not isinstance(node, dict):
                raise InputError(where, found="a path below a file", expected="a directory above it")
        there = node.setdefault(path[-1], {} if isinstance(content, PMap) else content)
        if isinstance(there, dict) != isinstance(content, PMap):
            raise InputError(where, found="a file and a directory of one name", expected="one of them")

    def write(self, value: PMap) -> Any:
        return {self._name(path, leaf): self._describe_as_is(leaf) for path, leaf in tree.iter_leaves(value)}

    def _name(self, path: TreePath, leaf: Any) -> str:
        """Return where a leaf stands."""
        return find_current_path(path, leaf) if isinstance(leaf, File) else self.join(path)

    def canonical(self, value: PMap) -> Any:
        return {
            self._name(path, leaf): {"directory": True}
            if type(leaf) is PMap
            else {"sha256": leaf.digest, "mode": f"{leaf.mode:04o}"}
            for path, leaf in tree.iter_leaves(value)
        }

    def describe(self, content: Any) -> Any:
        if type(content) is File and content.at is not None:
            return {**self._describe_as_is(content), "at": content.at}
        return self._describe_as_is(content)

    def _describe_as_is(self, content: Any) -> Any:
        if type(content) is PMap:
            if not content:
                return {"directory": True}
            return {self.join(path): self.describe(leaf) for path, leaf in tree.iter_leaves(content)}
        mode = f"{content.mode:04o}"
        try:
            return {"content": content.content.decode(), "mode": mode}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(content.content).decode(), "mode": mode}

    def parts_shown(self, path: TreePath, content: Any) -> Iterator[tuple[TreePath, Any]]:
        if type(content) is PMap and content:
            for name, inner in content.items():
                yield from self.parts_shown((*path, name), inner)
        else:
            yield path, content

    def text(self, content: Any) -> tuple[bytes, str] | None:
        return (content.content, f"{content.mode:04o}") if isinstance(content, File) else None

    def slot_to_json(self, content: Any) -> Any:
        if isinstance(content, PMap):
            return {"directory": {name: self.slot_to_json(node) for name, node in content.items()}}
        if isinstance(content, Link):
            return link_to_json(content)
        text = content.parts() if content.edited else None
        if text is None:
            return self.describe(content)
        at = {} if content.at is None else {"at": content.at}
        return {"lines": text.to_json(), "mode": f"{content.mode:04o}", **at}

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        if path and is_part(path[-1]):
            return link_from_json(raw, path[-1][1:], self.slot_title(path))
        if "directory" in raw:
            return PMap({name: self.slot_from_json(node, (*path, name)) for name, node in raw["directory"].items()})
        mode, at = int(raw["mode"], 8), raw.get("at")
        if "lines" in raw:
            return File(Text.from_json(raw["lines"], self.slot_title(path)), mode, at)
        return File(raw["content"].encode() if "content" in raw else base64.b64decode(raw["base64"]), mode, at)

    def list_claims(self, content: Any) -> Iterator[str]:
        """Yield the path of a file that was moved, and the folders above it; those of every file in a directory."""
        if isinstance(content, PMap):
            for _, leaf in tree.iter_leaves(content):
                yield from self.list_claims(leaf) if not isinstance(leaf, PMap) else ()
            return
        frame = content.frame if isinstance(content, File | Forgotten) else None
        path = frame[1] if isinstance(frame, tuple) else None
        if isinstance(content, Link) and content.id == PATH and not isinstance(content.record, Forgotten):
            path = content.record
        if path is not None:
            yield from list_place_claims(path)

    def differing(self, before: PMap, after: PMap) -> Iterator[TreePath]:
        """Return the highest paths that differ; of a directory that came, each file: others may come beside it."""
        for path in super().differing(before, after):
            new = tree.get(after, path)
            if type(new) is PMap and tree.get(before, path) is ABSENT:
                yield from (leaf for leaf, _ in tree.iter_leaves(new, path))
            else:
                yield path

    def check_slot(self, part: PMap, path: TreePath, names: Sequence[str] = ()) -> None:
        """Check a file, or how long its text is with some lines of it."""
        content = tree.get(part, path)
        if names:
            part_slots.check_parts(content, names, self.slot_title(path))
            return
        for below, leaf in self.parts_shown(path, content) if content is not ABSENT else ():
            if isinstance(leaf, File) and len(leaf.content) > values.MAX_TEXT:
                _read_file(self.describe(leaf), self.slot_title(below))

    def equivalent(self, before: Any, after: Any) -> bool:
        return bool(before == after) if type(before) is type(after) else False

    def join(self, path: TreePath) -> str:
        return name_slot(path)

    def parse_key(self, key: str) -> TreePath:
        return tuple(key.split("/"))

    def target(self, raw: str, where: str, kind: Kind | None) -> TreePath:
        target, encoded = raw, _encode_path(raw, where)
        if len(encoded) > MAX_PATH:
            raise LimitError(where, found=f"a path of {len(target)} characters", expected=f"at most {MAX_PATH} bytes")
        expected = "a relative path inside the sandbox"
        if "\0" in target:
            raise InputError(where, found=target, expected=f"{expected}, without NUL")
        path = tuple(target.split("/"))
        if len(path) > MAX_LEVELS:
            raise LimitError(where, found=f"a path of {len(path)} levels", expected=f"at most {MAX_LEVELS}")
        if any(name in {"", ".", ".."} for name in path):
            raise InputError(where, found=target, expected=f"{expected}, without '..', '.' or empty parts")
        if any(len(name) > MAX_NAME_BYTES for name in encoded.split(b"/")):
            raise LimitError(where, found="a longer name", expected=f"at most {MAX_NAME_BYTES} bytes a name")
        return path

    def why_moved(self, value: PMap, op: Operation) -> str | None:
        return next(filter(None, (why_elsewhere(value, path) for path in self.list_targets(op))), None)

    def list_fields_read(self, kind: Kind) -> frozenset[str]:
        # names on disk need not be UTF-8
        return frozenset({"target", "value"} if kind.name == "move_file" else {"target"})

    def list_targets(self, op: Operation) -> tuple[TreePath, ...]:
        return (op.path, op.value) if op.kind.name == "move_file" else (op.path,)

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        if kind.inside:
            return read_edit(raw, where)
        if kind.name == "move_file":
            return self._destination(target, raw, where)
        plain = {"content": raw} if isinstance(raw, str) else raw
        content = _read_file(plain, where)
        if not isinstance(content, File):
            raise InputError(where, found="a directory", expected="content")
        return content if "mode" in plain else File(content.content, KEEP_MODE)

    def _destination(self, target: str, raw: Any, where: str) -> TreePath:
        path = self.target(raw, where, None)
        shared = min(len(path), len(self.parse_key(target)))
        if path[:shared] == self.parse_key(target)[:shared]:
            raise InputError(where, found=raw, expected="a path that is neither its own nor above or below")
        return path

    def contents(self, path: TreePath, ops: Sequence[Operation], salt: str) -> tuple[Any, ...]:
        """Return, for an edited file, also files that hold what edits replace: once, not at all, or more often."""
        texts = make_probe_texts(edits, salt) if (edits := group_edits_by_path(ops).get(path)) else ()
        return (*(File(content.encode()) for content in texts), *self.generic(path, salt))

    def generic(self, path: TreePath, salt: str) -> tuple[Any, ...]:
        name = encode("/".join(path), ascii_only=True)
        inside = File(f"{salt} in {name}".encode())
        return File(f"{salt}: {name}".encode(), 0o640), EMPTY, PMap({f"inside_{salt}": inside})

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        if strategy in EXISTENCE:
            for path in (path for op in aims for path in self.list_targets(op)):
                value = _vary_path(strategy, value, path, rng)
            for path, edits in group_edits_by_path(aims).items():
                chosen = rng.choice(make_probe_texts(edits, f"prior {rng.randrange(10_000)}"))
                value = tree.put_unless_blocked(value, path, File(chosen.encode()))
        elif strategy == Strategy.NOISE:
            mode = rng.choice((0o600, 0o644, 0o755))
            value = value.put(f"unrelated_{rng.randrange(10_000)}.txt", File(b"unrelated\n", mode))
        elif strategy == Strategy.DEEP_DIRECTORIES:
            path = ("external", "cache", f"partition_{rng.randrange(10_000)}", "meta.json")
            value = tree.put_unless_blocked(value, path, File(b"{}\n"))
        return value


def _encode_path(raw: Any, where: str) -> bytes:
    """Return the bytes of a path; what of a name on disk is not UTF-8 stands in it as Python reads it."""
    if type(raw) is not str:
        raise InputError(where, found=raw, expected="text")
    try:
        encoded = raw.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(where, found="a lone surrogate", expected="text that UTF-8 can hold") from None
    if encoded.decode("utf-8", "surrogateescape") != raw:
        raise InputError(where, found="UTF-8 in pieces", expected="the characters themselves")
    return encoded


def _read_file(raw: Any, where: str) -> File | PMap:
    if not isinstance(raw, dict) or set(raw) - {"content", "base64", "mode", "directory"}:
        raise InputError(where, found=raw, expected='{"content", "mode"}, {"base64", "mode"} or {"directory": true}')
    if "directory" in raw:
        if len(raw) > 1 or raw["directory"] is not True:
            raise InputError(where, found=raw, expected='{"directory": true} alone')
        return EMPTY
    if ("content" in raw) == ("base64" in raw):
        raise InputError(where, found=sorted(raw), expected="one of content and base64")
    mode = raw.get("mode", f"{DEFAULT_MODE:04o}")
    if not isinstance(mode, str) or not _MODE.fullmatch(mode):
        raise InputError(
            f"{where}.mode", found=mode, expected=f'four octal digits such as "0644", or "{LINK_MODE:o}"'
        )
    if "content" in raw:
        content = read_storable_text(raw["content"], f"{where}.content").encode()
    else:
        try:
            encoded = read_storable_text(raw["base64"], f"{where}.base64", longest=2 * values.MAX_TEXT)
            content = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise InputError(f"{where}.base64", found="malformed base64", expected="base64 text") from None
    return File(content, int(mode, 8))


def _vary_path(strategy: str, value: PMap, path: TreePath, rng: random.Random) -> PMap:
    choice = rng.randrange(6)
    if choice <= 1:
        return tree.drop(value, path)
    if choice == 2 and len(path) > 1:  # noqa: PLR2004  (one of six cases)
        return tree.drop(value, path[: rng.randrange(1, len(path))])
    if choice == 3 and len(path) > 1:  # noqa: PLR2004
        above = path[: rng.randrange(1, len(path))]
        filler = File(b"in the way\n") if rng.random() < 0.2 else EMPTY  # noqa: PLR2004
        return tree.put_unless_blocked(tree.drop(value, above), above, filler)
    size = rng.choice((0, 4096)) if strategy == Strategy.BOUNDARY else rng.randrange(1, 40)
    return tree.put_unless_blocked(value, path, File(b"x" * size, rng.choice((0o600, 0o644, 0o755))))


def _freeze_tree(node: dict[str, Any]) -> PMap:
    return PMap({name: _freeze_tree(item) if isinstance(item, dict) else item for name, item in node.items()})


PROJECT: Final = "project"
SHOWN: Final = "files"
"""What it is called where people read it."""


class ProjectSurface(FilesSurface):
    """Path → file, for files of a project that is tracked."""

    name = PROJECT
    kinds = ()

    def slot_title(self, path: TreePath) -> str:
        return SURFACES[SHOWN].slot_title(path)


def view_changed_files(before: State, after: State, slots: Iterable[Slot]) -> tuple[State, State]:
    """Return two states of a project with only some of its files, as `files` at the paths where they stand.

    A path that a file left and another took stands for both: that is how a program sees it.
    """
    chosen = dict.fromkeys(find_containing_slot(slot) for slot in slots if slot[0] == PROJECT)
    return _view_files(before, chosen), _view_files(after, chosen)


def _view_files(state: State, slots: Iterable[Slot]) -> State:
    files: PMap = EMPTY
    for slot in slots:
        file = get_slot(state, slot)
        if isinstance(file, File):
            files = tree.put(files, tuple(find_current_path(slot[1:], file).split("/")), file.with_frame(file.mode))
    return State({SHOWN: files})


def install_project_surface() -> None:
    """Register the surface, once."""
    if PROJECT not in SURFACES:
        register(ProjectSurface())
