"""The bindings of one harness: which record is where, whether it may be written, and how it is put.

A binding is opened when a record of it is first touched. Its guard must have been measured (`takeback probe`) with
the settings and the server's version it has now; one that guards nothing needs `allow = "unguarded"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from takeback.adapters.bindings.protocol import Binding, RecordChange, digest_settings, is_as_known, open_binding
from takeback.adapters.roots import PRIVATE
from takeback.canonical import parse_strict, write_pretty
from takeback.errors import ChangedMeanwhile, InputError
from takeback.harness.adapter import OutsideRecord
from takeback.state.surfaces.external import parse_key

GUARDS: Final = f"{PRIVATE}/guards.json"
"""What probes found, kept with date and version."""


class BoundRecords:
    """Records by key, each in the binding that its key names."""

    def __init__(self, root: Path, declared: Mapping[str, Mapping[str, Any]]) -> None:
        self._root = root
        self._declared = declared
        self._open: dict[str, Binding] = {}
        self._versions: dict[str, str] = {}

    def find(self, name: str) -> Binding:
        """Return a binding by its name."""
        if name not in self._declared:
            known = ", ".join(self._declared)
            raise InputError(
                "bindings",
                found=name,
                expected=f"one of {known}" if known else "a binding; this harness has none",
                hint=f"'takeback bind {name} --help' shows how to declare it",
            )
        if name not in self._open:
            self._open[name] = open_binding(name, self._declared[name])
        return self._open[name]

    def close(self) -> None:
        """Let every binding go."""
        for binding in self._open.values():
            binding.close()

    def look(self, key: str) -> dict[str, Any] | None:
        """Return a record, without what is hidden or volatile."""
        name, record = parse_key(key)
        binding = self.find(name)
        return binding.show(binding.look(record))

    def read_guard(self, name: str) -> dict[str, Any] | None:
        """Return what a probe found of a binding with the settings it has now; None if there was none."""
        try:
            kept = parse_strict((self._root / GUARDS).read_text(encoding="utf-8")).get(name)
        except (OSError, ValueError, AttributeError, RecursionError):
            return None
        same = isinstance(kept, dict) and kept.get("settings") == digest_settings(self._declared[name])
        return kept if same else None

    def keep_guard(self, name: str, probed: Mapping[str, Any]) -> None:
        """Keep what a probe found."""
        place = self._root / GUARDS
        try:
            known = parse_strict(place.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            known = {}
        known = known if isinstance(known, dict) else {}
        known[name] = {**probed, "settings": digest_settings(self._declared[name])}
        place.write_text(write_pretty(known) + "\n", encoding="utf-8")

    def describe_guards(self, keys: Iterable[str]) -> dict[str, str]:
        """Return how each binding guards others' writes, as it was measured."""
        names = sorted({parse_key(key)[0] for key in keys})
        kept = {name: self.read_guard(name) for name in names if name in self._declared}
        return {name: "not probed" if guard is None else describe_guard(guard) for name, guard in kept.items()}

    def why_unguarded(self, keys: Iterable[str]) -> str | None:
        """Return why a binding must not be written to; None if all may be."""
        for name in sorted({parse_key(key)[0] for key in keys}):
            binding, kept = self.find(name), self.read_guard(name)
            probe = f"'takeback probe {name}' measures it"
            if binding.given.get("allow") == "unguarded":
                continue
            if kept is None:
                return f"how {name} guards others' writes was never measured with these settings: {probe}"
            if kept["guard"] == "none":
                return (
                    f"{name} does not guard others' writes at all (probed {kept['at'][:10]}): "
                    f'allow = "unguarded" in [bindings.{name}] writes all the same, and {probe} again'
                )
            if name not in self._versions:
                self._versions[name] = binding.find_version()
            if kept["version"] != self._versions[name]:
                return f"the server of {name} is {self._versions[name]} now, and was {kept['version']}: {probe} again"
        return None

    def why_unwritable(self, changes: Iterable[OutsideRecord]) -> str | None:
        """Return why some changes must not be made: a field that is not declared; None if they may."""
        for change in changes:
            name, record = parse_key(change.key)
            try:
                self.find(name).require_visible(RecordChange(record, change.known, change.wanted))
            except InputError as fault:
                return str(fault)
        return None

    def put(self, changes: Sequence[OutsideRecord], done: Callable[[OutsideRecord], None]) -> None:
        """Make changes system by system; those of one database in one transaction."""
        by_system: dict[str, list[tuple[Binding, RecordChange, OutsideRecord]]] = {}
        for change in changes:
            name, record = parse_key(change.key)
            binding = self.find(name)
            made = RecordChange(record, change.known, change.wanted)
            by_system.setdefault(binding.system, []).append((binding, made, change))
        for group in by_system.values():
            by_made = {id(made): change for _, made, change in group}
            for made in group[0][0].put_together([(binding, made) for binding, made, _ in group]):
                done(by_made[id(made)])

    def take_back(self, change: OutsideRecord) -> None:
        """Put back what was there, unless someone has written since."""
        back = OutsideRecord(change.key, change.wanted, change.known)
        try:
            self.put([back], lambda _: None)
        except ChangedMeanwhile:
            return

    def is_applied(self, change: OutsideRecord) -> bool | None:
        """Tell by looking: made, not made, or written by others."""
        there = self.look(change.key)
        if is_as_known(there, change.wanted):
            return True
        return False if is_as_known(there, change.known) else None


def describe_guard(kept: Mapping[str, Any]) -> str:
    """Return what a probe found in a few words: `atomic (lost nothing in 300, 2026-11-17, etcd 3.5.1)`."""
    lost = kept["made"] - kept["kept"]
    word = f"lost nothing in {kept['made']}" if not lost else f"lost {lost} of {kept['made']}"
    guarding = "ignores conditions" if kept["guard"] == "none" else word
    return f"{kept['guard']} ({guarding}, {kept['at'][:10]}, {kept['version'][:40]})"
