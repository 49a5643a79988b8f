"""What taking entries back would do, as lines to show beside a list: each file, what is kept, what blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from takeback.cli.differences import STYLES
from takeback.cli.here import here
from takeback.cli.plans import Styled, named, names, notes_of, toggled
from takeback.errors import TakebackError
from takeback.harness import Harness, Refused
from takeback.harness.results import PlanOutcome
from takeback.harness.toggle_requests import undo_request
from takeback.harness.toggling import ToggleAsk
from takeback.present.changes import differences
from takeback.present.diffs import Difference, unified
from takeback.present.files import file_differences
from takeback.present.gone import describe_gone
from takeback.present.plans import headline
from takeback.undo import Blocked, Gone, Plan


@dataclass(frozen=True, slots=True)
class Seen:
    """A preview."""

    lines: tuple[Styled, ...]
    token: str = ""
    """What binds an undo to this preview; empty where nothing can be done."""
    cascade: bool = False
    """Whether it could be done by taking along what blocks."""


def previewed(harness: Harness, ids: Sequence[str], *, cascade: bool, strict: bool) -> Seen:
    """What taking these entries back would do now."""
    return preview_request(harness, partial(undo_request, entries=ids), cascade=cascade, strict=strict)


def preview_request(harness: Harness, request: ToggleAsk, *, cascade: bool, strict: bool) -> Seen:
    """Return what a request would do now."""
    try:
        return _seen(harness.plan(request, cascade=cascade, strict=strict), harness)
    except TakebackError as fault:
        return Seen(((str(fault), "red"),))


def _seen(outcome: PlanOutcome, harness: Harness) -> Seen:
    match outcome:
        case Plan():
            return _plan(outcome, harness)
        case Blocked():
            lines = [("blocked by what came later:", "red")]
            lines += [(f"  {named(number, harness)}: {why}", "red") for number, why in outcome.reasons]
            if not isinstance(outcome.together, Plan):
                return Seen(tuple(lines))
            lines += [(f"c takes along {names(outcome.entries, harness)}:", "cyan")]
            together = _plan(outcome.together, harness)
            return Seen((*lines, *together.lines), cascade=bool(together.token))
        case Gone():
            gone = [(f"the witness is gone: {'; '.join(describe_gone(outcome))}", "red")]
            more = [("--salvage puts back what is left", "cyan")] * bool(outcome.left)
            return Seen((*gone, *more))
        case Refused():
            return Seen(tuple(_refused(outcome)))


def _refused(refused: Refused) -> Iterator[Styled]:
    yield here(f"refused: {refused.message}"), "red"
    if refused.drift or refused.broken:
        yield here("'takeback adopt' records what changed as an entry, 'takeback discard' puts it back"), "cyan"
    yield from _differences(differences(refused.drift))


def _plan(plan: Plan, harness: Harness) -> Seen:
    first = headline(plan, done=False)
    lines: list[Styled] = [(f"would {toggled(plan, harness, 'take back', 'bring back')}", "bold")]
    lines += [(first, "yellow")] if first is not None else []
    files = harness.files_of(plan)
    if isinstance(files, Refused):
        changes = differences(plan.changes, lambda: plan.before)
        return Seen((*lines, *_differences(changes), *_refused(files)))
    found = file_differences(files) if files else differences(plan.changes, lambda: plan.before)
    return Seen((*lines, *_differences(found), *notes_of(plan, harness)), plan.token)


def _differences(found: Iterable[Difference]) -> Iterator[Styled]:
    for one in found:
        for role, text in unified(one):
            yield text, STYLES[role]
