"""`takeback show` and `diff`: one entry, whole; what changed in it, between two, or outside Takeback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from takeback.canonical import write_pretty
from takeback.cli import completion
from takeback.cli.changes import changes_to_json, show_changes, stats_to_json
from takeback.cli.context import EntryArgument, ViewOptions, print_left_out
from takeback.cli.display import with_class
from takeback.cli.hints import localize_hints
from takeback.cli.log import STYLES, find_headline
from takeback.cli.options import argument, flag
from takeback.cli.outcomes import SEVERAL, fault_to_json, show_broken
from takeback.cli.output import emit, out
from takeback.harness import Harness
from takeback.harness.adapter import Broken
from takeback.harness.entry_log import (
    EntryView,
    diff_states,
    load_entry_writes,
    rebuild_state_after,
    rebuild_state_before,
    view_entry,
)
from takeback.harness.entry_names import resolve_entry
from takeback.harness.records import load_candidate_json, load_evidence, read_slots
from takeback.present.entries import describe_check, describe_prompt, make_entry_namer, summarize_entry
from takeback.secret_mask import is_revealing, mask_secrets
from takeback.state import State
from takeback.undo import SlotChange, Write

TIMES: Final = frozenset({"began", "ended"})


def show(
    options: ViewOptions,
    entry: str = EntryArgument,
    state: bool = flag("--state", "Show the whole state right after it instead."),
    with_candidate: bool = flag("--candidate", "Show the candidate too, which a terminal leaves out otherwise."),
) -> None:
    """Show one entry: what it changed, its candidate and its evidence.

    Example: `takeback show 3f2a91`, `takeback show HEAD~2 --state`
    """
    with options.open(looking=True) as harness:
        record = resolve_entry(harness.ledger, entry)
        seen = view_entry(harness, record)
        harness.note_read("show", record.id, None if state else read_slots(record))
        changes = () if record.kind == "genesis" else load_entry_writes(harness, record)
        brief = out.width is not None and not options.as_json
        headline = find_headline(harness, seen) if brief and not state else ""
        what = summarize_entry(seen, make_entry_namer(harness), headline, prompt=not brief)
        whole = rebuild_state_after(harness, record).write() if state else None
        if state:
            print_left_out(harness)
        candidate, evidence = load_candidate_json(harness.journal, record), load_evidence(harness.journal, record)
        if options.as_json:
            details = {
                "what": what,
                "candidate": candidate,
                "evidence": evidence,
                "changes": changes_to_json(changes),
            }
            emit({**seen.to_json(), **details, "prev": record.prev, **({} if whole is None else {"state": whole})})
            return
        with out.page_output(allowed=not options.no_pager):
            _show_about(seen, what)
            if whole is not None:
                out.print(write_pretty(whole if is_revealing() else mask_secrets(whole)))
                return
            for address in seen.ambiguous:
                out.print(f"note: what was done to {address} {SEVERAL}", style="yellow")
            show_changes(changes, lambda: rebuild_state_before(harness, record), stat=options.stat)
            if candidate is not None and out.is_terminal and not with_candidate:
                out.print(localize_hints(f"'takeback show {seen.seq} --candidate' shows its candidate"), style="cyan")
            elif candidate is not None:
                out.print("candidate:")
                out.print(write_pretty(candidate if is_revealing() else mask_secrets(candidate)))


def _show_about(seen: EntryView, what: str) -> None:
    out.print(f"entry {seen.id}", style="bold")
    at = seen.at if out.width is None else f"{seen.at[:16].replace('T', ' ')} UTC"
    by = f", by {seen.by}" if seen.by else ""
    out.print(f"{seen.kind} #{seen.seq}, ", (seen.status, STYLES.get(seen.status, "")), f", {at}{by}")
    if seen.grade:
        more = ", FORCED although not admitted" if seen.forced else " (after the change)" * seen.recorded
        out.print(f"evidence: {with_class(seen.grade, seen.to_json())}{more}")
    elif seen.unproved:
        out.print(f"evidence: none, because {seen.unproved}")
    if seen.origin:
        shown = {key: value for key, value in seen.origin.items() if key != "prompt" or not describe_prompt(seen)}
        out.print(f"recorded from: {_describe_origin(shown)}")
    if seen.approval is not None:
        out.print(f"approved: by {seen.approval.get('by')} at {seen.approval.get('at')}")
    if seen.check is not None:
        out.print(f"check: {describe_check(seen.check)}")
    prompt = describe_prompt(seen)
    if prompt:
        out.print(f"under the prompt {prompt}")
    out.print(what if seen.stat else seen.note or what)
    for path, why in seen.unkept:
        out.print(f"cannot be taken back: {path} ({why})", style="yellow")


def _describe_origin(origin: Mapping[str, str]) -> str:
    """Return where an entry was recorded from, with the times of a call as people read them."""
    pairs = ((key, _format_nanoseconds(value) if key in TIMES else value) for key, value in origin.items())
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in pairs)


def _format_nanoseconds(text: str) -> str:
    if not text.isdecimal():
        return text
    return datetime.fromtimestamp(int(text) / 1e9, UTC).isoformat(timespec="milliseconds")


def diff(
    options: ViewOptions,
    entry: str | None = argument(
        "ENTRY",
        "An entry; without one, changes made outside Takeback.",
        None,
        autocompletion=completion.offer_entries,
    ),
    other: str | None = argument(
        "OTHER",
        "Another entry: show what differs between the states right after the two.",
        None,
        autocompletion=completion.offer_entries,
    ),
) -> None:
    """Show what changed. Without an entry: changes made outside Takeback, and files that cannot be read.

    Exit code 0, even if nothing changed; `takeback status` answers whether anything did.

    Example: `takeback diff 3f2a91`, `takeback diff 3f2a91 HEAD --stat`
    """
    with options.open(looking=True) as harness:
        harness.require("read")
        changes, before, broken = _find_changes(harness, entry, other)
        named = ",".join(resolve_entry(harness.ledger, name).id for name in (entry, other) if name is not None)
        harness.note_read("diff", named, [change.slot for change in changes])
        if other is not None:
            print_left_out(harness)
        if options.as_json:
            unread = [fault_to_json(fault) for fault in broken]
            emit({"changes": changes_to_json(changes), "stat": stats_to_json(changes, before), "broken": unread})
            return
        with out.page_output(allowed=not options.no_pager):
            if changes or options.stat:
                show_changes(changes, before, stat=options.stat)
            show_broken(broken)


def _find_changes(
    harness: Harness, entry: str | None, other: str | None
) -> tuple[tuple[SlotChange | Write, ...], Callable[[], State], tuple[Broken, ...]]:
    """Return the changes asked for, how to build the state ahead of them, and the files that cannot be read."""
    if entry is None:
        status = harness.status()
        return status.drift, lambda: harness.state, status.broken
    record = resolve_entry(harness.ledger, entry)
    if other is not None:
        first, last = (
            rebuild_state_after(harness, record) for record in (record, resolve_entry(harness.ledger, other))
        )
        return diff_states(first, last), lambda: first, ()
    changes = () if record.kind == "genesis" else load_entry_writes(harness, record)
    return changes, lambda: rebuild_state_before(harness, record), ()
