"""Hands a client's hook call to the capture of a tracked project's files, before anything else is loaded.

Edit tools name their files, and only those are looked at; for a shell command, a prompt and the end of a turn
everything is. Commands and prompts are masked before they are stored. A capture reports what it cannot do, and never
prevents a tool from running.
"""

from __future__ import annotations

import os

from takeback.adapters.roots import PRIVATE, find_root_text
from takeback.adapters.trust_record import is_trusted
from takeback.agents.fast_hook import (
    AFTER,
    BEFORE,
    CHANGED,
    EDITORS,
    NOTEBOOKS,
    PATCHES,
    PATHS,
    SHELLS,
    Event,
    forget_tool_call,
    parse_event,
)
from takeback.secret_words import may_hold_secret

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.track.call import Call, CaptureResult

PROMPTS = frozenset({"UserPromptSubmit", "BeforeAgent", "chat.message"})
OVER = frozenset({"Stop", "StopFailure", "SessionEnd", "SessionStart", "AfterAgent", "session.idle"})
"""Events at which no tool call of the session is under way."""
PATCH_LINES = ("*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: ")
OLD, NEW = ("old_string", "oldString"), ("new_string", "newString")
MANIFESTS = ("manifest.toml", "../takeback.toml")
LONGEST_TEXT = 100_000
LONGEST_COMMAND = 2_000
LONGEST_LINE = 200


class CaptureOutcome:
    """What became of a hook call in tracked projects."""

    __slots__ = ("done", "said")

    def __init__(self) -> None:
        self.done = False
        """Whether nothing is left to record: no file of a client's changed."""
        self.said = ""


def capture_hook(
    data: bytes, client: str, cwd: str, environment: Mapping[str, str], *, ending: bool = False
) -> CaptureOutcome:
    """Capture what a hook call tells of in every tracked project that it concerns."""
    outcome = CaptureOutcome()
    try:
        event = parse_event(data, client, cwd)
    except ValueError:
        return outcome
    if event.name in CHANGED:
        return outcome
    named = _list_named(event)
    folders = (event.cwd, *(os.path.dirname(path) for path in named or ()))
    places = dict.fromkeys(map(find_root_text, folders))
    roots = [root for root in places if root is not None]
    tracked = [root for root in roots if is_tracked(root) and is_trusted(root)]
    if not tracked:
        return outcome
    captures = [_capture(os.path.realpath(root), event, named, environment, ending) for root in tracked]
    outcome.said = "".join(f"takeback: {line}\n" for capture in captures if capture for line in capture.said)
    quiet = not any(capture is not None and capture.owned_changed for capture in captures)
    outcome.done = quiet and event.name in AFTER | PROMPTS and tracked == roots
    if outcome.done and event.name in AFTER:
        for root in tracked:
            forget_tool_call(root, event.session, event.call)
    return outcome


def _capture(
    root: str, event: Event, named: list[str] | None, environment: Mapping[str, str], ending: bool
) -> CaptureResult | None:
    from takeback.track import call as calls  # noqa: PLC0415 - start-up
    from takeback.track import capture  # noqa: PLC0415

    inside = None if named is None else [path for path in (_make_relative(root, path) for path in named) if path]
    if event.name in BEFORE | AFTER and inside == []:
        return None
    call = calls.Call(event.client, event.session, event.call, mask=mask_text)
    if event.name in BEFORE | AFTER:
        call.tool, call.paths = event.tool, inside
    if event.before:
        return capture.capture_before(root, call, environment, ending=ending)
    if event.name in AFTER:
        _describe(call, event.given)
        return capture.capture_after(root, call, environment, ending=ending)
    if event.name in PROMPTS:
        lines = (line.strip() for line in mask_text(event.asked).splitlines())
        prompt = next((line for line in lines if line), "")[:LONGEST_LINE]
        return capture.capture_prompt(root, call, prompt, environment, ending=ending)
    return capture.capture_found(root, call, environment, over=event.name in OVER, ending=ending)


def is_tracked(root: str) -> bool:
    """Return whether a project's files are tracked: it has a track database, or its manifest says that it should."""
    private = os.path.join(root, PRIVATE)
    if os.path.isfile(os.path.join(private, "track.db")):
        return True
    for name in MANIFESTS:
        try:
            with open(os.path.join(private, name), "rb") as file:
                if b"[track]" in file.read(1 << 20):
                    return True
        except OSError:
            continue
    return False


def _list_named(event: Event) -> list[str] | None:
    """Return the files that an edit tool names; None for any other tool or event."""
    tool, given, folder = event.tool.lower(), event.given, event.cwd
    if tool in SHELLS:
        return None
    if tool in EDITORS | NOTEBOOKS:
        path = next((given[name] for name in (*PATHS, "notebook_path") if isinstance(given.get(name), str)), "")
        return [os.path.join(folder, path)] if path else None
    if tool in PATCHES:
        text = next((value for value in given.values() if isinstance(value, str) and "*** Begin Patch" in value), "")
        lines = [line for line in text.splitlines() if line.startswith(PATCH_LINES)]
        return [os.path.join(folder, line.partition(": ")[2]) for line in lines] or None
    return None


def _make_relative(root: str, path: str) -> str:
    """Return a path relative to a project; empty if it lies outside."""
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    inside = os.path.relpath(real, root)
    return "" if inside == "." or inside.startswith("..") else inside


def _describe(call: Call, given: dict[str, Any]) -> None:
    """Put what a tool was given into the call: its command, or what it announced to replace."""
    command = given.get("command")
    words = " ".join(word for word in command if isinstance(word, str)) if isinstance(command, list) else command
    call.lasting = given.get("run_in_background") is True
    if isinstance(words, str) and call.paths is None:
        call.command = mask_text(words)[:LONGEST_COMMAND]
    if not call.paths or len(call.paths) != 1:
        return
    listed = given.get("edits")
    steps = listed if isinstance(listed, list) else [given]
    call.edits = [
        (call.paths[0], old, new)
        for step in steps
        if isinstance(step, dict)
        for old, new in [(_find(step, OLD), _find(step, NEW))]
        if isinstance(old, str) and isinstance(new, str)
    ]


def _find(given: dict[str, Any], names: tuple[str, ...]) -> object:
    return next((given[name] for name in names if name in given), None)


def mask_text(text: str) -> str:
    """Return a text without what looks like a secret in it; the means for that are loaded only where one may be."""
    shown = text[:LONGEST_TEXT].encode("utf-8", "replace").decode()
    if not may_hold_secret(shown):
        return shown
    from takeback.secret_mask import mask_text_secrets  # noqa: PLC0415 - start-up

    return mask_text_secrets(shown)
