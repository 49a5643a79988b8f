"""Checks for evolvers over texts: given the texts of a candidate by component, why it cannot be taken back.

Two kinds: `build_changes_check`, where a text is itself a change with its recovery, as JSON;
`build_prompts_check`, where texts are prompts of a harness. A check runs nothing and answers the same for
the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

from takeback.canonical import parse_strict, write_compact
from takeback.errors import InputError, MissingExtraError
from takeback.harness import Applied, Harness, Refused
from takeback.language import Candidate, NoInverse
from takeback.language.program import read_program
from takeback.repair.attempt import build_attempt
from takeback.repair.loop import Settings, repair_with_portfolio
from takeback.repair.oracle import oracle
from takeback.state import Stage
from takeback.verify import verify
from takeback.verify.decision import verify_json


def import_extra(module: str) -> Any:
    """Return a module of an evolver, whose package is called as its extra; raise an error if it is missing."""
    extra = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(f"{extra} is not installed", hint=f"pip install 'takeback[{extra}]'") from None


TextGate = Callable[[Mapping[str, str]], tuple[str, ...]]
"""Why a candidate, its texts by component, cannot be taken back; nothing: it can."""


def build_changes_check(components: Collection[str] = ()) -> TextGate:
    """Return a check for texts that are changes as JSON, with witness and recovery: each must be admitted.

    Components that are not named are ignored; without names, all are checked.
    """

    def gate(texts: Mapping[str, str]) -> tuple[str, ...]:
        looked_at = [name for name in texts if not components or name in components]
        return tuple(f"{name}: {reason}" for name in looked_at for reason in list_objections(texts[name]))

    return gate


def build_prompts_check(bound: Mapping[str, str], start: Mapping[str, str]) -> TextGate:
    """Return a check for texts that are prompts; `bound` names the harness's prompt of each component.

    A component without a prompt must stay as it is in `start`: no operation could say that it changed.
    """

    def gate(texts: Mapping[str, str]) -> tuple[str, ...]:
        unbound = [name for name in texts if name not in bound and texts[name] != start.get(name)]
        if unbound:
            return tuple(f"{name} is bound to no prompt of the harness" for name in unbound)
        candidate = build_prompts_change(bound, start, texts)
        if candidate is None:
            return ()
        verdict = verify(candidate)
        return () if verdict.admitted else tuple(reason.message for reason in verdict.reasons)

    return gate


def list_objections(text: str) -> tuple[str, ...]:
    """Return why a change as JSON cannot be taken back; empty if it can."""
    raw = read_change(text)
    if isinstance(raw, str):
        return (raw,)
    verdict = verify_json(raw)
    return () if verdict.admitted else tuple(reason.message for reason in verdict.reasons) or ("it is not admitted",)


def repair_change(text: str) -> str | None:
    """Return a change as JSON with an admitted recovery, its own or the oracle's; None if there is none."""
    raw = read_change(text)
    if isinstance(raw, str):
        return None
    start = build_attempt(raw)
    if start.mutation is None:
        return None
    repaired = repair_with_portfolio(start, None, verify, Settings())
    return None if repaired.admitted is None else write_compact(repaired.admitted.to_json())


def read_change(text: str) -> dict[str, Any] | str:
    """Return the JSON object that a text is, also inside one fence; or why it is none."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        bare = bare[bare.index("\n") : -3].strip()
    try:
        raw = parse_strict(bare)
    except (ValueError, RecursionError, InputError) as fault:
        return f"it is not JSON: {fault}"
    return raw if isinstance(raw, dict) else "it is not a JSON object"


def build_prompts_change(
    bound: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]
) -> Candidate | None:
    """Return the change of a harness's prompts from old to new texts, with its recovery; None without one."""
    changed = [name for name in new if name in bound and new[name] != old.get(name)]
    if not changed:
        return None
    plain = [{"op_type": "set_prompt", "target": bound[name], "value": new[name]} for name in changed]
    recovered = oracle(read_program(plain, Stage.FORWARD, "the texts"))
    if isinstance(recovered, NoInverse):
        raise InputError("the texts", found=str(recovered), expected="prompts, which have an inverse")
    return recovered


def record_prompts(
    harness: Harness, bound: Mapping[str, str], texts: Mapping[str, str], *, note: str = "", by: str = ""
) -> Applied | Refused | None:
    """Make the texts of a candidate the prompts of a harness, as one entry; None if they are that already."""
    names = {name: prompt for name, prompt in bound.items() if name in texts}
    now = {name: harness.state["prompts", at] for name, at in names.items() if ("prompts", at) in harness.state}
    change = build_prompts_change(names, now, texts)
    return None if change is None else harness.apply(change, note=note, by=by)
