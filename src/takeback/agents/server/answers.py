"""What the server's tools answer, what a person decides, and how a proposal is judged.

The output schemas that clients see are made from these classes. A proposal is given as one-line forms, or
as operations with or without a recovery. A missing recovery is written; for a refuted one, the synthesizer
looks for another.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, Field

from takeback.canonical import write_compact
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.entry_names import resolve_entry
from takeback.language import Candidate, NoInverse, Program, find_widest_level
from takeback.language.oneline import build_program, read_line
from takeback.language.program import read_program
from takeback.present.visible import escape_invisible
from takeback.repair.attempt import build_attempt
from takeback.repair.loop import Settings, assess_attempt, make_judge
from takeback.repair.oracle import oracle
from takeback.repair.synthesizer import Method
from takeback.secret_mask import find_placeholder, mask_text_secrets
from takeback.state import Stage, State
from takeback.undo import Plan
from takeback.undo.record import run_and_record
from takeback.verify import Admitted, Verdict

MaskedText = Annotated[str, AfterValidator(mask_text_secrets)]
"""A text in an answer: secrets in it are masked, whatever it was made of."""


class HarnessItem(BaseModel):
    """One thing of the harness."""

    address: MaskedText = Field(description='Where it is, such as config["permissions.allow"].')
    value: Any = Field(description="The value there; secrets are masked.")


class StateAnswer(BaseModel):
    """The harness as it is."""

    items: list[HarnessItem]
    left_out: int = Field(description="How many more there are; ask with a filter, or from a later offset.")


class AddressChange(BaseModel):
    """What happens at one address."""

    address: str
    part: str | None = None
    before: Any = None
    after: Any = None
    existed: bool = True
    exists: bool = True


class VerdictAnswer(BaseModel):
    """What was found out about a candidate."""

    admitted: bool
    grade: str = Field(description="How good the evidence is: proved, refuted, or declared if nothing was checked.")
    effect_class: str = Field(
        default="reversible", description="Beside the grade: reversible, compensable or irreversible."
    )
    stays: list[str] = Field(default=[], description="Calls that remain made when it is undone.")
    reasons: list[MaskedText] = Field(description="Why it is not admitted.")
    breaking_state: dict[str, Any] | None = Field(
        description="The smallest state on which the recovery does not bring everything back."
    )
    breaks: list[MaskedText] = Field(description="What differs on that state afterwards.")


class Proposed(BaseModel):
    """What was decided about a proposed change. Nothing was changed."""

    outcome: Literal["admitted", "repaired", "not admitted", "refused"]
    message: MaskedText
    token: str | None = Field(default=None, description="Pass this to apply_change; only an admitted change has one.")
    verdict: VerdictAnswer | None = Field(default=None, description="About the proposal as sent.")
    candidate: dict[str, Any] | None = Field(
        default=None,
        description="What would be applied: mutation, witness, recovery; the recovery may be a repaired one.",
    )
    changes: list[AddressChange] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list, description="Files it would change.")
    outside: list[MaskedText] = Field(
        default_factory=list, description="Records of other systems that it would write to."
    )
    person: list[MaskedText] = Field(
        default_factory=list, description="What a person must approve before it is made."
    )
    command: str | None = Field(default=None, description="What a person can run instead.")


class Done(BaseModel):
    """What became of a request to change something."""

    outcome: Literal["applied", "unchanged", "undone", "redone", "refused", "declined", "stale", "unknown token"]
    message: MaskedText
    entry: str | None = Field(default=None, description="The id of the entry that was made.")
    number: int | None = None
    effect: list[str] = Field(default_factory=list, description="When the client notices, if known.")
    command: str | None = Field(default=None, description="What a person can run instead.")


class Planned(BaseModel):
    """What an undo would do. Nothing was changed."""

    outcome: Literal["planned", "blocked", "gone", "refused"]
    message: MaskedText
    token: str | None = Field(default=None, description="Pass this to undo.")
    off: list[int] = Field(default_factory=list, description="Entries that are undone.")
    on: list[int] = Field(default_factory=list, description="Entries that are brought back.")
    changes: list[AddressChange] = Field(default_factory=list)
    kept: list[MaskedText] = Field(default_factory=list, description="What stays, because a later entry wrote it.")
    outside: list[MaskedText] = Field(
        default_factory=list, description="About other systems, and calls that remain made."
    )
    unadmitted: list[int] = Field(
        default_factory=list,
        description="Entries without an admitted recovery: forced, or made outside Takeback and not proved.",
    )
    person: list[MaskedText] = Field(
        default_factory=list, description="What a person must approve before it is done."
    )
    command: str | None = None


class Entry(BaseModel):
    """One entry of the history."""

    number: int
    id: str
    kind: str
    at: str
    status: str
    grade: str | None
    effect_class: str = Field(default="reversible", description="What happens to its effects when it is undone.")
    recorded: bool = Field(
        description="Whether it was made outside Takeback and recorded afterwards; so was its grade."
    )
    unproved: MaskedText | None = Field(description="Why a recorded change has no grade.")
    forced: bool
    by: str | None = Field(description="Who made it, if that was given; null for a person at the command line.")
    yours: bool = Field(description="Whether this client made it; the undo of others' entries is asked about.")
    what: MaskedText


class HistoryPage(BaseModel):
    """Entries, newest first."""

    entries: list[Entry]
    more: bool = Field(description="Whether there are older ones.")


class DiffAnswer(BaseModel):
    """What one entry changed."""

    number: int
    status: str
    by: str | None
    what: MaskedText
    prompt: MaskedText | None = Field(description="The first line of the prompt it was made under, if known.")
    run: MaskedText | None = Field(description="The command that made it, if known.")
    diff: str = Field(description="A unified diff; secrets are masked.")
    left_out: int = Field(description="How many characters of the diff are left out at the end.")


class StatusAnswer(BaseModel):
    """How the harness stands."""

    clean: bool
    live: int
    undone: int
    drift: list[MaskedText] = Field(description="Changes made outside Takeback; a person or a hook adopts them.")
    problems: list[MaskedText]
    notes: list[MaskedText] = Field(
        description="Notes that need no action, such as folders with a harness of their own."
    )
    you: str = Field(description="How this client's entries are signed.")
    command: str | None = Field(default=None, description="What a person can run where something needs attention.")


LONGEST = 300
MOST = 12


@dataclass(frozen=True, slots=True)
class Question:
    """What a person must decide before a request is carried out, masked; without reasons there is nothing to ask."""

    who: str
    what: str
    reasons: tuple[str, ...] = ()
    command: str = ""

    @property
    def text(self) -> str:
        """The question, in words that do not come from the agent except where they are quoted."""
        shown = [f"- {_shorten(reason)}" for reason in self.reasons[:MOST]]
        if len(self.reasons) > MOST:
            shown.append(f"- and {len(self.reasons) - MOST} more")
        return "\n".join([f"{_shorten(self.who)} wants to {_shorten(self.what)}.", *shown, "Do you want that?"])


def list_others_entries(harness: Harness, plan: Plan, names: Iterable[str], who: str) -> list[str]:
    """Return the entries of an undo that someone else made."""
    asked = {resolve_entry(harness.ledger, name).entry for name in names}
    others = []
    for number in sorted({*asked, *plan.off, *plan.on}):
        maker = harness.journal.get(number).by
        if maker != harness.name_author(who):
            others.append(f"#{number} was made by {maker or 'an unnamed author, such as a person'}")
    return others


APPROVED: Final = 12
"""How much of a digest a command names that approves it."""


def build_apply_command(
    candidate: dict[str, Any], lines: Sequence[str], directory: str, *, force: bool = False, approve: str = ""
) -> str:
    """Return the command by which a person makes a change: one line, or the candidate on standard input.

    A line is quoted anew, word by word: what a shell would run in it as it was sent is only text here. With
    `approve`, a digest, the command approves what stays of the change.
    """
    if len(lines) == 1 and not force and not approve:
        words = shlex.split(lines[0])
        return shlex.join(["takeback", *words[words[:1] == ["takeback"] :], "--dir", directory])
    flag = f"--approve {approve[:APPROVED]}" if approve else "--force" if force else "--repair"
    given = shlex.quote(write_compact(candidate))
    return f"printf %s {given} | takeback apply - {flag} --dir {shlex.quote(directory)}"


def build_command(name: str, directory: str, *words: str) -> str:
    """Return a command about this harness, for copying."""
    return shlex.join(["takeback", name, *words, "--dir", directory])


def _shorten(text: str) -> str:
    shown = escape_invisible(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


MOST_LINES = 64


@dataclass(frozen=True, slots=True)
class Sent:
    """A change as an agent sent it."""

    lines: Sequence[str] = ()
    mutation: Sequence[dict[str, Any]] = ()
    witness: Sequence[dict[str, Any]] | None = None
    recovery: Sequence[dict[str, Any]] | None = None
    contract: dict[str, Any] | None = None
    note: str = ""

    def require_sense(self) -> None:
        """Refuse what is empty, says two things at once, or gives back what was masked."""
        if bool(self.lines) == bool(self.mutation):
            given = "both" if self.lines else "neither"
            raise InputError("change", found=given, expected="lines (one-line forms) or mutation (operations)")
        if self.lines and (self.witness or self.recovery):
            raise InputError(
                "change", found="lines and a recovery", expected="lines alone: their recovery is written"
            )
        if len(self.lines) > MOST_LINES:
            raise InputError("lines", found=f"{len(self.lines)} lines", expected=f"at most {MOST_LINES}")
        values = [self.mutation, self.witness, self.recovery, self.contract, *map(_list_line_values, self.lines)]
        blank = find_placeholder(values)
        if blank is not None:
            raise InputError(
                "change",
                found=f"{blank}, which stands for a value that was not shown",
                expected="a value",
                hint="leave what is masked as it is: change other fields, or other lines around it",
            )

    def to_json(self, mutation: Program) -> dict[str, Any]:
        """Return the candidate as it was sent, for a person to inspect or to force."""
        parts = {"witness": self.witness, "recovery": self.recovery, "contract": self.contract}
        plain: dict[str, Any] = {"mutation": [op.to_json() for op in mutation]}
        return {**plain, **{name: part for name, part in parts.items() if part is not None}}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about a proposal: the verdict as it was sent, and what may be applied, if anything."""

    verdict: Verdict | None
    """About the candidate as it was sent, or with the recovery that was written; None where none can be written."""
    admitted: Admitted | None = None
    repaired: bool = False
    lacking: str = ""
    """Why no recovery can be written."""
    sent: dict[str, Any] = field(default_factory=dict)


def judge_proposal(sent: Sent, state: State, method: Method) -> Judgement:
    """Decide about a proposal, and repair it where that is possible."""
    sent.require_sense()
    mutation = _read_mutation(sent, state)
    plain = sent.to_json(mutation)
    settings = Settings()
    decide = make_judge("proof", find_widest_level(), state)
    if sent.recovery is None and sent.witness is None:
        written: Candidate | NoInverse = oracle(mutation, nominal=state)
        if isinstance(written, NoInverse):
            return Judgement(None, lacking=str(written), sent=plain)
        verdict = decide(written)
        return Judgement(verdict, Admitted(written, verdict) if verdict.admitted else None, sent=plain)
    start = build_attempt({"witness": [], "recovery": [], **plain})
    verdict = assess_attempt(start, decide, settings.level)
    if verdict.admitted and start.candidate is not None:
        return Judgement(verdict, Admitted(start.candidate, verdict), sent=plain)
    done = method(start, decide, settings, state)
    if done.admitted is None or not done.verdict.admitted:
        return Judgement(verdict, sent=plain)
    return Judgement(verdict, Admitted(done.admitted, done.verdict), repaired=True, sent=plain)


def _read_mutation(sent: Sent, state: State) -> Program:
    if sent.mutation:
        return read_program(list(sent.mutation), Stage.FORWARD, "mutation")
    program: Program = ()
    for line in sent.lines:
        part = build_program(read_line(line), state)
        program = (*program, *part)
        done = run_and_record(part, state)
        if not done.receipt.succeeded:
            raise InputError("lines", found=f"{line}: {done.receipt.reason}", expected="a change that can be made")
        state = done.state
    return program


def _list_line_values(line: str) -> list[Any]:
    fields = read_line(line)
    return [fields.value, fields.old, fields.new, fields.append, fields.before, fields.after]
