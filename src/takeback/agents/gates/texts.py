"""Gates over texts that evolve: given the texts of a candidate by component, why it cannot be taken back.

Two kinds: `changes_gate`, where a text is itself a change with its recovery, as JSON; and `prompts_gate`, where texts
are prompts of a harness. A gate runs nothing and answers the same for the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from takeback.canonical import compact, strict
from takeback.errors import InputError
from takeback.harness import Applied, Harness, Refused
from takeback.language import Candidate, NoInverse
from takeback.language.program import read_program
from takeback.state import Stage
from takeback.synthesize.attempt import attempt_from
from takeback.synthesize.loop import Settings
from takeback.synthesize.oracle import oracle
from takeback.synthesize.portfolio import repair_with_portfolio
from takeback.verify import verify
from takeback.verify.decide import verify_json

TextGate = Callable[[Mapping[str, str]], tuple[str, ...]]
"""Why a candidate, its texts by component, cannot be taken back; nothing: it can."""


def changes_gate(components: Collection[str] = ()) -> TextGate:
    """A gate for texts that are changes as JSON, with witness and recovery: each must be admitted.

    Components that are not named are not looked at; without names, all are.
    """

    def gate(texts: Mapping[str, str]) -> tuple[str, ...]:
        looked_at = [name for name in texts if not components or name in components]
        return tuple(f"{name}: {reason}" for name in looked_at for reason in objections(texts[name]))

    return gate


def prompts_gate(bound: Mapping[str, str], start: Mapping[str, str]) -> TextGate:
    """A gate for texts that are prompts: `bound` names the prompt of a harness for each component that has one.

    A component that is bound to none must stay as it is in `start`: no operation could say that it changed.
    """

    def gate(texts: Mapping[str, str]) -> tuple[str, ...]:
        unbound = [name for name in texts if name not in bound and texts[name] != start.get(name)]
        if unbound:
            return tuple(f"{name} is bound to no prompt of the harness" for name in unbound)
        candidate = prompts_change(bound, start, texts)
        if candidate is None:
            return ()
        verdict = verify(candidate)
        return () if verdict.admitted else tuple(reason.message for reason in verdict.reasons)

    return gate


def objections(text: str) -> tuple[str, ...]:
    """Why a change as JSON cannot be taken back; nothing: it can."""
    raw = read_change(text)
    if isinstance(raw, str):
        return (raw,)
    verdict = verify_json(raw)
    return () if verdict.admitted else tuple(reason.message for reason in verdict.reasons) or ("it is not admitted",)


def repaired(text: str) -> str | None:
    """A change as JSON with a recovery that is admitted, its own or the oracle's; None if there is none."""
    raw = read_change(text)
    if isinstance(raw, str):
        return None
    start = attempt_from(raw)
    if start.mutation is None:
        return None
    found = repair_with_portfolio(start, None, verify, Settings())
    return None if found.admitted is None else compact(found.admitted.to_json())


def read_change(text: str) -> dict[str, Any] | str:
    """The JSON object that a text is, also in one fence; or why it is none."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        bare = bare[bare.index("\n") : -3].strip()
    try:
        raw = strict(bare)
    except (ValueError, RecursionError, InputError) as fault:
        return f"it is not JSON: {fault}"
    return raw if isinstance(raw, dict) else "it is not a JSON object"


def prompts_change(bound: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]) -> Candidate | None:
    """The change of a harness's prompts from some texts to others, with its recovery; None if none changes."""
    changed = [name for name in new if name in bound and new[name] != old.get(name)]
    if not changed:
        return None
    plain = [{"op_type": "set_prompt", "target": bound[name], "value": new[name]} for name in changed]
    found = oracle(read_program(plain, Stage.FORWARD, "the texts"))
    if isinstance(found, NoInverse):
        raise InputError("the texts", found=str(found), expected="prompts, which have an inverse")
    return found


def record_prompts(
    harness: Harness, bound: Mapping[str, str], texts: Mapping[str, str], *, note: str = "", by: str = ""
) -> Applied | Refused | None:
    """Make the texts of a candidate the prompts of a harness, as one entry; None if they are that already."""
    names = {name: prompt for name, prompt in bound.items() if name in texts}
    now = {name: harness.state["prompts", at] for name, at in names.items() if ("prompts", at) in harness.state}
    change = prompts_change(names, now, texts)
    return None if change is None else harness.apply(change, note=note, by=by)
