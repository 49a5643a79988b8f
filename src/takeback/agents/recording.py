"""The recorder: what changed in a harness becomes an entry, by parts, with who did it.

It runs after every tool that may have changed files, and at the events by which a client tells of changes, begins
and ends. A guard that is gone, or permissions that are looser, are recorded as what they are and told.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Final

from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.open_by_manifest import open_workspace
from takeback.adapters.roots import root_above
from takeback.adapters.trust_gate import name_way_out
from takeback.adapters.trust_record import is_trusted
from takeback.agents import under_way
from takeback.agents.answers import BLOCK, HookReply
from takeback.agents.declared import may_be_ours
from takeback.agents.edits import named_paths
from takeback.agents.events import CHANGED, Event
from takeback.canonical import compact
from takeback.errors import UntrustedError
from takeback.harness.adapter import FileAdapter
from takeback.harness.adopting import by_file
from takeback.harness.engine import Look
from takeback.harness.harness import Harness
from takeback.harness.results import Adopted, Refused
from takeback.present.heed import list_unheeded
from takeback.present.looser import weigh_states
from takeback.present.secrets import masked_text
from takeback.state import State
from takeback.state.slots import put_slots

SHORT: Final = 8
SHOWS: Final = "claude-code"
"""The client that shows its user a message from a hook."""
BEGINS: Final = "SessionStart"


def answer_after(event: Event) -> HookReply:
    """Record what changed in the harnesses that an event may concern."""
    named = [*named_paths(event), *([os.path.join(event.cwd, event.path)] if event.path else [])]
    places = (root_above(Path(path)) for path in (event.cwd, *named))
    every = tuple(dict.fromkeys(place for place in places if place is not None))
    roots = tuple(root for root in every if is_trusted(str(root)))
    strangers = [root for root in every if root not in roots]
    warned = say_untrusted(event, strangers[0]) if strangers else HookReply()
    nobodys = event.edits and named and not any(may_be_ours(path) for path in named)
    try:
        told = [] if nobodys else [record(root, event) for root in roots]
    finally:
        for root in roots:
            if event.name not in CHANGED:
                under_way.end(str(root), event.session, event.call)
    err = masked_text("".join(one.err for one in (warned, *told)))
    return HookReply(out=warned.out, err=err, code=max((one.code for one in told), default=0))


def say_untrusted(event: Event, root: Path) -> HookReply:
    """Say that nothing is recorded here, and the way out; a session goes on as it would without Takeback."""
    told = f"takeback: {root} is not trusted, so that nothing is recorded here. {name_way_out(root)}."
    if event.client == SHOWS and event.name == BEGINS:
        return HookReply(out=compact({"systemMessage": told}) + "\n")
    return HookReply(err=f"{told}\n")


def record(root: Path, event: Event) -> HookReply:
    """Record what changed in one harness."""
    try:
        harness = open_workspace(root, hold=False)
    except UntrustedError as fault:
        return HookReply(err=f"takeback: {fault.message}. {fault.hint}.\n")
    with closing(harness), harness.inspect() as reading:
        alone: tuple[str, ...] = ()
        after = reading.actual
        if event.name in CHANGED:
            differing = _differing(harness, reading)
            place = _inside(root, os.path.join(event.cwd, event.path)) if event.path else ""
            readable = not reading.broken if not place else place not in {one.path for one in reading.broken}
            if place and place not in differing:
                return HookReply()
            if readable and under_way.concerned(str(root), str(root / place) if place else ""):
                return HookReply()  # of a tool that still runs; its own recorder knows more
            if place and readable and len(differing) > 1:
                alone, after = (place,), _only(harness, place)
        weaker = [] if after is harness.state else weigh_states(harness, harness.state, after)
        by = f"{event.client} (declared)" + (f", session {event.session[:SHORT]}" if event.session else "")
        origin = event.origin() | ({"loosens": "; ".join(weaker)} if weaker else {})
        found = harness.adopt(_note(root, event, weaker), by=by, origin=origin, paths=alone)
        if found is None and not alone:
            _note_look(harness)
        if isinstance(found, Refused):
            names = " ".join(broken.path for broken in reading.broken)
            hint = f" 'takeback discard {names}' puts the last content back." if names else ""
            return _warning(event, f"takeback: {found.message}.{hint}\n")
        unheeded = list_unheeded(found, harness)
        if unheeded and isinstance(found, Adopted):
            number = found.entry.entry
            told = "; ".join((*unheeded, *weaker))
            return _warning(
                event, f"takeback: recorded as #{number}, but {told}. 'takeback undo {number}' undoes it.\n"
            )
        if isinstance(found, Adopted) and weaker:
            return HookReply(err=f"takeback: recorded as #{found.entry.entry}: {'; '.join(weaker)}\n")
    return HookReply()


def _note_look(harness: Harness) -> None:
    """Note that everything is recorded, so that the next event need not look again if nothing has changed."""
    adapter, ledger = harness.adapter, harness.ledger
    open_ends = ledger.pending is not None or ledger.holes or ledger.missing or harness.doubt
    if isinstance(adapter, FilesAdapter) and not open_ends and not adapter.leftovers():
        adapter.note_look(ledger.last, ledger.head)


def _differing(harness: Harness, reading: Look) -> set[str]:
    """The files that are not as the journal has them."""
    adapter = harness.adapter
    touched = adapter.touched(harness.state, reading.actual) if isinstance(adapter, FileAdapter) else ()
    return {*touched, *(broken.path for broken in reading.broken), *harness.status().layout}


def _only(harness: Harness, place: str) -> State:
    """The state with what was changed in one file, and nothing else."""
    adapter, drift = harness.adapter, harness.status().drift
    changes = by_file(adapter, harness.state, drift).get(place, ()) if isinstance(adapter, FileAdapter) else drift
    return put_slots(harness.state, [(change.slot, change.after) for change in changes])


def _inside(root: Path, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), os.path.realpath(root))


def _note(root: Path, event: Event, weaker: list[str]) -> str:
    """What an entry is about: the tool and the files it named, or the event, and what became looser."""
    named = [_inside(root, path) for path in named_paths(event)]
    inside = [path for path in named if not path.startswith("..")]
    what = " ".join((event.tool, *inside)) if event.tool else f"found at {event.name}"
    return f"{what}; loosens: {'; '.join(weaker)}" if weaker else what


def _warning(event: Event, text: str) -> HookReply:
    """Tell of files that can no longer be read: to the model, and so that the client does not take them over."""
    told = event.client == "claude-code" and (event.name in CHANGED or bool(event.tool))
    return HookReply(err=text, code=BLOCK if told else 0)
