"""Answers from elsewhere, round by round: which requests a run is waiting for, and what came back for them.

A unit that meets a request without a recorded reply is set aside; the requests of all such units are one round.
Answered by a cluster, a batch service or by hand, they are learned by digest, and the units go on to their next turn,
until nothing is pending. The result is that of an ordinary run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.canonical import parse, write_compact
from takeback.errors import InputError, RecordingError
from takeback.repair.models import RecordingModel, Reply, Request, Usage
from takeback.repair.models.replies import IMPORTED, read_lines, tell_origin
from takeback.repair.synthesizer import Spec, make_method
from takeback_lab.engines import FinishedUnits, UnitEngine, Work
from takeback_lab.experiment import Asked, Experiment
from takeback_lab.lock import write_whole
from takeback_lab.recordings import has_recording

PENDING: Final = "pending.jsonl"
EXPORTED: Final = "exported.txt"
"""The digests of all requests that were written for somebody to answer, in their order: it keeps shares apart."""
OK: Final = 200


class PendingReply(Exception):  # noqa: N818  (a signal: the unit waits)
    """A request has no reply yet."""


class Unanswered:
    """Stands for a model that answers later: notes what it is asked, and answers nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.requests: dict[str, Request] = {}

    @property
    def name(self) -> str:
        """The name of the model that will answer."""
        return self._name

    def complete(self, request: Request) -> Reply:
        """Note the request."""
        self.requests[request.digest()] = request
        raise PendingReply

    def take(self) -> dict[str, Request]:
        """What was asked since the last time, by digest."""
        asked, self.requests = self.requests, {}
        return asked


@dataclass(frozen=True, slots=True)
class Rounds:
    """An engine for units that ask: does them here, and has each round's requests answered by another engine.

    `answer` turns a request into a reply, both as JSON, on whatever machine it is called.
    """

    model: RecordingModel
    unanswered: Unanswered
    engine: UnitEngine
    answer: Callable[[Any], Any]

    def each(self, work: Work, units: Mapping[str, Any]) -> FinishedUnits:
        """The result of each unit as it is finished."""
        left = dict(units)
        while left:
            for key in list(left):
                try:
                    result = work(left[key])
                except PendingReply:
                    continue
                del left[key]
                yield key, result
            asked = self.unanswered.take()
            for digest, found in self.engine.each(self.answer, {name: one.to_json() for name, one in asked.items()}):
                self.model.learn(asked[digest], reply_from(found))


def reply_from(raw: Mapping[str, Any]) -> Reply:
    """The reply that `dataclasses.asdict` made plain."""
    return Reply(raw["text"], raw["finish_reason"], Usage(**raw["usage"]), raw["latency_s"])


def progress_of(
    experiment: Experiment[Any], plan: Any, model: str, folder: Path
) -> tuple[dict[str, Any], list[Request]]:
    """How far a recording carries a plan: the units that are done, and the requests that the others wait for."""
    unanswered = Unanswered(model)
    done: dict[str, Any] = {}
    with RecordingModel(unanswered, folder) as recorded:
        asked = Asked(recorded, make_method(Spec("replay"), recorded), model)
        for key, unit in plan.units().items():
            try:
                done[key] = experiment.run(unit, asked)
            except PendingReply:
                continue
    return done, list(unanswered.requests.values())


def read_shards(text: str) -> list[tuple[int, int]]:
    """Which of how many shards, as in `3/10`, or every one of them, as in `all/10`."""
    which, _, of = text.partition("/")
    if of.isdecimal() and which == "all" and int(of):
        return [(number, int(of)) for number in range(1, int(of) + 1)]
    if not (which.isdecimal() and of.isdecimal() and 1 <= int(which) <= int(of)):
        raise InputError("--shard", found=text, expected="which of how many, such as 3/10, or all/10")
    return [(int(which), int(of))]


def write_shard(folder: Path, requests: list[Request], shard: tuple[int, int]) -> Path:
    """Write one share of the pending requests to a file of its own; replies to it are imported like any others.

    A request keeps its share whatever was answered since: shares written at different times do not overlap and leave
    nothing out.
    """
    which, of = shard
    places = {digest: at for at, digest in enumerate(note_exported(folder, requests))}
    mine = [request for request in requests if places[request.digest()] % of == which - 1]
    return write_pending(folder, mine, f"pending-{which}-of-{of}.jsonl")


def note_exported(folder: Path, requests: list[Request]) -> list[str]:
    """Add requests to those that were exported from a folder, and return the digests of all in their order."""
    path = folder / EXPORTED
    before = path.read_text(encoding="utf-8").split() if path.is_file() else []
    order = list(dict.fromkeys([*before, *(request.digest() for request in requests)]))
    if order != before:
        write_whole(path, "".join(f"{digest}\n" for digest in order).encode())
    return order


def write_pending(folder: Path, requests: list[Request], name: str = PENDING) -> Path:
    """Write the requests of a round as JSON lines: each by its digest, and as a batch service takes it."""
    path = folder / name
    lines = [
        write_compact(
            {
                "digest": request.digest(),
                "request": request.to_json(),
                "custom_id": request.digest(),
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": chat_body(request),
            }
        )
        for request in requests
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def chat_body(request: Request) -> dict[str, Any]:
    """The request as the chat-completions protocol has it, the schema's properties in their order."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "seed": request.seed,
        "max_tokens": request.max_tokens,
    }
    optional: dict[str, Any] = {"temperature": request.temperature, "top_p": request.top_p}
    optional |= {"reasoning_effort": request.reasoning_effort}
    body |= {name: value for name, value in optional.items() if value is not None}
    if request.schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema}}
    return body


def read_pending(folder: Path) -> dict[str, Request]:
    """The requests of the round that was last written, by digest."""
    path = folder / PENDING
    if not path.is_file():
        hint = "write one with 'takeback lab export-prompts'"
        raise InputError(str(path), found="no such file", expected="the pending requests of a round", hint=hint)
    found = {}
    for number, line in _lines(path):
        raw = parse(line, f"{path}:{number}")
        try:
            request = Request.from_json(raw["request"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}:{number}", found="another form", expected="a pending request") from None
        if request.digest() != raw.get("digest"):
            raise RecordingError("the digest is not that of the request", where=f"{path}:{number}")
        found[request.digest()] = request
    return found


def import_replies(replies: Path, folder: Path) -> dict[str, int]:
    """Learn replies by digest: how many were new, known already, and how many of the round are still open.

    All of the file is taken in, or nothing: a line that cannot be read, that answers nothing which was asked, or that
    gives another answer than the one there is refuses it.
    """
    pending = read_pending(folder)
    known = {line.digest: _said(line.reply) for line in read_lines(folder)} if has_recording(folder) else {}
    new: dict[str, Reply] = {}
    again = 0
    for number, line in _lines(replies):
        where = f"{replies}:{number}"
        raw = parse(line, where)
        digest, reply = read_reply(raw, where)
        _check_repeated(raw, digest, where)
        if digest not in pending and digest not in known:
            raise InputError(f"{where}: digest", found=digest, expected="the digest of a pending request")
        if digest not in known:
            new[digest], known[digest] = reply, _said(reply)
        elif known[digest] == _said(reply):
            again += 1
        else:
            found = f"another reply to {digest}, which has one"
            raise InputError(
                f"{where}: text",
                found=found,
                expected="one reply to each request: there are no rerolls",
                hint="the first stays: take this line out of the file, and import the others",
            )
    if new:
        model = next(iter(pending.values())).model
        runtime = f"elsewhere, from {replies.name}"
        with RecordingModel(Unanswered(model), folder) as recorded:
            for digest, reply in new.items():
                recorded.learn(pending[digest], reply, tell_origin(IMPORTED, runtime))
    return {"imported": len(new), "known": again, "left": sum(digest not in known for digest in pending)}


def _check_repeated(raw: Mapping[str, Any], digest: str, where: str) -> None:
    """Refuse a reply that repeats another request than the one its digest names: somebody altered what was asked."""
    if "request" not in raw:
        return
    try:
        repeated = Request.from_json(raw["request"]).digest()
    except (KeyError, TypeError, ValueError):
        repeated = "no request"
    if repeated != digest:
        hint = "ask it again as it was exported; a line needs no request, only digest and text"
        raise InputError(f"{where}: request", found=repeated, expected=f"the request {digest}", hint=hint)


def read_reply(raw: Any, where: str) -> tuple[str, Reply]:
    """A reply and its request's digest: `{"digest", "text", …}`, or a line of a batch service's output."""
    if not isinstance(raw, dict):
        raise InputError(where, found=raw, expected="a JSON object")
    try:
        if "response" in raw:
            answer = raw["response"]
            if answer.get("status_code", OK) != OK:
                raise InputError(where, found=answer["status_code"], expected="status 200; ask this one again")
            body = answer["body"]
            choice = body["choices"][0]
            text, finish, digest, latency = (
                choice["message"]["content"] or "",
                choice["finish_reason"],
                "custom_id",
                0,
            )
            usage = body.get("usage") or {}
        else:
            text, finish, digest = raw["text"], raw.get("finish_reason", "stop"), "digest"
            usage, latency = raw.get("usage") or {}, raw.get("latency_s", 0)
        spent = Usage(_count(usage.get("prompt_tokens", 0)), _count(usage.get("completion_tokens", 0)))
        return str(raw[digest]), Reply(_text(text), _text(finish), spent, _seconds(latency))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as fault:
        expected = "digest and text, or a line of a batch service's output"
        raise InputError(where, found=f"another form ({type(fault).__name__}: {fault})", expected=expected) from None


def _said(reply: Reply) -> tuple[str, str]:
    """What makes two replies to one request the same: the text, and how it ended."""
    return reply.text, reply.finish_reason


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"tokens are {value!r}")
    return value


def _seconds(value: Any) -> float:
    if float(value) < 0:
        raise ValueError(f"latency_s is {value}")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text is {type(value).__name__}")
    return value


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise InputError(str(path), found=str(fault), expected="a file of JSON lines") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line
