"""The recorder: what changed in a harness becomes an entry with its author; and a watcher of files.

It runs after every tool that may have changed files, and at the events by which a client reports changes,
begins and ends. Lost guards and looser permissions are recorded and reported. The watcher records writes
that come close together as one entry, and at its start what happened while nobody watched.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.adapters.clients.discovery import FOREIGN
from takeback.adapters.directory import TEMPORARY
from takeback.adapters.look_notes import note_calm_look
from takeback.adapters.opener import open_workspace
from takeback.adapters.roots import PRIVATE, find_root_above
from takeback.adapters.trust import name_way_out
from takeback.adapters.trust_record import is_trusted
from takeback.agents.declared_files import Home, Own, can_be_ours, find_home
from takeback.agents.fast_capture import LONGEST_COMMAND, LONGEST_LINE, is_tracked, mask_text
from takeback.agents.fast_hook import AFTER, CHANGED, Event, forget_tool_call, is_claimed_by_tool
from takeback.agents.guard import BLOCK, HookReply, why_unloadable
from takeback.agents.hook_events import find_last_prompt, list_named_paths
from takeback.agents.hook_files import is_callable_in
from takeback.canonical import write_compact
from takeback.errors import TakebackError, UntrustedError
from takeback.harness.adapter import FileAdapter
from takeback.harness.drift import group_by_file
from takeback.harness.engine import Inspection
from takeback.harness.entry_log import EntryView, view_entry
from takeback.harness.harness import Harness
from takeback.harness.outcomes import Adopted, Refused
from takeback.present.warnings import list_unheeded, weigh_states
from takeback.secret_mask import mask_text_secrets
from takeback.state import State
from takeback.state.slots import put_slots
from takeback.track.database import TrackError
from takeback.track.git import Repository
from takeback.track.store import TrackStore

SHORT: Final = 8
SHOWS: Final = frozenset({"claude-code", "codex", "gemini", "opencode"})
"""Clients that show their user a message from a hook; opencode's plugin shows it as a notice."""
BEGINS: Final = "SessionStart"
CALLED: Final = {"codex": "$takeback"}
"""How a person calls our skill or command, where it is not `/takeback`."""


def answer_after(event: Event) -> HookReply:
    """Record what changed in the harnesses that an event may concern."""
    named = [*list_named_paths(event), *([os.path.join(event.cwd, event.path)] if event.path else [])]
    places = (find_root_above(Path(path)) for path in (event.cwd, *named))
    every = tuple(dict.fromkeys(place for place in places if place is not None))
    roots = tuple(root for root in every if is_trusted(str(root)))
    strangers = [root for root in every if root not in roots]
    warned = report_untrusted(event, strangers[0]) if strangers else HookReply()
    nobodys = event.edits and named and not any(can_be_ours(path) for path in named)
    try:
        answers = [] if nobodys else [record_changes(root, event) for root in roots]
    finally:
        for root in roots:
            if event.name not in CHANGED:
                forget_tool_call(str(root), event.session, event.call)
    err = mask_text_secrets("".join(answer.err for answer in (warned, *answers)))
    out = warned.out or next((answer.out for answer in answers if answer.out), "")
    return HookReply(out=out, err=err, code=max((answer.code for answer in answers), default=0))


def report_untrusted(event: Event, root: Path) -> HookReply:
    """Report that nothing is recorded here, and what to do; the session goes on as without Takeback."""
    message = f"takeback: {root} is not trusted, so nothing is recorded here. {name_way_out(root)}."
    if event.client in SHOWS and event.name == BEGINS:
        return HookReply(out=write_compact({"systemMessage": message}) + "\n")
    return HookReply(err=f"{message}\n")


def record_changes(root: Path, event: Event) -> HookReply:
    """Record what changed in one harness."""
    try:
        harness = open_workspace(root, hold=False)
    except UntrustedError as fault:
        return HookReply(err=f"takeback: {fault.message}. {fault.hint}.\n")
    harness.treat_as_agent(event.client)
    with closing(harness), harness.inspect() as reading:
        alone: tuple[str, ...] = ()
        after = reading.actual
        if event.name in CHANGED:
            differing = _list_differing(harness, reading)
            place = _make_relative(root, os.path.join(event.cwd, event.path)) if event.path else ""
            readable = not reading.broken if not place else place not in {fault.path for fault in reading.broken}
            if place and place not in differing:
                return HookReply()
            if readable and is_claimed_by_tool(str(root), str(root / place) if place else ""):
                return HookReply()  # of a tool that still runs; its own recorder knows more
            if place and readable and len(differing) > 1:
                alone, after = (place,), _isolate_file(harness, place)
        weaker = [] if after is harness.state else weigh_states(harness, harness.state, after)
        by = f"{event.client} (declared)" + (f", session {event.session[:SHORT]}" if event.session else "")
        origin = event.origin() | ({"loosens": "; ".join(weaker)} if weaker else {})
        said = _recall_call(root, event, origin)
        outcome = harness.adopt(_describe_entry(root, event, weaker), by=by, origin=origin, said=said, paths=alone)
        if (outcome is None or (isinstance(outcome, Adopted) and not reading.broken)) and not alone:
            note_calm_look(harness)
        if isinstance(outcome, Refused):
            names = " ".join(broken.path for broken in reading.broken)
            hint = f" 'takeback discard {names}' restores the last content." if names else ""
            return _build_warning(event, f"takeback: {outcome.message}.{hint}\n")
        unheeded = list_unheeded(outcome, harness)
        if unheeded and isinstance(outcome, Adopted):
            number = outcome.entry.entry
            warning = "; ".join((*unheeded, *weaker))
            return _build_warning(
                event, f"takeback: recorded as #{number}, but {warning}. 'takeback undo {number}' undoes it.\n"
            )
        if isinstance(outcome, Adopted):
            called = is_callable_in(event.client, harness.state)
            way = CALLED.get(event.client, "/takeback") if called else "takeback undo"
            return _give_receipt(event, outcome.entry.entry, weaker, way)
    return HookReply()


def _give_receipt(event: Event, number: int, weaker: list[str], way: str) -> HookReply:
    """Say in one line that an edit was recorded, and what it loosens, where the client shows that to a person."""
    err = f"takeback: recorded as #{number}: {'; '.join(weaker)}\n" if weaker else ""
    if event.client not in SHOWS or event.name not in AFTER:
        return HookReply(err=err)
    loosened = f" ({'; '.join(weaker)})" if weaker else ""
    receipt = mask_text_secrets(f"recorded {number}{loosened}; {way} {number} to undo")
    return HookReply(out=write_compact({"systemMessage": receipt}) + "\n", err=err)


def _list_differing(harness: Harness, reading: Inspection) -> set[str]:
    adapter = harness.adapter
    touched = adapter.find_touched_files(harness.state, reading.actual) if isinstance(adapter, FileAdapter) else ()
    return {*touched, *(broken.path for broken in reading.broken), *harness.status().layout}


def _isolate_file(harness: Harness, place: str) -> State:
    adapter, drift = harness.adapter, harness.status().drift
    changes = (
        group_by_file(adapter, harness.state, drift).get(place, ()) if isinstance(adapter, FileAdapter) else drift
    )
    return put_slots(harness.state, [(change.slot, change.after) for change in changes])


def _make_relative(root: Path, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), os.path.realpath(root))


def _describe_entry(root: Path, event: Event, weaker: list[str]) -> str:
    """Return what an entry is about: the tool with its files, or the event, and what became looser."""
    named = [_make_relative(root, path) for path in list_named_paths(event)]
    inside = [path for path in named if not path.startswith("..")]
    what = " ".join((event.tool, *inside)) if event.tool else f"found at {event.name}"
    return f"{what}; loosens: {'; '.join(weaker)}" if weaker else what


def _recall_call(root: Path, event: Event, origin: dict[str, str]) -> dict[str, str]:
    """Return the prompt and the command of a call: of a project whose files are tracked from where prompts are kept.

    Elsewhere the prompt is the last one of the conversation, as far as the client says where it keeps that.
    """
    if not event.tool:
        return {}
    if not is_tracked(str(root)):
        prompt = mask_text(find_last_prompt(event.transcript)).strip() if event.transcript else ""
        if not prompt:
            return {}
        origin["prompt_number"] = event.prompt[:SHORT] or hashlib.sha256(prompt.encode()).hexdigest()[:SHORT]
        return {"prompt": prompt.splitlines()[0][:LONGEST_LINE]}
    command = event.given.get("command") if event.shell else None
    said = {"command": mask_text(command)[:LONGEST_COMMAND]} if isinstance(command, str) else {}
    with suppress(TrackError, OSError), TrackStore.open(root) as store:
        kept = store.find_last_prompt(event.client, event.session)
        if kept is not None:
            origin["prompt_number"] = str(kept.number)
            said["prompt"] = kept.text_first_line_masked
    return said


def _build_warning(event: Event, text: str) -> HookReply:
    """Warn of files that can no longer be read, so that the client does not take them over."""
    is_heard = event.client == "claude-code" and (event.name in CHANGED or bool(event.tool))
    return HookReply(err=text, code=BLOCK if is_heard else 0)


BY: Final = "takeback watch"
GROUP_MS: Final = 1_600
"""A group ends after so long at the latest, while changes go on."""
QUIET_MS: Final = 200
"""A group ends when nothing changed for so long."""
GIT_SECONDS: Final = 30.0
"""So long a change waits at most for git to finish what it has begun."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """What a watcher says about one group of changes."""

    entry: EntryView | None
    """The entry that it became; None if it could not be recorded."""
    warnings: tuple[str, ...] = ()


class Watched:
    """A harness that is followed."""

    def __init__(self, root: Path, *, journal: str | None = None, check: bool = False) -> None:
        self.root = root
        self._journal = journal
        self._check = check
        self._git = Path(Repository(str(root.absolute()), {}).directory or root / ".git")
        self._branch = self._head()
        self._home: Home | None = find_home(str(root / PRIVATE))

    def record(self) -> Noticed | None:
        """Record what differs from the journal; None if nothing does."""
        branch, self._branch = self._branch, self._head()
        note = f"switched to {self._branch}" if branch != self._branch else "changed"
        try:
            with closing(open_workspace(self.root, journal=self._journal, hold=False)) as harness:
                return self._record_all(harness, note)
        except TakebackError as fault:
            return Noticed(None, (f"not recorded: {fault.message}",))

    def _record_all(self, harness: Harness, note: str) -> Noticed | None:
        reading = harness.adapter.read(harness.state)
        weaker = weigh_states(harness, harness.state, reading.state) if reading.state is not harness.state else []
        outcome = harness.adopt(note, by=BY)
        warnings = list(weaker) if self._check else []
        if isinstance(outcome, Refused):
            return Noticed(None, (f"not recorded: {outcome.message}", *warnings))
        if not isinstance(outcome, Adopted):
            return None
        warnings += self._unloadable(harness) if self._check else []
        return Noticed(view_entry(harness, outcome.entry), tuple(warnings))

    def _unloadable(self, harness: Harness) -> Iterator[str]:
        remembered: Any = getattr(harness.adapter, "list_remembered_files", tuple)
        for path, image in remembered():
            known = None if self._home is None else self._home.find_declaration(str(self.root / path))
            if known is None or isinstance(known[2], Own):
                continue
            fault = why_unloadable(known[2], image.content, path)
            if fault is not None:
                yield f"{path} would not be loaded: {fault[0]}"

    def _head(self) -> str:
        with suppress(OSError):
            return (self._git / "HEAD").read_text(encoding="utf-8").strip().removeprefix("ref: refs/heads/")
        return ""

    def await_settled(self, stop: threading.Event) -> None:
        """Wait for git to finish what it has begun, as long as that takes within bounds."""
        end = time.monotonic() + GIT_SECONDS
        while (self._git / "index.lock").exists() and time.monotonic() < end and not stop.is_set():
            time.sleep(QUIET_MS / 1000)


def follow_changes(watched: Watched, stop: threading.Event, *, polling: bool = False) -> Iterator[Noticed]:
    """Yield everything noticed, including what came before, until `stop` is set."""
    from watchfiles import watch  # noqa: PLC0415 - an extra

    begun = watched.record()
    if begun is not None:
        yield begun
    groups = watch(
        watched.root,
        watch_filter=_make_filter(watched.root),
        debounce=GROUP_MS,
        step=QUIET_MS,
        stop_event=stop,
        rust_timeout=1_000,
        yield_on_timeout=True,
        raise_interrupt=False,
        force_polling=polling or None,
    )
    following = False
    for group in groups:
        if not group and following:
            continue
        following = True  # the first group, also an empty one, tells of what changed before the watcher had begun
        watched.await_settled(stop)
        noticed = watched.record()
        if noticed is not None:
            yield noticed


def _make_filter(root: Path) -> Callable[[Any, str], bool]:
    left_out = FOREIGN | {PRIVATE}
    real = os.path.realpath(root)

    def wanted(change: Any, path: str) -> bool:
        del change
        steps = os.path.relpath(os.path.realpath(os.path.dirname(path)), real).split(os.sep)
        name = os.path.basename(path)
        return not left_out.intersection((*steps, name)) and not TEMPORARY.fullmatch(name)

    return wanted
