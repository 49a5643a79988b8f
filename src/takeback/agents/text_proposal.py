"""Asks a model for a change of a harness in plain words, and reads its reply.

The model sees the harness within a bound, secrets masked: everything if it fits, otherwise what shares
words with the request first, long texts cut, the rest by name. It gets the reason for a reply that is no
candidate, gives back a mask as a value or cannot run on this harness, and is asked again a bounded number
of times. Nothing that a model wrote is run, and nothing is changed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from takeback.adapters.clients.adapter import ClientAdapter
from takeback.canonical import write_compact
from takeback.errors import InputError
from takeback.harness import Harness, RefusalReason, Refused
from takeback.language import Candidate
from takeback.repair.attempt import Attempt, Rejected, read_proposal
from takeback.repair.loop import Judge, Repair, Settings, repair_attempt, repair_with_oracle
from takeback.repair.models import PAPER, Account, ChatModel, Sampling
from takeback.repair.prompts import build_change_request
from takeback.repair.synthesizer import Method
from takeback.secret_mask import find_placeholder, mask_secrets, mask_text_secrets
from takeback.state import SURFACES, Contract, State

LIMIT: Final = 16_000
"""Characters of a harness that a model is shown, unless someone says otherwise."""
SMALLEST: Final = 400
SHARE: Final = 3
"""A text longer than the bound divided by this is cut to the lines that concern the request."""
AROUND: Final = 3
"""Lines shown before and after one that concerns the request."""
OTHERS: Final = 4
"""The bound divided by this is for what shares no word with the request."""
NAMES: Final = 8
"""The bound divided by this is kept for the names of what is left out."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_ENDINGS: Final = ("ing", "ed", "es", "s")
_SHORTEST: Final = 3
_STOP: Final = frozenset(
    re.findall(
        r"\w+",
        "the and for not with that this from into its are was all any can may let make makes before after when then "
        "than but have has must should would will you your our use using only also more each every new add set",
    )
)
_STEPS: Final = {"config": r"(?<!\\)\.", "files": "/"}
"""What stands between the names of things inside each other; only the innermost are shown."""
_MEANT: Final = {
    "config": "config setting permission allow deny sandbox environment variable",
    "prompts": "prompt instruction rule command skill agent subagent memory text line",
    "routing": "routing route model",
    "tools": "tool server mcp",
    "middleware": "middleware chain handler",
    "listeners": "listener hook event callback guard",
    "files": "file script",
    "resources": "resource socket port",
}
"""Words by which people name a surface, or what stands in it."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of a harness, without its secrets."""

    surface: str
    name: str
    body: str
    """The text of what is one, the JSON of everything else."""
    is_text: bool
    more: str = ""
    """What else there is to say of a text."""

    @property
    def address(self) -> str:
        """Where it is."""
        return f'{self.surface}["{self.name}"]'


def select_context(state: State, request: str, limit: int = LIMIT) -> str:
    """Return what a model sees of a harness for a request, at most `limit` characters (at least 400)."""
    limit = max(limit, SMALLEST)
    things = list(_list_things(state))
    whole = "\n".join(_format_thing(thing, thing.body) for thing in things)
    if len(whole) <= limit:
        return whole or "(nothing is there yet)"
    wanted = list_topic_words(request)
    scores = [_score_thing(thing, wanted) for thing in things]
    ranked = sorted(range(len(things)), key=lambda at: (-scores[at], len(things[at].body), at))
    taken: dict[int, str] = {}
    others = limit // OTHERS if any(scores) else limit - limit // NAMES
    left = {True: limit - limit // NAMES - others, False: others}
    for at in ranked:
        concerns = scores[at] > 0
        text = _fit_thing(things[at], wanted, min(left[concerns] - 1, limit // SHARE))
        if text is not None:
            taken[at] = text
            left[concerns] -= len(text) + 1
    named = _list_names([thing.address for at, thing in enumerate(things) if at not in taken], limit // NAMES)
    return "\n".join([*(taken[at] for at in sorted(taken)), *named])


def list_topic_words(text: str) -> frozenset[str]:
    """Return the words that say what a text is about, each in one form."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(_stem(word) for word in words if len(word) >= _SHORTEST and word not in _STOP)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > _SHORTEST else word


def _list_things(state: State) -> Iterator[Thing]:
    for name in SURFACES:
        for key in list_innermost_keys(state, name):
            yield _make_thing(name, key, mask_secrets(state[name, key], key if name == "config" else ""))


def list_innermost_keys(state: State, surface: str) -> list[str]:
    """Return the names of a surface's things; of things inside each other only the innermost."""
    keys = dict.fromkeys(address.key for address, _ in SURFACES[surface].entries(state.part(surface)))
    outer = {key[: step.start()] for key in keys for step in re.finditer(_STEPS.get(surface, "(?!)"), key)}
    return [key for key in keys if key not in outer]


def _make_thing(surface: str, key: str, value: Any) -> Thing:
    name = mask_text_secrets(key)
    if isinstance(value, str) and "\n" in value:
        return Thing(surface, name, value, is_text=True, more=_describe_endings(value))
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        rest = {field: item for field, item in value.items() if field != "content"}
        more = (f" {write_compact(rest)}" if rest else "") + _describe_endings(value["content"])
        return Thing(surface, name, value["content"], is_text=True, more=more)
    return Thing(surface, name, write_compact(value), is_text=False)


def _describe_endings(text: str) -> str:
    return " (its lines end in \\r\\n)" if "\r\n" in text else ""


def _score_thing(thing: Thing, wanted: frozenset[str]) -> int:
    of_name, of_body = list_topic_words(thing.name), list_topic_words(thing.body)
    of_surface = list_topic_words(_MEANT.get(thing.surface, thing.surface))
    return 4 * len(wanted & of_name) + 2 * len(wanted & of_body) + len(wanted & of_surface)


def _format_thing(thing: Thing, body: str) -> str:
    if not thing.is_text:
        return f"{thing.address} = {body}"
    ended = "" if body.endswith("\n") or not body else "\n"
    return f"{thing.address}{thing.more}\n<<<\n{body}{ended}>>>"


def _fit_thing(thing: Thing, wanted: frozenset[str], room: int) -> str | None:
    """Return a thing as it is shown within so many characters; None if it does not fit at all."""
    text = _format_thing(thing, thing.body)
    if len(text) <= room:
        return text
    if not thing.is_text:
        return None
    lines = thing.body.splitlines(keepends=True)
    ranked = sorted(range(len(lines)), key=lambda at: (-len(wanted & list_topic_words(lines[at])), at))
    kept: set[int] = set()
    cut: str | None = None
    for at in ranked:
        more = kept | set(range(max(0, at - AROUND), min(len(lines), at + AROUND + 1)))
        tried = _format_thing(thing, _make_excerpt(lines, more))
        if len(tried) > room:
            break
        kept, cut = more, tried
    return cut


def _make_excerpt(lines: Sequence[str], kept: set[int]) -> str:
    excerpt: list[str] = []
    for shown, group in groupby(enumerate(lines), lambda line: line[0] in kept):
        stretch = [line for _, line in group]
        gap = f"[… {len(stretch)} line{'' if len(stretch) == 1 else 's'} left out …]\n"
        excerpt += stretch if shown else [gap]
    return "".join(excerpt)


def _list_names(addresses: Sequence[str], room: int) -> list[str]:
    """Return one line that names what is left out, within so many characters."""
    if not addresses:
        return []
    text, named = "Also there, not shown:", 0
    for address in addresses:
        if len(text) + len(address) + 24 > room:
            break
        text += f" {address}"
        named += 1
    rest = len(addresses) - named
    return [text + (f" and {rest} more" if rest else "")]


TRIES: Final = 3
MAX_TRIES: Final = 16
MAX_TEXT: Final = 4000
"""Characters of a request."""
QUOTED: Final = 2000
"""Characters of a reply that fell short that the model is shown again."""
NOT_HERE: Final = frozenset({RefusalReason.UNSTORED, RefusalReason.STATE, RefusalReason.UNSAYABLE})
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
        """Return the model's proposal for a harness in this state; without a mutation if none can be used."""
        earlier: list[tuple[str, str]] = []
        while True:
            request = build_change_request(
                self.model.name,
                kind=_describe_kind(self.harness),
                surfaces=self.harness.adapter.surfaces,
                state=select_context(state, self.text, self.limit),
                instruction=mask_text_secrets(self.text),
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
            earlier.append(
                (mask_text_secrets(reply.text[:QUOTED]), mask_text_secrets(f"{wrong.shortfall}: {wrong.detail}"))
            )

    def _wrong(self, attempt: Attempt) -> Rejected | None:
        """Return why a proposal cannot be used; one whose recovery alone falls short can be used."""
        if attempt.mutation is None:
            return attempt.rejected
        mask = find_placeholder(attempt.raw)
        if mask is not None:
            return Rejected("masked_value", f"{mask} stands for a secret that was not shown, and is no value")
        bare = Candidate(attempt.mutation, (), (), Contract())
        preview = self.harness.preview(bare, force=True)
        if isinstance(preview, Refused) and preview.why in NOT_HERE:
            return Rejected("cannot_run", preview.message)
        if not isinstance(preview, Refused) and not preview.changes:
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
    """Return a proposer for `evolve` that asks `model` for the change that `text` describes in plain words.

    The model sees at most `limit` characters of the harness, secrets masked, what concerns the request first. It
    is asked at most `tries` times, until its reply can be read and can run on this harness.
    """
    if not text.strip():
        raise InputError("the request", found="an empty text", expected="what to change, in plain words")
    if len(text) > MAX_TEXT:
        raise InputError("the request", found=f"{len(text)} characters", expected=f"at most {MAX_TEXT}")
    if not 1 <= tries <= MAX_TRIES:
        raise InputError("tries", found=tries, expected=f"a number from 1 to {MAX_TRIES}")
    return TextProposer(harness, " ".join(text.split()), model, sampling, tries, limit)


def repair_masked(model: ChatModel, *, oracle: bool = True) -> Method:
    """Return a method for `evolve`: first the oracle, then a model, which sees none of the harness's secrets."""

    def method(start: Attempt, judge: Judge, settings: Settings, nominal: State | None) -> Repair:
        done = repair_with_oracle(start, judge, settings, nominal) if oracle else None
        if done is not None and (done.admitted is not None or done.unsayable):
            return done
        return repair_attempt(start, model, judge, settings, _mask_state(nominal))

    return method


def _describe_kind(harness: Harness) -> str:
    adapter = harness.adapter
    return ", ".join(m.client.name for m in adapter.members) if isinstance(adapter, ClientAdapter) else adapter.name


def _mask_state(state: State | None) -> State | None:
    """Return a state with its secrets masked; None if the result is no state."""
    try:
        return None if state is None else State.read(mask_secrets(state.write()), "the masked state")
    except InputError:
        return None
