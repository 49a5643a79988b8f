"""The answer to a client's hook: its JSON on standard input, the answer in the client's own protocol.

Before an edit, a guard that fails answers no. Before a shell command, and once a tool has run, nothing that
fails here keeps the client from going on: it is reported on standard error. A hook imports this, and little
else.
"""

from __future__ import annotations

import os
import sys

from takeback.adapters.trust_record import use_trust_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def choose_trust_folder() -> None:
    """Keep and look for trust records where the environment says."""
    chosen = os.environ.get("TAKEBACK_TRUST")
    if chosen:
        use_trust_folder(os.path.abspath(os.path.expanduser(chosen)))


BLOCKED = 2
ANSWERED = frozenset({"cursor", "cline"})
"""Clients that want to read JSON even where there is nothing to say."""


def find_client(words: Sequence[str]) -> str | None:
    """Return the client whose hook it is, where the words say no more than that; None for anything else."""
    from takeback.agents.fast_hook import CLIENTS  # noqa: PLC0415 - start-up

    match list(words):
        case []:
            return CLIENTS[0]
        case [client] if client in CLIENTS:
            return client
    return None


def answer_and_end(client: str) -> NoReturn:
    """Answer one hook and end the process at once: a client waits, and the system takes back what it holds."""
    code = answer_hook(client, ending=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def answer_hook(client: str, *, ending: bool = False) -> int:
    """Answer one hook; returns the exit code. `ending` says that the process ends with it."""
    out, err, code = _find_answer(client, ending=ending)
    if not out and not code and client in ANSWERED:
        out = "{}\n"
    sys.stdout.write(out)
    sys.stderr.write(err)
    return code


def _find_answer(client: str, *, ending: bool) -> tuple[str, str, int]:
    blocking = True
    try:
        choose_trust_folder()
        from takeback.agents.fast_hook import (  # noqa: PLC0415 - a failing import must be answered too
            RAN,
            SPEAK_OTHERWISE,
            can_pass_unchecked,
            has_nothing_to_record,
        )

        data = sys.stdin.buffer.read()
        if client in SPEAK_OTHERWISE:
            from takeback.agents.hook_dialects import translate_call  # noqa: PLC0415

            data = translate_call(data, client)
        cwd = _find_cwd()
        if _capture_project(data, client, cwd, ending=ending):
            return "", "", 0
        if can_pass_unchecked(data, client, cwd):
            return "", "", 0
        if any(word in data for word in RAN):
            from takeback.agents.quick_edits import note_edits  # noqa: PLC0415

            noted = note_edits(data, client, cwd)
            if noted is not None:
                return noted, "", 0
        elif has_nothing_to_record(data, cwd):
            return "", "", 0
        from takeback.agents.hook_events import read_event  # noqa: PLC0415

        event = read_event(data, client, cwd)
        blocking = event.before and not event.shell
        if event.before:
            from takeback.agents.guard import answer_before  # noqa: PLC0415

            return answer_before(event)
        from takeback.agents.recorder import answer_after  # noqa: PLC0415 - it needs state and journal

        return answer_after(event)
    except Exception as fault:  # noqa: BLE001 - a client must get an answer, whatever happens
        message = getattr(fault, "message", None) or f"{type(fault).__name__}: {fault}"
        verb = "the guard failed, so the edit is not made" if blocking else "the change could not be recorded"
        return (
            _refuse(client, f"takeback: {verb}: {message}") if blocking else ("", f"takeback: {verb}: {message}\n", 0)
        )


def _refuse(client: str, message: str) -> tuple[str, str, int]:
    try:
        from takeback.agents.hook_dialects import refuse_call  # noqa: PLC0415 - it may be what failed
    except ImportError:
        return "", f"{message}\n", BLOCKED
    return refuse_call(client, message)


def _find_cwd() -> str:
    """Return the working directory; where it was deleted, what it was called: a client names its own beside it."""
    try:
        return os.getcwd()
    except OSError:
        named = os.environ.get("PWD", "")
        return named if os.path.isabs(named) else os.sep


def _capture_project(data: bytes, client: str, cwd: str, *, ending: bool) -> bool:
    """Capture the files of a tracked project; return whether nothing is left to record. What fails is said."""
    try:
        from takeback.agents.fast_capture import capture_hook  # noqa: PLC0415 - a failing import must be answered too

        outcome = capture_hook(data, client, cwd, os.environ, ending=ending)
    except Exception as fault:  # noqa: BLE001 - a capture never fails a tool call
        sys.stderr.write(f"takeback: the project's files could not be captured: {type(fault).__name__}: {fault}\n")
        return False
    sys.stderr.write(outcome.said)
    return outcome.done
