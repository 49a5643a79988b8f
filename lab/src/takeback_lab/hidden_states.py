"""Hidden states of one split, in any number."""

from __future__ import annotations

from takeback.language import Program
from takeback.state import State
from takeback.verify.suites import make_suites


def make_hidden_states(
    nominal: State, mutation: Program, split: str, count: int, *, seed: int = 0, dev: str = "Q10"
) -> tuple[State, ...]:
    """Return the first `count` states of a hidden split; `fresh` alternates iid and ood."""
    made = make_suites(
        nominal, mutation, seed=seed, dev=dev, iid=count if split == "iid" else 0, ood=count if split == "ood" else 0
    )
    if split == "fresh":
        both = make_suites(nominal, mutation, seed=seed, dev=dev, iid=(count + 1) // 2, ood=count // 2)
        mixed = [state for pair in zip(both.iid, both.ood, strict=False) for state in pair]
        return tuple([*mixed, *both.iid[len(both.ood) :]][:count])
    return made.iid if split == "iid" else made.ood
