"""Faults planted in the verifier and the state: each must be caught by a named probe.

A probe (`tests/support/probes.py`) is a quick question to the verifier. On the real code every probe answers yes;
under a fault its probe must answer no, or the verifier must refuse to run. The table below is the list of faults.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from tests.support.probes import PROBES

from takeback.errors import OperationFailed, TakebackError, VerifierBroken
from takeback.language import Candidate
from takeback.language import program as program_module
from takeback.runtime import Receipt
from takeback.state import ABSENT, KINDS, SURFACES, Captured, Contract, PMap, State, tree, values
from takeback.state.chain import Chain
from takeback.state.file import File
from takeback.state.tree_surface import TreeSurface
from takeback.verify import RULES, THRESHOLD
from takeback.verify import rules as rules_module
from takeback.verify import trip as trip_module
from takeback.verify.classes import Classes
from takeback.verify.rules import Rule
from takeback.verify.trip import PASSED, Trial, Trip

proof_module = import_module("takeback.verify.proof")
sampled_module = import_module("takeback.verify.sampled")
suites_module = import_module("takeback.verify.suites")
gate_module = import_module("takeback.language.gate")

Patch = Callable[[pytest.MonkeyPatch], None]


def _attribute(owner: Any, name: str, new: Any) -> Patch:
    return lambda patch: patch.setattr(owner, name, new)


def _run(kind: str, new: Callable[..., Any]) -> Patch:
    return lambda patch: patch.setitem(KINDS[kind].__dict__, "run", new)


def _surface(name: str, method: str, new: Callable[..., Any]) -> Patch:
    return lambda patch: patch.setattr(type(SURFACES[name]), method, new)


def _passed(expression: Callable[[Trip], bool]) -> Patch:
    return lambda patch: patch.setattr(Trip, "passed", property(expression))


def _same(new: Callable[[Any, Any], bool]) -> Patch:
    def apply(patch: pytest.MonkeyPatch) -> None:
        for module in ("values", "keyed_surface", "chain", "surfaces.config"):
            found = import_module(f"takeback.state.{module}")
            if hasattr(found, "is_same_value"):
                patch.setattr(found, "is_same_value", new)

    return apply


def _rule(name: str, decide: Callable[..., Any]) -> Patch:
    rule = RULES[name]
    return lambda patch: patch.setitem(rules_module.RULES, name, Rule(name, rule.iid, rule.ood, decide))


_real_run, _real_diff, _real_init = Trial._run, Trial._diff, Trial.__init__
_real_forward, _real_retreat, _real_capture = trip_module.run_forward, trip_module.retreat, trip_module.capture
_real_perturb = suites_module._perturb
_real_split = RULES["split-wald"].decide


def _swallowing(self: Trial, state: State) -> Trip:
    try:
        return _real_run(self, state)
    except Exception:  # noqa: BLE001  (the fault)
        return PASSED


def _no_recovery_after_failure(self: Trial, state: State) -> Trip:
    return _real_run(self, state) if _real_forward(self.candidate.mutation, state)[1].succeeded else PASSED


def _half_way(program: tuple, state: State) -> tuple[State, Receipt]:
    done, receipt = state, Receipt(())
    for at in range(1, len(program) + 1):
        after, receipt = _real_forward(program[:at], state)
        if not receipt.succeeded:
            return State.of(dict(done.parts)), receipt
        done = after
    return done, receipt


def _tolerant(program: tuple, parts: dict, witness: dict) -> None:
    filled = {one.witness_key: Captured(one.kind.surface, one.target, ABSENT) for one in program if one.witness_key}
    _real_retreat(program, parts, {**filled, **witness})


def _any_surface(program: tuple, parts: dict, witness: dict) -> None:
    relabelled = {
        one.witness_key: Captured(one.kind.surface, one.target, witness[one.witness_key].content)
        for one in program
        if one.witness_key in witness
    }
    _real_retreat(program, parts, relabelled)


def _giving_up(program: tuple, parts: dict, witness: dict) -> None:
    try:
        _real_retreat(program, parts, witness)
    except OperationFailed:
        parts.update({name: surface.empty for name, surface in SURFACES.items()})


def _narrow_init(self: Trial, candidate: Candidate) -> None:
    _real_init(self, candidate)
    self._touched = self._changed


def _untraced_init(self: Trial, candidate: Candidate) -> None:
    _real_init(self, candidate)
    self._omitted = ()


def _only_covered(self: Trial, before: dict, after: dict, surfaces: tuple) -> list:
    found = _real_diff(self, before, after, surfaces)
    return [change for change in found if self.candidate.contract.covers(change.address)]


def _prune_all(root: PMap, path: tuple, count: int) -> PMap:
    for depth in range(len(path) - 1, 0, -1):
        if tree.get(root, path[:depth]) == PMap():
            root = tree.drop(root, path[:depth])
    return root


def _prune_full(root: PMap, path: tuple, count: int) -> PMap:
    return tree.drop(root, path[: len(path) - count]) if count else root


def _none_is_absent(self: Any, one: Any, two: Any) -> bool:
    return values.is_same_value(None if one is ABSENT else one, None if two is ABSENT else two)


FAULTS: list[tuple[str, Patch, str]] = [
    (
        "the contract covers everything",
        _attribute(Contract, "covers", lambda *_: True),
        "an omitted effect is rejected",
    ),
    (
        "the trace is not audited",
        _attribute(Trial, "__init__", _untraced_init),
        "an omitted write of the same value is rejected",
    ),
    (
        "uncovered effects do not count",
        _passed(lambda one: not (one.residuals or one.failure)),
        "an omitted effect is rejected",
    ),
    ("residuals do not count", _passed(lambda one: not (one.uncovered or one.failure)), "do nothing is rejected"),
    (
        "a recovery that fails does not count",
        _passed(lambda one: not (one.residuals or one.uncovered)),
        "a missing capture is rejected",
    ),
    ("everything passes", _passed(lambda one: True), "do nothing is rejected"),
    ("nothing passes", _passed(lambda one: False), "a good one passes on an absent key"),
    ("exceptions pass", _attribute(Trial, "run", _swallowing), "an exception is rejected"),
    ("nothing is compared", _attribute(Trial, "_diff", lambda *_: []), "do nothing is rejected"),
    (
        "only the inside of the contract is compared",
        _attribute(Trial, "_diff", _only_covered),
        "damage outside the contract is rejected",
    ),
    (
        "only mutated surfaces are compared",
        _attribute(Trial, "__init__", _narrow_init),
        "damage on another surface is rejected",
    ),
    (
        "no recovery after a failed mutation",
        _attribute(Trial, "_run", _no_recovery_after_failure),
        "damage after a failed mutation is rejected",
    ),
    (
        "a failed mutation is left half done",
        _attribute(trip_module, "run_forward", _half_way),
        "a failed mutation leaves nothing behind",
    ),
    (
        "a missing capture counts as absent",
        _attribute(trip_module, "retreat", _tolerant),
        "a missing capture is rejected",
    ),
    (
        "captures of any surface are taken",
        _attribute(trip_module, "retreat", _any_surface),
        "a capture of another surface is rejected",
    ),
    (
        "a recovery that fails empties the state",
        _attribute(trip_module, "retreat", _giving_up),
        "a missing capture is rejected",
    ),
    (
        "captures see the changed state",
        lambda patch: patch.setattr(
            trip_module,
            "capture",
            lambda program, state: _real_capture(program, State.read({"prompts": {"p": "new"}})),
        ),
        "a good one passes on a key that is there",
    ),
    ("values are compared with ==", _same(lambda one, two: one == two), "true is not one"),
    (
        "floats and ints are the same",
        _same(lambda one, two: one == two and isinstance(one, bool) == isinstance(two, bool)),
        "one is not one point zero",
    ),
    ("null is absent in config", _surface("config", "equivalent", _none_is_absent), "null is not absent in config"),
    (
        "null is absent in routing",
        _surface("routing", "equivalent", _none_is_absent),
        "null is not absent in routing",
    ),
    (
        "file modes are ignored",
        _surface(
            "files",
            "equivalent",
            lambda self, one, two: (
                type(one) is type(two) and (one.content == two.content if isinstance(one, File) else one == two)
            ),
        ),
        "a file's mode counts",
    ),
    (
        "file contents are ignored",
        _surface("files", "equivalent", lambda self, one, two: type(one) is type(two)),
        "a file's content counts",
    ),
    (
        "the order of the chain is ignored",
        _attribute(Chain, "find_moved", lambda *_: set()),
        "the order of the chain counts",
    ),
    (
        "middleware records are ignored",
        _surface("middleware", "equivalent", lambda self, one, two: type(one) is type(two)),
        "a middleware's record counts",
    ),
    (
        "the order of callbacks is ignored",
        _surface(
            "listeners",
            "equivalent",
            lambda self, one, two: (
                one is two or (ABSENT not in (one, two) and sorted(one.ids()) == sorted(two.ids()))
            ),
        ),
        "the order of callbacks counts",
    ),
    (
        "empty containers are ignored",
        _attribute(
            TreeSurface,
            "diff",
            lambda self, one, two: iter(
                [change for change in _tree_diff(self, one, two) if PMap() not in (change.before, change.after)]
            ),
        ),
        "an empty mapping left behind is rejected",
    ),
    (
        "restores do not prune",
        _attribute(tree, "prune", lambda root, path, count: root),
        "mappings the change made go away",
    ),
    ("restores prune what was there", _attribute(tree, "prune", _prune_all), "mappings that were there stay"),
    (
        "restores prune what is not empty",
        _attribute(tree, "prune", _prune_full),
        "a restore takes no more than its own key",
    ),
    (
        "captures take absence for null",
        _run("capture_prompt", lambda value, one: Captured("prompts", one.target, value.get(one.path))),
        "a good one passes on an absent key",
    ),
    (
        "restores always remove",
        _run("restore_prompt", lambda value, one, _: value.drop(one.path)),
        "a good one passes on a key that is there",
    ),
    (
        "restores never remove",
        _run(
            "restore_prompt",
            lambda value, one, held: value if held.content is ABSENT else value.put(one.path, held.content),
        ),
        "a good one passes on an absent key",
    ),
    (
        "deletes do nothing where a key was there",
        _run("delete_config", lambda value, one, _: State.read({"config": {"a": 1}}).part("config")),
        "an unconditional delete is rejected",
    ),
    (
        "tools are compared by id",
        _surface(
            "tools",
            "equivalent",
            lambda self, one, two: one is two or (ABSENT not in (one, two) and one["id"] == two["id"]),
        ),
        "a tool's implementation counts",
    ),
    (
        "sockets are compared by address",
        _surface(
            "resources",
            "equivalent",
            lambda self, one, two: one is two or (ABSENT not in (one, two) and one["address"] == two["address"]),
        ),
        "a socket's lifecycle counts",
    ),
    (
        "resources are not compared",
        _surface("resources", "diff", lambda *_: iter(())),
        "a socket left open is rejected",
    ),
    (
        "addresses can be held twice",
        _attribute(import_module("takeback.state.surfaces.resources"), "_require_free", lambda *_: None),
        "two keys cannot hold one address",
    ),
    (
        "contracts compare text prefixes",
        _attribute(TreeSurface, "covers", lambda self, outer, inner: inner.startswith(outer)),
        "a contract covers no name that only begins alike",
    ),
    (
        "maps forget what the other side added",
        _attribute(
            PMap,
            "candidates",
            lambda self, other: [
                (key, self[key], other.get(key, ABSENT)) for key in self if self[key] is not other.get(key, ABSENT)
            ],
        ),
        "do nothing on prompts is rejected",
    ),
    (
        "Wald without its spread",
        _attribute(rules_module, "compute_wald_lower", lambda passed, of: passed / of if of else 0.0),
        "eighteen of twenty are too few",
    ),
    ("Wald with one tail", _attribute(rules_module, "Z", 0.5), "eighteen of twenty are too few"),
    ("Wald with twice its spread", _attribute(rules_module, "Z", 3.92), "nineteen of twenty are enough"),
    (
        "a lower threshold",
        _rule("split-wald", lambda counts, _: _real_split(counts, THRESHOLD - 0.1)),
        "eighteen of twenty are too few",
    ),
    (
        "one state more counts as passed",
        _rule(
            "split-wald",
            lambda counts, threshold: _real_split(
                {name: (min(passed + 1, of), of) for name, (passed, of) in counts.items()}, threshold
            ),
        ),
        "eighteen of twenty are too few",
    ),
    (
        "out of distribution is not looked at",
        _rule("split-wald", lambda counts, threshold: _real_split({**counts, "ood": (20, 20)}, threshold)),
        "eighteen of twenty out of distribution are too few",
    ),
    (
        "dev failures do not count",
        _attribute(rules_module, "_find_dev_shortfall", lambda counts: []),
        "one dev failure is too many",
    ),
    (
        "Wilson is Wald",
        _attribute(rules_module, "compute_wilson_lower", rules_module.compute_wald_lower),
        "two failures of forty are too many pooled",
    ),
    (
        "Wilson without its centre",
        _attribute(
            rules_module,
            "compute_wilson_lower",
            lambda passed, of: passed / of - 1.96 * math.sqrt(passed / of * (1 - passed / of) / of),
        ),
        "two failures of forty are too many pooled",
    ),
    (
        "counterfactuals never touch the touched",
        _attribute(
            suites_module,
            "_perturb",
            lambda state, strategy, aims, rng, only=(): _real_perturb(state, strategy, {}, rng, only),
        ),
        "the sample reaches the touched address",
    ),
    (
        "the gate is open",
        _attribute(sampled_module, "gate", lambda *_: ()),
        "an operation out of the language is rejected",
    ),
    (
        "order does not matter to the gate",
        _attribute(gate_module, "_can_order_matter", lambda *_: False),
        "order-dependent composition is out of L0",
    ),
    (
        "the lock is not looked at",
        _attribute(
            proof_module,
            "list_refusals",
            lambda candidate, level, _: sampled_module.list_refusals(candidate, level, None),
        ),
        "a changed mutation is rejected",
    ),
    (
        "the digest leaves values out",
        _attribute(
            program_module,
            "digest",
            lambda plain: repr([one["op_type"] for one in plain] if isinstance(plain, list) else plain),
        ),
        "a changed mutation is rejected",
    ),
    (
        "proof looks at one state",
        _attribute(Classes, "variations", lambda self: iter(())),
        "proof refutes a restore that works only where a directory was",
    ),
    (
        "proof settles on a base without looking at it",
        _attribute(proof_module, "_search_classes", lambda *_, **__: (1, None)),
        "proof refutes an unconditional delete",
    ),
    (
        "proof varies sockets one by one",
        _surface("resources", "components", lambda self, ops, salt: super(type(self), self).components(ops, salt)),
        "proof refutes a wrong order of sockets",
    ),
    (
        "counterexamples are as they come",
        _attribute(import_module("takeback.verify.shrink"), "shrink_state", lambda state, fails, *, deadline: state),
        "a counterexample is small",
    ),
    (
        "the self-check is skipped",
        _attribute(proof_module, "self_check", lambda: None),
        "a broken verifier refuses to run",
    ),
]
_tree_diff = TreeSurface.diff


@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_answers_yes_on_the_real_code(probe):
    assert PROBES[probe]()


@pytest.mark.parametrize(("fault", "plant", "probe"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_a_planted_fault_is_caught_by_its_probe(fault, plant, probe, monkeypatch):
    plant(monkeypatch)
    try:
        survived = PROBES[probe]()
    except (VerifierBroken, TakebackError):
        survived = False
    assert not survived, f"{fault}: not caught by {probe!r}"


def test_the_faults_are_many_and_each_probe_guards_something():
    assert len(FAULTS) >= 50
    assert {probe for _, _, probe in FAULTS} <= set(PROBES)
