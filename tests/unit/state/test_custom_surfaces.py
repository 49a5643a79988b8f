"""Surfaces of one's own that are not keyed: one from scratch, which is one slot, and one that is a chain."""

from __future__ import annotations

import random
from abc import ABC

import pytest
from tests.support.running import op

from takeback.adapters import open_memory
from takeback.errors import InputError
from takeback.language import read_candidate
from takeback.state import (
    ABSENT,
    SURFACES,
    Captured,
    Change,
    Component,
    Kind,
    Level,
    PMap,
    State,
    Surface,
    register,
    unregister,
)
from takeback.state.chain import NO_LINKS, Chain, Link
from takeback.state.chain_surface import ChainSurface
from takeback.state.part_slots import chain_from_json, chain_to_json, keep_places
from takeback.state.slots import dump_state, find_differing_slots
from takeback.state.surface import Provable, Slotted
from takeback.verify import Grade, prove, verify
from takeback.verify.shrink import shrink_state

TARGET = "all"


def _names(raw, where, kind):
    del kind
    if type(raw) is not str or not raw:
        raise InputError(where, found=raw, expected="a name")
    return raw


class Motto(Surface):
    """One text, with nothing that `Surface` does not ask for."""

    name = "motto"
    empty = ""
    kinds = (
        Kind.capture("capture_motto", Level.L0, lambda value, op: Captured("motto", op.target, value)),
        Kind.forward("set_motto", Level.L0, lambda value, op: (op.value, None), verb="set"),
        Kind.recovery("restore_motto", Level.L0, lambda value, op, captured: captured.content),
        Kind.recovery("clear_motto", Level.L0, lambda value, op, captured: "", removes=True),
    )

    def read(self, raw, where):
        if type(raw) is not str:
            raise InputError(where, found=raw, expected="a text")
        return raw

    def write(self, value):
        return value

    canonical = describe = write

    def diff(self, before, after):
        if before != after:
            yield Change(self.address(TARGET), before, after)

    def equivalent(self, before, after):
        return before == after

    def target(self, raw, where, kind):
        return _names(raw, where, kind)

    def value(self, kind, target, raw, where):
        return self.read(raw, where)

    def perturb(self, strategy, value, aims, rng: random.Random):
        return rng.choice([value, "", f"motto {rng.randrange(10_000)}"])

    def components(self, ops, salt):
        return (Component("motto", (lambda value: salt, lambda value: "")),) if ops else ()

    def bystander(self, value, salt):
        return value

    def entries(self, value):
        if value:
            yield self.address(TARGET), lambda value: ""

    def size(self, value):
        return int(bool(value))


class Queue(ChainSurface):
    """Songs in order."""

    name = "queue"
    empty = NO_LINKS
    kinds = (
        Kind.capture(
            "capture_song", Level.L0, lambda value, op: Captured("queue", op.target, value.find(op.target) or ABSENT)
        ),
        Kind.forward(
            "queue_song", Level.L0, lambda value, op: (value.insert(0, op.target, op.value)[0], None), verb="add"
        ),
        Kind.recovery(
            "restore_song",
            Level.L0,
            lambda value, op, was: value.drop(op.target) if was.content is ABSENT else value.put(was.content),
        ),
        Kind.recovery("skip_song", Level.L0, lambda value, op, was: value.drop(op.target), removes=True),
    )

    def paths(self, before, after):
        return ((),)

    def chain(self, value, path):
        return value

    def with_chain(self, value, path, chain):
        return chain

    def read(self, raw, where):
        if not isinstance(raw, list):
            raise InputError(where, found=raw, expected="a list of songs")
        return Chain.of((name, PMap({"id": name})) for name in raw)

    def write(self, value):
        return list(value.ids())

    canonical = write

    def describe(self, content):
        return content.id if isinstance(content, Link) else str(content)

    def diff(self, before, after):
        changed = before.differences(after)
        for name, one, two in changed:
            if one is None or two is None:
                yield Change(self.address(name), one or ABSENT, two or ABSENT)
        for name in before.find_moved(after, changed):
            yield Change(self.address(name), "moved", "moved")

    def equivalent(self, before, after):
        return before == after

    def target(self, raw, where, kind):
        return _names(raw, where, kind)

    def value(self, kind, target, raw, where):
        return PMap({"id": target})

    def find_written_slots(self, op):
        return ((op.target,),)

    def overlaps(self, one, two):
        return True

    def dump(self, part):
        return chain_to_json(part)

    def load(self, raw):
        return chain_from_json(raw, self.name)

    def transfer_places(self, fresh, known):
        return keep_places(fresh, known)

    def perturb(self, strategy, value, aims, rng: random.Random):
        for aim in aims:
            value = value.drop(aim.target)
            if rng.random() < 0.5:
                value = value.insert(rng.randrange(len(value) + 1), aim.target, PMap({"id": aim.target}))[0]
        return value

    def components(self, ops, salt):
        names = dict.fromkeys(one.target for one in ops)
        return tuple(self.element_component((), PMap({"id": name}), moved=True) for name in names)

    def bystander(self, value, salt):
        return value.insert(0, salt, PMap({"id": salt}))[0]


@pytest.fixture(autouse=True)
def registered():
    register(Motto())
    register(Queue())
    yield
    unregister("queue")
    unregister("motto")


def changing(forward, restore, capture, target, value=0):
    return read_candidate(
        {
            "mutation": [op(forward, target, value=value)],
            "witness": [op(capture, target, witness_key="w")],
            "recovery": [op(restore, target, witness_key="w")],
            "contract": [forward.split("_")[1] if forward == "set_motto" else "queue"],
        }
    )


def setting(text):
    return changing("set_motto", "restore_motto", "capture_motto", TARGET, text)


def queueing(song):
    return changing("queue_song", "restore_song", "capture_song", song)


@pytest.mark.parametrize("candidate", [lambda: setting("carpe"), lambda: queueing("aria")], ids=["motto", "queue"])
def test_a_change_of_a_custom_surface_is_proved_and_sampled(candidate):
    assert prove(candidate()).grade is Grade.PROVED
    assert verify(candidate(), rule="split-wald").admitted


def test_a_recovery_that_drops_the_old_value_is_refuted_with_a_smallest_state():
    for forward, target, forget in (("set_motto", TARGET, "clear_motto"), ("queue_song", "aria", "skip_song")):
        surface = {"set_motto": "motto", "queue_song": "queue"}[forward]
        raw = {"mutation": [op(forward, target, value="x")], "recovery": [op(forget, target)], "contract": [surface]}
        verdict = prove(read_candidate(raw))
        assert verdict.grade is Grade.REFUTED
        assert verdict.counterexample.state.size() == 1


def test_a_custom_surface_is_one_slot_that_can_be_undone():
    with open_memory(State.read({"motto": "first"})) as harness:
        done = [harness.apply(setting(text)) for text in ("second", "third")]
        harness.undo(done[0])
        assert harness.state.write() == {"motto": "third"}
        harness.undo(done[1])
        assert harness.state.write() == {"motto": "first"}


def test_elements_of_a_custom_chain_are_undone_in_any_order():
    with open_memory(State.read({"queue": ["nocturne"]})) as harness:
        done = [harness.apply(queueing(song)) for song in ("aria", "fugue", "nocturne")]
        assert harness.state.write() == {"queue": ["nocturne", "fugue", "aria"]}
        harness.undo(done[0])
        harness.undo(done[2])
        assert harness.state.write() == {"queue": ["fugue", "nocturne"]}
        harness.undo(done[1])
        assert harness.state.write() == {"queue": ["nocturne"]}


def test_each_element_of_a_custom_chain_is_a_slot():
    one, two = State.read({"queue": ["a", "b"]}), State.read({"queue": ["a", "c"]})
    assert set(find_differing_slots(one, two)) == {("queue", "b"), ("queue", "c")}
    assert SURFACES["queue"].load(dump_state(two)["queue"]) == two.part("queue")
    assert SURFACES["queue"].size(two.part("queue")) == 2


def test_an_emptied_chain_keeps_its_known_places():
    queue = SURFACES["queue"]
    part = State.read({"queue": ["a"]}).part("queue")
    emptied = queue.put_slot(part, ("a",), ABSENT)
    assert queue.is_worth_storing(part)
    assert queue.is_worth_storing(emptied)
    assert not queue.is_worth_storing(queue.empty)
    assert queue.size(emptied) == 0


def test_only_the_empty_value_of_a_surface_is_dropped():
    motto = SURFACES["motto"]
    assert motto.is_worth_storing("carpe")
    assert not motto.is_worth_storing("")


def test_shrinking_can_drop_every_element():
    state = State.read({"queue": ["a", "b", "c"], "motto": "x"})
    small = shrink_state(state, lambda less: "b" in less.part("queue").ids())
    assert small.write() == {"queue": ["b"]}


def test_the_three_surface_protocols_do_not_overlap():
    asked = [{name for name in vars(one) if not name.startswith("_")} for one in (Surface, Slotted, Provable)]
    assert not asked[0] & asked[1]
    assert not asked[0] & asked[2]
    assert not asked[1] & asked[2]
    assert Surface.__mro__ == (Surface, Slotted, Provable, ABC, object)
