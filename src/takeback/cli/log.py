"""`takeback log`: each change with its evidence and status, one line per entry; or what was refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from takeback.canonical import write_pretty
from takeback.cli import completion
from takeback.cli.changes import changes_to_json, show_changes, stats_to_json
from takeback.cli.context import SHORT, FilterOptions, ViewOptions
from takeback.cli.hints import localize_hints
from takeback.cli.line_breaks import cut_at_word, measure_cells
from takeback.cli.options import argument, flag, setting
from takeback.cli.output import answer, emit, err, mention, out
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.attempts import read_attempts
from takeback.harness.entry_log import EntryView, Rewind, iter_entries, load_entry_writes
from takeback.harness.external import is_outside
from takeback.harness.ledger import CHANGES
from takeback.harness.records import read_slots
from takeback.present.attempts import find_root
from takeback.present.entries import (
    EFFECT_CLASSES,
    EntryNamer,
    Filter,
    describe_prompt,
    make_entry_namer,
    read_filter,
    summarize_entry,
)
from takeback.present.search_index import load_headline, narrow_filter
from takeback.present.summary import is_after
from takeback.present.visible import escape_invisible

COLUMNS: Final = {"entry": SHORT, "#": 5, "when": 11, "kind": 7, "evidence": 15, "status": 7}
"""Columns before the last one, with the width they have at least."""
NARROW: Final = {"#": 4, "when": 11, "by": 12, "evidence": 8}
"""Those on a terminal that is narrower than `WIDE`, so that what was done has room."""
WIDE_COLUMNS: Final = {"entry": SHORT, "#": 5, "when": 11, "by": 16, "evidence": 8}
"""Those on a terminal that is wide enough for ids."""
WIDE: Final = 110
MIN_WHAT: Final = 12
MOST_AUTHORS: Final = 4
STYLES: Final = {"undone": "dim", "aborted": "dim", "done": "dim", "pending": "yellow"}
"""A status has no colour of its own, as on the page; what is not in effect is dim."""
FIELDS: Final[Mapping[str, Callable[[EntryView], str]]] = {
    "id": lambda entry: entry.id,
    "short": lambda entry: entry.id[:SHORT],
    "number": lambda entry: str(entry.seq),
    "at": lambda entry: entry.at,
    "kind": lambda entry: entry.kind,
    "status": lambda entry: entry.status,
    "grade": lambda entry: entry.grade,
    "forced": lambda entry: "forced" if entry.forced else "",
    "by": lambda entry: entry.by,
    "note": lambda entry: entry.note,
    "addresses": lambda entry: ", ".join(entry.addresses),
}
_FIELD: Final = re.compile(r"\{(\w*)\}")


def list_live_entries(harness: Harness, wanted: Filter) -> tuple[str, ...]:
    """Return the ids of live changes that a filter lets through, newest first; raise if there are none.

    What others wrote in another system is left alone unless their name was asked for.
    """
    entries = tuple(
        entry.id
        for entry in wanted.select_entries(iter_entries(harness), make_entry_namer(harness))
        if entry.status == "live" and (wanted.by or not is_outside(harness.journal.get(entry.seq)))
    )
    if not entries:
        raise InputError(
            "undo",
            found="no live change that matches",
            expected="at least one",
            hint=_name_authors(harness, wanted) or "'takeback log' takes the same options and lists what they match",
        )
    return entries


def _name_authors(harness: Harness, wanted: Filter) -> str:
    """Return which whole names of authors part of one could mean; empty where it is no part of any."""
    called = wanted.by.casefold()
    live = (entry.by for entry in iter_entries(harness) if called and entry.status == "live")
    names = sorted({name for name in live if called in name.casefold() and name != wanted.by})
    shown = " or --by ".join(shlex.quote(escape_invisible(name)) for name in names[:MOST_AUTHORS])
    return f"an undo wants an author's whole name: --by {shown}" if names else ""


def _choose_columns() -> Mapping[str, int]:
    if out.width is None:
        return COLUMNS
    return NARROW if out.width < WIDE else WIDE_COLUMNS


def shorten_author(author: str, width: int) -> str:
    """Return an author's name without an address, cut between words where it is too long."""
    name = author.partition(" <")[0] or author
    return cut_at_word(escape_invisible(name), width)


def show_heading(indent: int = 0) -> None:
    """Print the names of the log's columns, which begin so far to the right."""
    out.print(_format_row({name: name for name in (*COLUMNS, "by")}, "what", " " * indent)[0], style="bold")


def show_line(entry: EntryView, what: str, graph: str = "") -> None:
    """Print an entry on one line, with its part of the graph before it.

    On a terminal the author has a column, and the last one, what was done, is cut to fit; elsewhere nothing is.
    """
    columns = _choose_columns()
    grade = entry.grade or ("none" if entry.unproved else "")
    shown = {
        "entry": entry.id[:SHORT],
        "#": str(entry.seq),
        "when": entry.at[5:16].replace("T", " "),
        "kind": entry.kind,
        "status": entry.status,
    }
    if "by" in columns:
        ended = entry.status not in {"live", "done"}
        shown["evidence"] = "FORCED" if entry.forced else grade
        shown["by"] = shorten_author(entry.by, columns["by"])
        summary = f"{entry.effects}: {what}" if entry.stays else what
        line, start = _format_row(shown, f"{entry.status}: {summary}" if ended else summary, graph)
        end = start + len(entry.status) * ended
    else:
        if entry.forced:
            grade = f"{grade}, FORCED"
        elif entry.recorded and entry.grade:
            grade = f"{grade} (after)"
        shown["evidence"] = f"{grade}, {entry.effects}" if entry.stays else grade
        line, last = _format_row(shown, f"{what} (by {entry.by})" if entry.by else what, graph)
        start = last - 2 - max(COLUMNS["status"], len(entry.status))
        end = start + len(entry.status)
    out.print(line[:start], (line[start:end], STYLES.get(entry.status, "")), line[end:], whole=True)


def _format_row(shown: Mapping[str, str], last: str, before: str = "") -> tuple[str, int]:
    cells = ((shown[name], width) for name, width in _choose_columns().items())
    line = before + "".join(f"{text}{' ' * (width - measure_cells(text))}  " for text, width in cells)
    summary = escape_invisible(last)
    if out.width is not None:
        summary = cut_at_word(summary, max(MIN_WHAT, out.width - measure_cells(line)))
    return (line + summary).rstrip(), len(line)


def _check_format(template: str) -> str:
    """Return the template, if it names only fields there are."""
    for name in _FIELD.findall(template):
        if name not in {*FIELDS, "what"}:
            expected = ", ".join(f"{{{field}}}" for field in (*FIELDS, "what"))
            raise InputError("--format", found=f"{{{name}}}", expected=f"some of {expected}")
    return template


def _format_entry(template: str, entry: EntryView, what: str) -> str:
    values = {"what": what, **{name: field(entry) for name, field in FIELDS.items()}}
    return _FIELD.sub(lambda match: values[match[1]], template)


ANY: Final = Filter(loose=True)
ON_A_TERMINAL: Final = 30
"""Entries shown on a terminal where no number is given; elsewhere, all."""


def show_entries(
    options: ViewOptions,
    chosen: FilterOptions,
    text: str = argument(
        "TEXT", "Only entries that contain this, in changed lines, prompts, commands, notes or authors.", ""
    ),
    number: int | None = setting("--number -n", "N", "Only the last N; 0 for all. 30 on a terminal.", None, min=0),
    patch: bool = flag("--patch -p", "Show what each entry changed."),
    graph: bool = flag("--graph", "Draw which entries depend on which, and name them."),
    grade: str = setting(
        "--grade",
        "GRADE",
        "Only entries with this evidence, or forced.",
        autocompletion=completion.offer_words(completion.GRADES),
    ),
    until: str = setting("--until", "TIME", "Only entries up to this time."),
    client: str = setting("--client", "NAME", "Only entries that this client's agent made."),
    effect_class: str = setting(
        "--class",
        "CLASS",
        "Only entries of this class: reversible, compensable, irreversible.",
        autocompletion=completion.offer_words(dict.fromkeys(EFFECT_CLASSES, "")),
    ),
    refused: bool = flag("--refused", "List refused changes instead: who wanted what, and why it was refused."),
    template: str = setting("--format", "TEMPLATE", "A format for each line, such as '{short} {status} {what}'."),
) -> None:
    """List entries, newest first. An undo names the entries that it took back.

    Fields of a format: id, short, number, at, kind, status, grade, forced, by, note, addresses, what.

    Example: `takeback log -n 10`, `takeback log --surface prompts --since 2h -p`,
    `takeback log --graph`
    """
    wanted = read_filter(
        text, grade=grade, until=until, client=client, effect_class=effect_class, loose=True, **vars(chosen)
    )
    _check_format(template)
    with options.open(looking=True) as harness:
        harness.require("read")
        if refused:
            show_refused(harness, wanted, number)
            return
        named = make_entry_namer(harness)
        wanted = narrow_filter(harness, wanted)
        entries = wanted.select_entries(iter_entries(harness), named)
        expiry = _read_expiry(harness, options.directory)
        if options.as_json:
            listed = list(islice(entries, number or None))
            _emit(harness, listed, named, expiry, patch=patch, stat=options.stat, graph=graph)
            return
        limit = number if number is not None else ON_A_TERMINAL if out.is_terminal and wanted == ANY else 0
        past = Rewind(harness)
        with out.page_output(allowed=not options.no_pager):
            shown = islice(entries, limit or None)
            lines = _draw_graph(harness, list(shown)) if graph else ((entry, "", "") for entry in shown)
            if not template:
                show_heading(len(lines[0][1]) if isinstance(lines, list) and lines else 0)
            found_any = False
            prompt_before = ""
            for entry, before, needed in lines:
                found_any = True
                until = expiry(entry.seq, entry.at)
                headline, grouped = find_headline(harness, entry), out.width is not None and not template
                brief = replace(entry, effect=(), readers={}) if grouped and _choose_columns() is NARROW else entry
                what = summarize_entry(brief, named, headline, prompt=not grouped) + needed
                if grouped:
                    prompt_before = _show_prompt(entry, prompt_before, before)
                what += f" (irreversible from {until})" if until else ""
                if template:
                    out.print(f"{before}{_format_entry(template, entry, what)}", whole=True)
                else:
                    show_line(entry, what, before)
                if (patch or options.stat) and entry.kind != "genesis":
                    record = harness.journal.get(entry.seq)
                    harness.note_read("log", record.id, read_slots(record))
                    show_changes(load_entry_writes(harness, record), partial(past.before, record), stat=options.stat)
                    out.print()
        if not found_any and wanted != ANY:
            err.print(
                localize_hints("no entry matches; 'takeback log' without options lists all of them"), style="yellow"
            )
        if number is None and next(entries, None) is not None:
            err.print(localize_hints("older entries: 'takeback log -n 0' lists all of them"), style="dim")


def _show_prompt(entry: EntryView, last: str, graph: str) -> str:
    """Print the prompt that an entry and those after it were made under, unless it is the last one; return it."""
    prompt = describe_prompt(entry)
    if prompt != last and out.width is not None:
        said = (
            cut_at_word(escape_invisible(prompt), out.width - measure_cells(graph)) or "under no prompt that is known"
        )
        out.print(f"{' ' * measure_cells(graph)}{said}", style="cyan" if prompt else "dim", whole=True)
    return prompt


def _read_expiry(harness: Harness, directory: Path) -> Callable[[int, str], str]:
    """Return what tells from when on an entry's captures are not kept; nothing where no policy limits that."""
    from takeback.adapters.manifest import find_root  # noqa: PLC0415 - start-up
    from takeback.govern.policy import POLICY, read_policy  # noqa: PLC0415 - start-up

    root = find_root(directory)
    if not (root / POLICY).exists():
        return lambda _number, _at: ""
    from takeback.govern.retention import make_expiry  # noqa: PLC0415 - start-up

    return make_expiry(harness.journal, read_policy(root).captures)


def find_headline(harness: Harness, entry: EntryView) -> str:
    """Return the first changed line of an entry, where only addresses would be told, or there is little room."""
    if entry.stat or entry.kind not in CHANGES or (entry.mutation and out.width is None):
        return ""
    headline = load_headline(harness, harness.journal.get(entry.seq))
    return f"{headline.line} ({headline.count})" if headline.added + headline.removed > 1 else headline.line


def _find_needs(harness: Harness, entries: list[EntryView]) -> dict[int, set[int]]:
    from takeback.harness.dependencies import find_all_dependencies  # noqa: PLC0415 - start-up

    return find_all_dependencies(harness.ledger, (entry.seq for entry in entries if entry.status == "live"))


def _draw_graph(harness: Harness, entries: list[EntryView]) -> list[tuple[EntryView, str, str]]:
    from takeback.present.graph import DRAWN, PLAIN, draw_lanes, reduce_to_direct  # noqa: PLC0415 - start-up

    needs = _find_needs(harness, entries)
    undone = {entry.seq for entry in entries if entry.status in {"undone", "aborted"}}
    drawn = draw_lanes([entry.seq for entry in entries], needs, off=undone, art=DRAWN if out.draws else PLAIN)
    near = {
        number: ", ".join(f"#{needed}" for needed in direct) for number, direct in reduce_to_direct(needs).items()
    }
    notes = [f" (needs {near[entry.seq]})" if entry.seq in near else "" for entry in entries]
    return [(entry, f"{text}  ", needed) for entry, text, needed in zip(entries, drawn, notes, strict=True)]


def _emit(
    harness: Harness,
    entries: list[EntryView],
    named: EntryNamer,
    expiry: Callable[[int, str], str],
    *,
    patch: bool,
    stat: bool,
    graph: bool,
) -> None:
    needs, past = _find_needs(harness, entries) if graph else {}, Rewind(harness)
    rows: list[dict[str, object]] = []
    for entry in entries:
        row: dict[str, object] = {**entry.to_json(), "what": summarize_entry(entry, named)}
        until = expiry(entry.seq, entry.at)
        row |= {"irreversible_from": until} if until else {}
        row |= {"headline": find_headline(harness, entry)}
        row |= {"needs": sorted(needs.get(entry.seq, ()))} if graph else {}
        if entry.kind != "genesis" and (patch or stat):
            record = harness.journal.get(entry.seq)
            harness.note_read("log", record.id, read_slots(record))
            changes = load_entry_writes(harness, record)
            row |= {"changes": changes_to_json(changes)} if patch else {}
            row |= {"stat": stats_to_json(changes, partial(past.before, record))} if stat else {}
        rows.append(row)
    emit({"head": harness.ledger.head, "entries": rows})


def show_refused(harness: Harness, wanted: Filter, number: int | None) -> None:
    """Print the attempts that were refused, newest first."""
    root = find_root(harness)
    attempts = [attempt for attempt in (read_attempts(root) if root else ()) if _passes(attempt, wanted)]
    shown = attempts[: number or None] if number is not None or not out.is_terminal else attempts[:ON_A_TERMINAL]
    answer({"refused": shown})
    for attempt in shown:
        who = f" by {attempt['by']}" if attempt.get("by") else ""
        out.print(f"{attempt['at'][:16].replace('T', ' ')}{who}: {attempt.get('what', '')}", style="bold")
        out.print(f"  refused: {attempt.get('message', '')}", style="red")
        if attempt.get("state") is not None:
            out.print("  it breaks on this state:")
            out.print("\n".join(f"    {line}" for line in write_pretty(attempt["state"]).splitlines()))
        for line in attempt.get("breaks", ()):
            out.print(f"  {line}")
    if not shown:
        mention(localize_hints("no refused change matches; 'takeback log' lists the changes made"), style="yellow")


def _passes(attempt: dict[str, Any], wanted: Filter) -> bool:
    words = " ".join(str(attempt.get(name, "")) for name in ("by", "what", "why", "message")).casefold()
    if wanted.by and wanted.by.casefold() not in str(attempt.get("by", "")).casefold():
        return False
    if wanted.since is not None and not is_after(attempt["at"], wanted.since):
        return False
    return wanted.text.casefold() in words
