"""Certificates forged in every way that somebody could think of, from real ones."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.support.running import op

from takeback.canonical import digest, encode
from takeback.language import read_program
from takeback.opinion.checker import _change, _Names
from takeback.opinion.interpreter import Program, read_candidate, read_state
from takeback.repair import invert_mutation
from takeback.state import Stage
from takeback.verify import prove

Plain = dict[str, Any]
MUTATIONS: dict[str, list[Plain]] = {
    "config": [op("set_config", "a.b", value=1), op("set_config", "a.c", value=2)],
    "keyed": [
        op("set_prompt", "p", value="x"),
        op("set_routing", "r", value=None),
        op("register_tool", "t", value={}),
    ],
    "files": [op("write_file", "u/v", value="x"), op("write_file", "z", value="y")],
    "never": [op("write_file", "a", value="x"), op("write_file", "b", value="x"), op("write_file", "a/x", value="x")],
    "middleware": [op("add_middleware", "m", value={"handler": "h"}, after="n"), op("set_config", "e", value=1)],
    "listeners": [op("add_listener", "on_x", value={"id": "p", "handler": "h"})],
    "sockets": [
        op("allocate_socket", "p", value="tcp://127.0.0.1:9401"),
        op("allocate_socket", "q", value="tcp://127.0.0.1:9402"),
    ],
    "moved": [op("move_middleware", "m", index=0), op("remove_file", "u")],
    "moved file": [op("move_file", "u", value="z")],
    "edited": [op("edit_prompt", "p", value={"old": "a", "new": "b"}), op("append_config", "l", value=1)],
}


def certify(mutation: list[Plain]) -> Plain:
    """The certificate of the oracle's recovery of a mutation."""
    candidate = invert_mutation(read_program(mutation, Stage.FORWARD, "forgeries"))
    certificate = prove(candidate).certificate
    assert certificate is not None
    return certificate.to_json()


def list_forgeries() -> Iterator[tuple[str, Plain]]:
    """Each forged certificate with what was done to it."""
    for name, mutation in MUTATIONS.items():
        real = certify(mutation)
        for what, forged in [*_forge_head(real), *_forge_runs(real), *_forge_candidate(real)]:
            assert encode(forged) != encode(real), (name, what)
            yield f"{name}: {what}", seal(forged)
        yield f"{name}: another seal", {**real, "seal": real["seal"][::-1]}


def seal(forged: Plain) -> Plain:
    """The certificate with the seal that its content asks for, as a forger would write it."""
    rest = {name: part for name, part in forged.items() if name != "seal"}
    return {**rest, "seal": digest(rest)}


def _copy(real: Plain, **changed: Any) -> Plain:
    return {**deepcopy(real), **changed}


def _forge_head(real: Plain) -> Iterator[tuple[str, Plain]]:
    yield "another format", _copy(real, format=2)
    yield "another claim", _copy(real, claim="sampled")
    yield "another digest", _copy(real, digest=real["digest"][::-1])
    yield "one claim more", _copy(real, holds_everywhere=True)
    yield "one run more", _copy(real, runs=[*real["runs"], real["runs"][0]])
    yield "one run less", _copy(real, runs=real["runs"][1:])
    yield "no runs at all", _copy(real, runs={})
    yield "no candidate", {name: value for name, value in real.items() if name != "candidate"}


def _forge_runs(real: Plain) -> Iterator[tuple[str, Plain]]:
    for number, run in enumerate(real["runs"]):

        def put(number: int = number, run: Plain = run, **changed: Any) -> Plain:
            forged = deepcopy(real)
            forged["runs"][number] = {**deepcopy(run), **changed}
            return forged

        yield "another mode", put(mode="mutation left out" if run["mode"] == "as it is" else "as it is")
        yield "a component less", put(components=run["components"][1:])
        yield "a component more", put(components=[*run["components"], 'config["elsewhere"]'])
        yield "another reach", put(reach=0 if run["reach"] is None else None)
        yield "one claim more in a run", put(complete=True)
        yield "an empty base", put(base={})
        yield "a surface that is none", put(base={**run["base"], "moods": {}})
        yield from _forge_classes(read_candidate(real["candidate"]), run, put)


def _is_needed(program: Program, run: Plain, one: Plain, others: list[Plain]) -> bool:
    """Whether no other class has the shape of this one, and it departs from the base in one place.

    The others are more than a certificate has to have: it may have one shape twice, and what makes the mutation fail
    elsewhere is run by the checker on states of its own.
    """
    names = _Names(program)
    *shapes, base, mine = (
        names.shape(read_state({**run["base"], **_change(run["base"], plain["change"])}))
        for plain in (*others, {"change": {}}, one)
    )
    varied = [place for place in mine if mine[place] != base[place]]
    tops = [place for place in varied if not any(place[:-1] == above for above in varied)]
    return mine not in (*shapes, base) and len(tops) == 1


def _forge_classes(program: Program, run: Plain, put: Any) -> Iterator[tuple[str, Plain]]:
    classes, seen = run["classes"], set()
    for at, one in enumerate(classes):
        if encode(one["change"]) in seen or not one["change"]:
            continue
        seen.add(encode(one["change"]))
        others = [other for other in classes if other["change"] != one["change"]]
        if _is_needed(program, run, one, others):
            yield f"class {at} dropped", put(classes=others)
            yield (
                f"class {at} is another once more",
                put(classes=[*others, others[0] if others else {**one, "change": {}}]),
            )

        def alter(at: int = at, one: Plain = one, **changed: Any) -> Plain:
            return put(classes=[*classes[:at], {**one, **changed}, *classes[at + 1 :]])

        yield f"class {at} stops elsewhere", alter(stops=1 if one["stops"] is None else None)
        yield f"class {at} does not hold", alter(held=False)
        yield f"class {at} holds in a manner of speaking", alter(held=1)
        yield f"class {at} claims more", alter(looked_at=True)
    yield "no class", put(classes=[])


def _forge_candidate(real: Plain) -> Iterator[tuple[str, Plain]]:
    candidate = real["candidate"]
    for program in ("mutation", "witness", "recovery", "contract"):
        for at in range(len(candidate[program])):
            less = {**candidate, program: candidate[program][:at] + candidate[program][at + 1 :]}
            yield f"{program}[{at}] dropped", _copy(real, candidate=less)
            yield f"{program}[{at}] dropped, with its digest", _copy(real, candidate=less, digest=digest(less))
    other = deepcopy(candidate)
    other["mutation"][0]["target"] = "elsewhere"
    yield "another target", _copy(real, candidate=other, digest=digest(other))
    unheard = {**candidate, "recovery": [{"op_type": "undo_all", "target": "x"}]}
    yield "an unheard operation", _copy(real, candidate=unheard, digest=digest(unheard))
