"""Measures how a binding guards others' writes: eight questions in sequence, then a race of writers on one key.

`atomic`: stale writes are refused and the race lost nothing. `checked`: they are refused one after the other, and the
race lost some. `none`: they are not refused. The probe works on a record of its own, which it removes.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from takeback.adapters.bindings.protocol import Binding, Seen, fill_in, is_as_known
from takeback.errors import TakebackError, UnreachableError
from takeback.progress import report_progress

WRITERS: Final = 6
WRITES: Final = 50
MOST: Final = 4000
"""So often one write of the race is tried."""
ADVISORY: Final = frozenset({"aba seen"})
"""What a guard may fail in: a version that names content comes back with it."""


@dataclass(frozen=True, slots=True)
class GuardProbe:
    """What a probe found."""

    guard: str
    answers: dict[str, bool]
    made: int
    kept: int
    version: str
    at: str

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        values = {name: getattr(self, name) for name in ("guard", "answers", "made", "kept", "version", "at")}
        return {**values, "lost": self.made - self.kept}


def probe_binding(binding: Binding, *, writers: int = WRITERS, writes: int = WRITES) -> GuardProbe:
    """Ask and race; raises where a record of its own cannot be made."""
    name = binding.make_probe_name(secrets.token_hex(6))
    version = binding.find_version()
    try:
        answers = _ask(binding, name)
        sound = all(given for question, given in answers.items() if question not in ADVISORY)
        made, kept = _race(binding, name, writers, writes) if sound else (0, 0)
    finally:
        remove_record(binding, name)
    guard = "none" if not sound else "atomic" if made == kept else "checked"
    return GuardProbe(guard, answers, made, kept, version, datetime.now(UTC).isoformat(timespec="seconds"))


def _look(binding: Binding, name: str) -> Seen:
    seen = binding.look(name)
    if seen is None:
        raise UnreachableError(f"{binding.name}: the record of the probe is gone again, or was never made")
    return seen


def _ask(binding: Binding, name: str) -> dict[str, bool]:
    first_record, second_record = binding.make_probe(1), binding.make_probe(2)
    answers = {
        "create": binding.swap(name, None, first_record)
        and is_as_known(binding.show(binding.look(name)), first_record)
    }
    if not answers["create"]:
        raise UnreachableError(
            f"{binding.name}: a record of the probe's own ({name}) could not be made and read back",
            hint=f"say in [bindings.{binding.name}] probe what it is to write, with {{n}} for a number",
        )
    first = _look(binding, name)
    answers["create once"] = not binding.swap(name, None, second_record)
    first = _look(binding, name)
    answers["write"] = binding.swap(name, first, fill_in(first, second_record))
    second = _look(binding, name)
    stale = not binding.swap(name, first, fill_in(first, first_record))
    answers["stale write refused"] = stale and is_as_known(binding.show(binding.look(name)), second_record)
    answers["stale delete refused"] = not binding.swap(name, first, None) and binding.look(name) is not None
    if binding.look(name) is None:
        binding.swap(name, None, second_record)
        second = _look(binding, name)
    again = _look(binding, name)
    binding.swap(name, again, fill_in(again, first_record))
    again = _look(binding, name)
    binding.swap(name, again, fill_in(again, second_record))
    answers["aba seen"] = not binding.swap(name, second, fill_in(second, first_record))
    last = _look(binding, name)
    answers["delete"] = binding.swap(name, last, None) and binding.look(name) is None
    answers["write on nothing refused"] = not binding.swap(name, last, fill_in(last, first_record))
    remove_record(binding, name)
    return answers


def remove_record(binding: Binding, name: str) -> None:
    """Remove a record of our own, also where somebody writes to it meanwhile."""
    for _ in range(5):
        seen = binding.look(name)
        if seen is None or binding.swap(name, seen, None):
            return


def _race(binding: Binding, name: str, writers: int, writes: int) -> tuple[int, int]:
    """Have writers add one each time, under the condition; return how many were made, and how many are there."""
    numbers = {_make_text(binding, number): number for number in range(writers * writes + 1)}
    binding.swap(name, None, binding.make_probe(0))
    made, faults = [0] * writers, list[TakebackError]()

    def add(writer: int) -> None:
        try:
            for _ in range(writes):
                made[writer] += _add_one(binding, name, numbers)
                report_progress("writes of the race", sum(made), writers * writes)
        except TakebackError as fault:
            faults.append(fault)

    _run_threads([lambda at=writer: add(at) for writer in range(writers)])  # type: ignore[misc]
    if faults:
        raise faults[0]
    return sum(made), numbers[_find_text(binding, _look(binding, name))]


def _run_threads(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=job) for job in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _add_one(binding: Binding, name: str, numbers: dict[str, int]) -> int:
    for _ in range(MOST):
        seen = _look(binding, name)
        number = numbers[_find_text(binding, seen)]
        if binding.swap(name, seen, fill_in(seen, binding.make_probe(number + 1))):
            return 1
    raise UnreachableError(f"{binding.name}: one of the race's writes was refused {MOST} times")


def _make_text(binding: Binding, number: int) -> str:
    return _find_text(binding, Seen(binding.make_probe(number), ""))


def _find_text(binding: Binding, seen: Seen) -> str:
    """Return what of a record the probe wrote, as text."""
    fields = sorted(binding.make_probe(0))
    return repr([seen.body.get(field) for field in fields])
