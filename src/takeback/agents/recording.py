"""The recorder: what changed in a harness becomes an entry, by parts, with who did it.

It runs after every tool that may have changed files, and at the events by which a client tells of changes, begins
and ends. A guard that is gone, or permissions that are looser, are recorded as what they are and told.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from takeback.adapters.clients.guarding import loosened
from takeback.adapters.open_by_manifest import open_workspace
from takeback.adapters.roots import root_above
from takeback.agents.answers import BLOCK, HookReply
from takeback.agents.declared import home_of
from takeback.agents.edits import named_paths
from takeback.agents.events import CHANGED, Event
from takeback.harness.adapter import FileAdapter, Reading
from takeback.harness.harness import Harness
from takeback.harness.results import Adopted, Refused

SHORT: Final = 8
SETTLING: Final = 5.0
"""So many seconds a client's notice of a change waits for the recorder of the tool that made it, which knows more."""
BROUGHT_IN: Final = frozenset({".md", ".mdc", ".txt", ""})
"""Endings of files that an instruction file may bring in; whether one does is found out by looking."""


def answer_after(event: Event) -> HookReply:
    """Record what changed in the harnesses that an event may concern."""
    if event.name in CHANGED:
        time.sleep(SETTLING)
    told = [record(root, event) for root in _roots(event)]
    err = "".join(one.err for one in told)
    return HookReply(err=err, code=max((one.code for one in told), default=0))


def _roots(event: Event) -> tuple[Path, ...]:
    """The harnesses in which an event may have changed something."""
    named = [*named_paths(event), *([os.path.join(event.cwd, event.path)] if event.path else [])]
    if event.edits and named and not any(_may_be_ours(path) for path in named):
        return ()
    places = (root_above(Path(path)) for path in (event.cwd, *named))
    return tuple(dict.fromkeys(place for place in places if place is not None))


def _may_be_ours(path: str) -> bool:
    if os.path.splitext(path)[1].lower() in BROUGHT_IN:
        return True
    home = home_of(path)
    return root_above(Path(path)) is not None if home is None else home.declared(path) is not None


def record(root: Path, event: Event) -> HookReply:
    """Record what changed in one harness."""
    with closing(open_workspace(root, hold=False)) as harness:
        reading = harness.adapter.read(harness.state)
        if event.name in CHANGED and event.path and not _differs(harness, reading, root, event.path):
            return HookReply()  # recorded already; what else differs belongs to a tool whose recorder is under way
        weaker = [] if reading.state is harness.state else loosened(harness.state, reading.state)
        by = f"{event.client} (declared)" + (f", session {event.session[:SHORT]}" if event.session else "")
        origin = event.origin() | ({"loosens": "; ".join(weaker)} if weaker else {})
        found = harness.adopt(_note(root, event, weaker), by=by, origin=origin)
        if isinstance(found, Refused):
            names = " ".join(broken.path for broken in reading.broken)
            hint = f" 'takeback discard {names}' puts the last content back." if names else ""
            return _warning(event, f"takeback: {found.message}.{hint}\n")
        if isinstance(found, Adopted) and weaker:
            return HookReply(err=f"takeback: recorded as #{found.entry.entry}: {'; '.join(weaker)}\n")
    return HookReply()


def _differs(harness: Harness, reading: Reading, root: Path, path: str) -> bool:
    """Whether a file is not as the journal has it."""
    adapter = harness.adapter
    touched = adapter.touched(harness.state, reading.state) if isinstance(adapter, FileAdapter) else ()
    paths = {*touched, *(broken.path for broken in reading.broken), *harness.status().layout}
    return os.path.relpath(os.path.realpath(path), os.path.realpath(root)) in paths


def _note(root: Path, event: Event, weaker: list[str]) -> str:
    """What an entry is about: the tool and the files it named, or the event, and what became looser."""
    named = [os.path.relpath(os.path.realpath(path), os.path.realpath(root)) for path in named_paths(event)]
    inside = [path for path in named if not path.startswith("..")]
    what = " ".join((event.tool, *inside)) if event.tool else f"found at {event.name}"
    return f"{what}; loosens: {'; '.join(weaker)}" if weaker else what


def _warning(event: Event, text: str) -> HookReply:
    """Tell of files that can no longer be read: to the model, and so that the client does not take them over."""
    told = event.client == "claude-code" and (event.name in CHANGED or bool(event.tool))
    return HookReply(err=text, code=BLOCK if told else 0)
