"""The contract of a binding as checks any kind can run; `examine_binding` runs them all and reports.

Each check is given a `BindingSubject`: how to open a binding on the same place again, and records to write. It works
on records of its own and removes them. It raises `ConformanceError` with what it expected; one that the place, or the
subject, does not provide for is left out and said so. How a place guards others' writes is measured by its probe.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from takeback.adapters.bindings.probe import WRITERS, WRITES, probe_binding, remove_record
from takeback.adapters.bindings.protocol import Binding, RecordChange, Seen, fill_in, is_as_known
from takeback.adapters.conformance import NotProvidedFor, Report, run_check
from takeback.errors import ChangedMeanwhile, InputError, UnreachableError
from takeback.journal.conformance import ConformanceError, expect
from takeback.state import ABSENT

TURNS: Final = 10
"""How often each of two programs writes while the other does."""


@dataclass(frozen=True)
class BindingSubject:
    """What a check works on."""

    open: Callable[[], Binding]
    """Opens a binding on the same place, as another process would."""
    make_record: Callable[[str, int], dict[str, Any]]
    """Returns a record for a name and a number; its field `ours` differs from number to number."""
    ours: str
    theirs: str | None = None
    """A field for whole numbers that other programs write; None where a record is one text."""
    guard: str = "atomic"
    """What a probe is expected to find."""
    race: tuple[int, int] = (WRITERS, WRITES)
    """How many writers the probe's race has, and how many writes each."""
    open_dead: Callable[[], Binding] | None = None
    """Opens a binding to a place where nothing answers."""


BindingCheck = Callable[[BindingSubject], None]


def examine_binding(subject: BindingSubject) -> Report:
    """Run every check."""
    outcomes = [run_check(check, lambda: subject, required=True) for check in CHECKS]
    return Report(tuple(replace(outcome, required=outcome.outcome != "left out") for outcome in outcomes))


@contextmanager
def _open(subject: BindingSubject) -> Iterator[tuple[Binding, str]]:
    """Yield a binding and a name that no record has; the record is removed at the end."""
    with closing(subject.open()) as binding:
        name = binding.make_probe_name(secrets.token_hex(6))
        try:
            yield binding, name
        finally:
            remove_record(binding, name)


def _look(binding: Binding, name: str) -> Seen:
    seen = binding.look(name)
    if seen is None:
        raise ConformanceError("a record that was made is not there")
    return seen


def _require_guarded(subject: BindingSubject) -> None:
    if subject.guard == "none":
        raise NotProvidedFor("the place ignores conditions")


def _require_second_field(subject: BindingSubject) -> str:
    if subject.theirs is None:
        raise NotProvidedFor("a record has one field only")
    return subject.theirs


def connects_late_and_says_what_it_is(subject: BindingSubject) -> None:
    """Check that it names its system and its server's version, the same each time."""
    with closing(subject.open()) as binding, closing(subject.open()) as two:
        expect(bool(binding.system), "it does not say what system it is in")
        expect(binding.system == two.system, "two bindings to one place are in two systems")
        expect(bool(binding.find_version()), "it does not say its server's version")
        expect(binding.find_version() == two.find_version(), "the server's version differs from look to look")


def says_that_nothing_is_there(subject: BindingSubject) -> None:
    """Check that a record that nobody made is None."""
    with _open(subject) as (binding, name):
        expect(binding.look(name) is None, "a record that nobody made is there")


def keeps_what_it_wrote_for_everybody(subject: BindingSubject) -> None:
    """Check that a record reads back by value and type, also over another connection, and can be written again."""
    with _open(subject) as (binding, name), closing(subject.open()) as other:
        for number in (1, 2):
            seen, body = binding.look(name), subject.make_record(name, number)
            expect(binding.swap(name, seen, fill_in(seen, body)), "a write over what is known is refused")
            for reader in (binding, other):
                expect(is_as_known(reader.show(reader.look(name)), body, whole=True), "a record changed on its way")


def makes_a_record_once(subject: BindingSubject) -> None:
    """Check that a record is made only where none is."""
    _require_guarded(subject)
    with _open(subject) as (binding, name):
        first, second = subject.make_record(name, 1), subject.make_record(name, 2)
        expect(binding.swap(name, None, first), "a record cannot be made")
        expect(not binding.swap(name, None, second), "a record was made where one is")
        expect(is_as_known(binding.show(binding.look(name)), first), "a refused write changed a record")


def refuses_stale_writes_and_removals(subject: BindingSubject) -> None:
    """Check that what was read before somebody else wrote is neither written over nor removed."""
    _require_guarded(subject)
    with _open(subject) as (binding, name), closing(subject.open()) as other:
        binding.swap(name, None, subject.make_record(name, 1))
        stale, known = _look(binding, name), _look(other, name)
        theirs = subject.make_record(name, 2)
        expect(other.swap(name, known, fill_in(known, theirs)), "a write over what is known is refused")
        body = fill_in(stale, subject.make_record(name, 3))
        expect(not binding.swap(name, stale, body), "a stale write was made")
        expect(not binding.swap(name, stale, None), "a stale removal was made")
        expect(is_as_known(binding.show(binding.look(name)), theirs), "a refused write changed a record")


def removes_and_does_not_write_on_nothing(subject: BindingSubject) -> None:
    """Check that a record goes, and that one that others removed is not made anew by a write."""
    with _open(subject) as (binding, name):
        binding.swap(name, None, subject.make_record(name, 1))
        seen = _look(binding, name)
        expect(binding.swap(name, seen, None), "a record cannot be removed")
        expect(binding.look(name) is None, "a record that was removed is there")
        _require_guarded(subject)
        expect(not binding.swap(name, seen, subject.make_record(name, 2)), "a removed record was written")
        expect(binding.look(name) is None, "a removed record came back")


def puts_its_fields_and_leaves_others_alone(subject: BindingSubject) -> None:
    """Check that a field is put and put back while another program writes another field in between."""
    theirs, ours = _require_second_field(subject), subject.ours
    with _open(subject) as (binding, name), closing(subject.open()) as other:
        old, new = (subject.make_record(name, number)[ours] for number in (1, 2))
        binding.put(RecordChange(name, None, subject.make_record(name, 1)))
        binding.put(RecordChange(name, {ours: old}, {ours: new}))
        other.put(RecordChange(name, {theirs: ABSENT}, {theirs: 7}))
        binding.put(RecordChange(name, {ours: new}, {ours: old}))
        body = {**subject.make_record(name, 1), theirs: 7}
        expect(is_as_known(binding.show(binding.look(name)), body, whole=True), "a field of others was lost")
        binding.put(RecordChange(name, {theirs: 7}, {theirs: ABSENT}))
        expect(theirs not in (binding.show(binding.look(name)) or {}), "a field cannot be taken away")


def refuses_to_put_over_others(subject: BindingSubject) -> None:
    """Check that a field that others wrote, and a record that they wrote in, stay as they have them."""
    ours = subject.ours
    with _open(subject) as (binding, name), closing(subject.open()) as other:
        first, second, third = (subject.make_record(name, number) for number in (1, 2, 3))
        binding.put(RecordChange(name, None, first))
        other.put(RecordChange(name, {ours: first[ours]}, {ours: second[ours]}))
        for wanted in ({ours: third[ours]}, None):
            expect(_is_refused(binding, RecordChange(name, first, wanted)), "what others wrote was written over")
        expect(_is_refused(binding, RecordChange(name, None, third)), "a record was made where one is")
        body = {**first, ours: second[ours]}
        expect(is_as_known(binding.show(binding.look(name)), body), "a refused change changed a record")
        theirs = _require_second_field(subject)
        other.put(RecordChange(name, {theirs: ABSENT}, {theirs: 7}))
        expect(_is_refused(binding, RecordChange(name, body, None)), "a record that others wrote in was removed")
        expect(binding.look(name) is not None, "a record that others wrote in is gone")


def _is_refused(binding: Binding, change: RecordChange) -> bool:
    try:
        binding.put(change)
    except ChangedMeanwhile:
        return True
    return False


def hides_what_is_not_declared(subject: BindingSubject) -> None:
    """Check that with `fields`, other fields are neither shown nor written, and stay."""
    theirs, ours = _require_second_field(subject), subject.ours
    with _open(subject) as (binding, name):
        record = subject.make_record(name, 1)
        binding.put(RecordChange(name, None, {**record, theirs: 7}))
        given = {**binding.given, "fields": [ours]}
        with closing(type(binding)(binding.name, given)) as narrow:
            shown = narrow.show(narrow.look(name))
            expect(shown is not None and set(shown) == {ours}, "a field that is not declared is shown")
            try:
                narrow.put(RecordChange(name, {ours: record[ours]}, {theirs: 8}))
            except InputError:
                pass
            else:
                raise ConformanceError("a field that is not declared was written")
            changed = subject.make_record(name, 2)[ours]
            narrow.put(RecordChange(name, {ours: record[ours]}, {ours: changed}))
        wanted = {ours: changed, theirs: 7}
        expect(is_as_known(binding.show(binding.look(name)), wanted), "a field that is not declared did not stay")


def changes_records_of_one_system_together(subject: BindingSubject) -> None:
    """Check that several changes are made and told one by one, and that a refused one is not."""
    with _open(subject) as (binding, first), _open(subject) as (other, two):
        changes = [RecordChange(name, None, subject.make_record(name, 1)) for name in (first, two)]
        done = list(binding.put_together([(binding, changes[0]), (other, changes[1])]))
        expect([change.name for change in done] == [first, two], "changes that were made are not told")
        for name, change in zip((first, two), changes, strict=True):
            expect(is_as_known(binding.show(binding.look(name)), change.wanted), "a change was told and not made")
        applied: list[RecordChange] = []
        again = [RecordChange(name, subject.make_record(name, 2), None) for name in (first, two)]
        try:
            for change in binding.put_together([(binding, again[0]), (other, again[1])]):
                applied.append(change)  # noqa: PERF402 - it may stop half-way
        except ChangedMeanwhile:
            pass
        else:
            raise ConformanceError("changes over what others wrote were made")
        expect(not applied, "a change was told and refused")


def loses_nothing_while_others_write(subject: BindingSubject) -> None:
    """Check that two programs that each write a field of one record lose nothing of each other."""
    theirs, ours = _require_second_field(subject), subject.ours
    if subject.guard != "atomic":
        raise NotProvidedFor("the place may lose writes under a race")
    with _open(subject) as (binding, name):
        binding.put(RecordChange(name, None, {**subject.make_record(name, 0), theirs: 0}))
        faults: list[Exception] = []

        def write(field: str, values: list[Any]) -> None:
            try:
                with closing(subject.open()) as other:
                    for old, new in pairwise(values):
                        other.put(RecordChange(name, {field: old}, {field: new}))
            except Exception as fault:  # noqa: BLE001 - told below, in the thread that asked
                faults.append(fault)

        numbers = range(TURNS + 1)
        work = [(theirs, list(numbers)), (ours, [subject.make_record(name, number)[ours] for number in numbers])]
        threads = [threading.Thread(target=write, args=job) for job in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(not faults, f"a write failed: {faults[:1]}")
        wanted = {field: values[-1] for field, values in work}
        expect(is_as_known(binding.show(binding.look(name)), wanted), "a write was lost")


def says_that_nothing_answers(subject: BindingSubject) -> None:
    """Check that a place where nothing answers is an error of ours, at looking and at writing."""
    if subject.open_dead is None:
        raise NotProvidedFor("the subject does not say how to open a dead place")
    with closing(subject.open_dead()) as dead:
        for ask in (lambda: dead.look("x"), lambda: dead.swap("x", None, subject.make_record("x", 1))):
            try:
                ask()
            except UnreachableError:
                continue
            raise ConformanceError("a dead place is not told as unreachable")


def guards_as_its_probe_says(subject: BindingSubject) -> None:
    """Check that a probe finds the guard that is expected, and leaves nothing behind."""
    with closing(subject.open()) as binding:
        names: list[str] = []
        whole = binding.make_probe_name
        binding.make_probe_name = lambda word: names.append(whole(word)) or names[-1]  # type: ignore[func-returns-value,method-assign]
        probe = probe_binding(binding, writers=subject.race[0], writes=subject.race[1])
        expect(probe.guard == subject.guard, f"a probe found {probe.guard} ({probe.kept} of {probe.made} kept)")
        expect(all(binding.look(name) is None for name in names), "a probe left its record behind")


CHECKS: tuple[BindingCheck, ...] = (
    connects_late_and_says_what_it_is,
    says_that_nothing_is_there,
    keeps_what_it_wrote_for_everybody,
    makes_a_record_once,
    refuses_stale_writes_and_removals,
    removes_and_does_not_write_on_nothing,
    puts_its_fields_and_leaves_others_alone,
    refuses_to_put_over_others,
    hides_what_is_not_declared,
    changes_records_of_one_system_together,
    loses_nothing_while_others_write,
    says_that_nothing_answers,
    guards_as_its_probe_says,
)
