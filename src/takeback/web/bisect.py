"""What broke it, on the page: a check command, the histories it is tried on, and the undo it ends with.

A search runs as `takeback bisect --test` does, in a scratch copy, on behalf of whoever sent the form of this
session's page; there is one at a time for each harness. Nothing of the harness is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from markupsafe import escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from takeback.agents.scratch_copy import search_breakage
from takeback.errors import TakebackError
from takeback.harness import Refused
from takeback.harness.bisect import LiveEntries
from takeback.web.pages import (
    Form,
    find_shown,
    form_endpoint,
    harness_form,
    harness_view,
    is_part_wanted,
    read_first,
    render_page,
    render_template,
)
from takeback.web.rows import NamedEntry, name_entries
from takeback.web.shelf import Shown

SECONDS: Final = 300.0
LONGEST: Final = 3600.0
"""Seconds that one run of the command may take."""
LONGEST_COMMAND: Final = 2000
JOINED: Final = 5.0
"""Seconds that a search gets to end when the server does."""
SQUARES: Final = 400
"""Entries that are drawn one by one."""


@dataclass(frozen=True, slots=True)
class PageTrial:
    """One history that was tried."""

    live: LiveEntries
    broken: bool | None

    @property
    def word(self) -> str:
        """How it ended."""
        return {True: "broken", False: "works", None: "cannot tell"}[self.broken]


@dataclass(slots=True)
class BisectSearch:
    """A search, as far as it has come."""

    command: str
    good: str
    seconds: float
    entries: tuple[int, ...] = ()
    trials: list[PageTrial] = field(default_factory=list)
    found: tuple[NamedEntry, ...] = ()
    reason: str = ""
    """Why nothing was found, or why it could not be looked for."""
    done: bool = False
    stopped: Event = field(default_factory=Event, repr=False)
    thread: Thread | None = field(default=None, repr=False)

    def start(self, shown: Shown) -> None:
        """Search, in a thread."""
        self.thread = Thread(target=self._run, args=(shown,), daemon=True)
        self.thread.start()

    def stop(self, wait: float = JOINED) -> None:
        """End the search, with the command that is running."""
        self.stopped.set()
        if self.thread is not None:
            self.thread.join(wait)

    def _run(self, shown: Shown) -> None:
        try:
            self._search(shown)
        except (TakebackError, OSError) as fault:
            self.reason = "you stopped it" if self.stopped.is_set() else str(fault)
        finally:
            self.done = True

    def _search(self, shown: Shown) -> None:
        breakage = search_breakage(
            shown.harness,
            Path(shown.where),
            self.command,
            self._note,
            good=self.good or None,
            seconds=self.seconds,
            stop=self.stopped.is_set,
            lock=shown.lock,
        )
        if isinstance(breakage, Refused):
            self.reason = breakage.message
            return
        with shown.lock:
            self.found = tuple(name_entries(shown.harness, breakage.entries))
        self.reason = breakage.reason

    def _note(self, live: LiveEntries, entries: tuple[int, ...], broken: bool | None) -> None:
        self.entries = entries
        self.trials.append(PageTrial(live, broken))


@harness_view
def show_bisect(request: Request, shown: Shown) -> Response:
    """Show the form, or the search as far as it has come; for a script that follows it, only that."""
    if is_part_wanted(request):
        state = request.app.state
        token = escape(state.session.form_token)  # markup: a token that looks like a secret is still a token
        about: dict[str, Any] = {"form_token": token, "read_only": state.read_only, "squares": SQUARES}
        return HTMLResponse(render_template("search.html", shown=shown, search=shown.search, **about))
    return _render_bisect(request, shown)


def _render_bisect(request: Request, shown: Shown, message: str = "", code: int = 200) -> Response:
    about: dict[str, Any] = {"message": message, "longest": int(LONGEST), "squares": SQUARES}
    return render_page(request, "bisect.html", code, shown=shown, search=shown.search, **about)


@harness_form
def start_bisect(request: Request, shown: Shown, form: Form) -> Response:
    """Start a search with the command that a person gave."""
    command, good = read_first(form, "test").strip(), read_first(form, "good").strip()
    why = _why_not(shown, command)
    try:
        seconds = float(read_first(form, "seconds") or SECONDS)
    except ValueError:
        seconds = 0
    if not why and not 0 < seconds <= LONGEST:
        why = f"One run may take from 1 to {LONGEST:g} seconds."
    if why:
        return _render_bisect(request, shown, why, 409)
    shown.search = BisectSearch(command, good, seconds)
    shown.search.start(shown)
    return RedirectResponse(f"/{shown.number}/bisect", 303)


def _why_not(shown: Shown, command: str) -> str:
    if not shown.where:
        return "This harness has no directory that could be copied and tested."
    if shown.search is not None and not shown.search.done:
        return "A search is running already. Stop it first, or wait for it."
    if not command or len(command) > LONGEST_COMMAND or "\0" in command:
        return "Give a command that ends with 0 if it works, such as: make check"
    return ""


@form_endpoint
def stop_bisect(request: Request, form: Form) -> Response:
    """End the search that is running."""
    del form
    shown = find_shown(request)
    if shown.search is not None:
        shown.search.stop()
    return RedirectResponse(f"/{shown.number}/bisect", 303)
