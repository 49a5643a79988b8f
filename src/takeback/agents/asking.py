"""Asks a model for a change of a harness in plain words, and reads what comes back.

The model is shown the harness as it is, without secrets and within a bound. Of a reply that is no candidate, gives
back a mask as a value or cannot run on this harness it is told why, and it is asked again a bounded number of times.
Nothing that a model wrote is run, and nothing is changed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from takeback.adapters.clients.adapter import ClientAdapter
from takeback.agents.concerning import LIMIT, concerning
from takeback.errors import InputError
from takeback.harness import Harness, Refused, Why
from takeback.language import Candidate
from takeback.present.secrets import masked, masked_text, placeholder_in
from takeback.state import Contract, State
from takeback.synthesize.attempt import Attempt, read_proposal
from takeback.synthesize.change_request import change_request
from takeback.synthesize.loop import Judge, Repair, Settings, repair
from takeback.synthesize.method import Method
from takeback.synthesize.models import PAPER, Account, ChatModel, Sampling
from takeback.synthesize.portfolio import repair_with_oracle
from takeback.synthesize.reply import Rejected

TRIES: Final = 3
MAX_TRIES: Final = 16
MAX_TEXT: Final = 4000
"""Characters of a request."""
QUOTED: Final = 2000
"""Characters of a reply that fell short that the model is shown again."""
NOT_HERE: Final = frozenset({Why.UNSTORED, Why.STATE, Why.UNSAYABLE})
"""Refusals that are about the change, not about how the harness stands."""


@dataclass
class TextProposer:
    """A proposer for `evolve` that asks a model; `account` says what was spent, `fell_short` what was sent back."""

    harness: Harness
    text: str
    model: ChatModel
    sampling: Sampling
    tries: int
    limit: int
    account: Account = field(default_factory=Account)
    fell_short: list[Rejected] = field(default_factory=list)

    def __call__(self, state: State) -> Attempt:
        """The model's proposal for a harness in this state; without a mutation where it has none that can be used."""
        earlier: list[tuple[str, str]] = []
        while True:
            request = change_request(
                self.model.name,
                kind=_kind(self.harness),
                surfaces=self.harness.adapter.surfaces,
                state=concerning(state, self.text, self.limit),
                instruction=masked_text(self.text),
                sampling=self.sampling,
                earlier=earlier,
            )
            reply = self.model.complete(request)
            self.account = self.account.plus(reply)
            attempt = read_proposal(reply)
            wrong = self._wrong(attempt)
            if wrong is None:
                return attempt
            self.fell_short.append(wrong)
            if len(self.fell_short) >= self.tries:
                return Attempt(attempt.raw, rejected=wrong)
            earlier.append((masked_text(reply.text[:QUOTED]), masked_text(f"{wrong.shortfall}: {wrong.detail}")))

    def _wrong(self, attempt: Attempt) -> Rejected | None:
        """Why a proposal cannot be used here. One of which only the recovery falls short can."""
        if attempt.mutation is None:
            return attempt.rejected
        mask = placeholder_in(attempt.raw)
        if mask is not None:
            return Rejected("masked_value", f"{mask} stands for a secret that was not shown, and is no value")
        bare = Candidate(attempt.mutation, (), (), Contract())
        found = self.harness.preview(bare, force=True)
        if isinstance(found, Refused) and found.why in NOT_HERE:
            return Rejected("cannot_run", found.message)
        if not isinstance(found, Refused) and not found.changes:
            return Rejected("cannot_run", "it changes nothing on this harness")
        return None


def propose_text(
    harness: Harness,
    text: str,
    model: ChatModel,
    *,
    sampling: Sampling = PAPER,
    tries: int = TRIES,
    limit: int = LIMIT,
) -> TextProposer:
    """A proposer for `evolve` that asks `model` for the change that `text` describes in plain words.

    The model is shown at most `limit` characters of the harness, secrets masked, what concerns the request first. It
    is asked at most `tries` times, until what it says can be read and can run on this harness.
    """
    if not text.strip():
        raise InputError("the request", found="an empty text", expected="what to change, in plain words")
    if len(text) > MAX_TEXT:
        raise InputError("the request", found=f"{len(text)} characters", expected=f"at most {MAX_TEXT}")
    if not 1 <= tries <= MAX_TRIES:
        raise InputError("tries", found=tries, expected=f"a number from 1 to {MAX_TRIES}")
    return TextProposer(harness, " ".join(text.split()), model, sampling, tries, limit)


def repair_masked(model: ChatModel, *, oracle: bool = True) -> Method:
    """A method for `evolve`: the oracle first, then a model, which is shown nothing of the harness's secrets."""

    def method(start: Attempt, judge: Judge, settings: Settings, nominal: State | None) -> Repair:
        done = repair_with_oracle(start, judge, settings, nominal) if oracle else None
        if done is not None and (done.admitted is not None or done.unsayable):
            return done
        return repair(start, model, judge, settings, _without_secrets(nominal))

    return method


def _kind(harness: Harness) -> str:
    """What kind of harness it is, in a few words."""
    adapter = harness.adapter
    return ", ".join(m.client.name for m in adapter.members) if isinstance(adapter, ClientAdapter) else adapter.name


def _without_secrets(state: State | None) -> State | None:
    """A state with its secrets masked; None where that is no state any more."""
    try:
        return None if state is None else State.read(masked(state.write()), "the masked state")
    except InputError:
        return None
