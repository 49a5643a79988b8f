"""Options that several experiments take, and small things their summaries share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from takeback.errors import InputError
from takeback.repair.diagnosis import Mode
from takeback.repair.loop import MAX_BUDGET
from takeback.repair.prompts import ShownParts
from takeback.verify import RULE_NAMES
from takeback.verify.suites import SUITES
from takeback_lab.experiment import Option

LANGUAGE: Final = Option("language", "text", "Language of witness and recovery: L0 or L1; L0 if left out.")
PROMPT: Final = Option("prompt", "text", "v4, plain or guided (both v3); v4, or the recording's, if left out.")
SAMPLING: Final = Option(
    "sampling",
    "text",
    "temperature=0.2,top_p=0.95,max_tokens=2048 by default; also reasoning_effort. temperature=none omits it.",
)
BUDGET: Final = Option("budget", "number", "The most turns; 4, or the recording's.", least=1)
RULE: Final = Option("rule", "text", f"Rule of admission: {', '.join(RULE_NAMES)}; split-wald, or the recording's.")
SHOW_MUTATION: Final = Option("show-mutation", "text", "What a repair sees of the mutation: full, operations, none.")
SHOW_ATTEMPT: Final = Option("show-attempt", "text", "Whether a repair sees the rejected attempt: yes or no.")
BANK: Final = Option("bank", "path", "A frozen bank; the one beside the recording, or the shipped one.")
TASKS: Final = Option("tasks", "number", "Only this many tasks, the same number from each family.", least=1)
SETS: Final = Option("set", "texts", "Task sets whose references to take; bank: the shipped bank's defective ones.")


def read_budget(given: Mapping[str, Any], base: int = 4) -> int:
    """The number of turns."""
    wanted = given.get("budget", base)
    if not 1 <= wanted <= MAX_BUDGET:
        raise InputError("--budget", found=wanted, expected=f"a number of turns from 1 to {MAX_BUDGET}")
    return int(wanted)


def read_rule(given: Mapping[str, Any], base: str = "split-wald") -> str:
    """The rule of admission."""
    name = given.get("rule", base)
    if name not in RULE_NAMES:
        raise InputError("--rule", found=name, expected=f"one of {', '.join(RULE_NAMES)}")
    return str(name)


def read_shown(given: Mapping[str, Any], base: ShownParts) -> ShownParts:
    """What a repair shows beside the verifier's words."""
    mutation = given.get("show_mutation", base.mutation)
    if mutation not in {"full", "operations", "none"}:
        raise InputError("--show-mutation", found=mutation, expected="full, operations or none")
    attempt = given.get("show_attempt", "yes" if base.attempt else "no")
    if attempt not in {"yes", "no"}:
        raise InputError("--show-attempt", found=attempt, expected="yes or no")
    return ShownParts(mutation, attempt == "yes")


def read_modes(text: str) -> tuple[Mode, ...]:
    """Feedback modes, separated by commas."""
    found = []
    for name in (part.strip() for part in text.split(",")):
        try:
            found.append(Mode(name))
        except ValueError:
            raise InputError("--feedback", found=name, expected=f"some of {', '.join(Mode)}") from None
    return tuple(found)


def read_mode(text: str) -> Mode:
    """One feedback mode."""
    found = read_modes(text)
    if len(found) > 1:
        raise InputError("--feedback", found=text, expected=f"one of {', '.join(Mode)}")
    return found[0]


def read_suites(text: str) -> tuple[str, ...]:
    """Development suites, separated by commas."""
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if name not in SUITES:
            raise InputError("--suites", found=name, expected=f"some of {', '.join(SUITES)}")
    return names


def folder_of(experiment: str, who: str) -> str:
    """The folder of a run's results: the experiment, and who was asked."""
    return f"{experiment}-{re.sub(r'[^A-Za-z0-9._-]+', '-', who)}" if who else experiment


def spent_line(account: Mapping[str, Any]) -> str:
    """What a run cost, in one line."""
    calls, written, seconds = account["calls"], account["completion_tokens"], account["latency_s"]
    return f"{calls} calls, {written} tokens written, {seconds:.0f} s"
