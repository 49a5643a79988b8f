"""Entries as one HTML file that can be sent to somebody: prompt, diff, evidence, and how to take them back.

The file needs nothing else: no script, no address outside, one style sheet whose digest its policy names. Secrets
are masked always; a value that is a secret at one address is masked wherever else it stands in the file. Control and
invisible characters are escapes, and a long diff is cut with the command that shows the rest.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from html import escape
from itertools import islice
from typing import Any, Final

from takeback.canonical import write_pretty
from takeback.harness import Harness
from takeback.harness.dependencies import find_dependents, find_later_writers
from takeback.harness.entry_log import EntryView, Rewind, load_entry_writes, view_entry
from takeback.harness.images import load_images
from takeback.harness.ledger import CHANGES
from takeback.harness.records import load_candidate_json, load_evidence
from takeback.journal import Record
from takeback.present.changes import find_differences, find_file_differences
from takeback.present.diffs import Difference, iter_unified_lines
from takeback.present.entries import describe_check, make_entry_namer, summarize_entry
from takeback.present.titles import format_count
from takeback.present.visible import escape_invisible
from takeback.secret_mask import Mask, find_secrets, mask_secrets, reveal_secrets
from takeback.state.surfaces.calls import describe_stays

MARK: Final = "<!doctype html>\n<!-- takeback share -->\n"
"""How every such file begins."""
MOST_LINES: Final = 2_000
"""Lines of one entry's diff."""
MOST_ENTRIES: Final = 500
SHORT: Final = 16
STYLE: Final = """
:root { color-scheme: light dark; --back: #fff; --sheet: #f6f7f9; --ink: #1a1d21; --dim: #545d68; --line: #dfe3e8;
  --good: #0b6230; --good-back: #e3f4e8; --bad: #a01420; --bad-back: #fde8e9; --warn: #774700; --warn-back: #fdf1d8; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --sheet: #1c2126; --ink: #e8ebee; --dim: #a6b0bb;
  --line: #333b44; --good: #7fdc9a; --good-back: #12301c; --bad: #ff9fa4; --bad-back: #3d1619; --warn: #f2c572;
  --warn-back: #36290e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: inherit; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
code, pre, .diff { font: .84rem/1.5 ui-monospace, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { color: var(--dim); }
dd { margin: 0; } .quiet { color: var(--dim); }
pre, .diff { margin: .6rem 0; overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; }
pre { padding: .6rem .8rem; background: var(--sheet); }
.diff div { white-space: pre; padding: 0 .8rem; min-width: max-content; }
.diff .address { font-weight: 700; background: var(--sheet); } .diff .hunk, .diff .note { color: var(--dim); }
.added, .proved { color: var(--good); background: var(--good-back); }
.removed, .refuted, .declared, .forced { color: var(--bad); background: var(--bad-back); }
.sampled { color: var(--warn); background: var(--warn-back); }
.badge { padding: 0 .5rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .84rem; }
summary { cursor: pointer; }
"""


@dataclass(frozen=True, slots=True)
class SharePage:
    """A file to be sent, and what was left out of it."""

    text: str
    entries: tuple[int, ...]
    left_out: int = 0
    """Entries beyond what one file holds, the oldest."""
    masked: bool = False


@dataclass(frozen=True, slots=True)
class _SharedEntry:
    """One entry, with everything known about it."""

    view: EntryView
    what: str
    differences: tuple[Difference, ...]
    evidence: Mapping[str, Any]
    candidate: Mapping[str, Any]
    dependents: tuple[tuple[int, str], ...]
    later: tuple[int, ...]


def make_share_page(harness: Harness, records: Iterable[Record], title: str = "") -> SharePage:
    """Return the file for some entries, in the order given; with a title it begins with a list of them."""
    remaining = iter(records)
    with reveal_secrets(wanted=False):
        past = Rewind(harness)
        shared = [_tell(harness, past, record) for record in islice(remaining, MOST_ENTRIES)]
        left_out = sum(1 for _ in remaining)
        return _Writer(harness, shared).write(title, left_out)


def _tell(harness: Harness, past: Rewind, record: Record) -> _SharedEntry:
    view = view_entry(harness, record)
    change = record.kind in CHANGES and view.status in {"live", "undone"}
    what = summarize_entry(replace(view, effect=(), readers={}), make_entry_namer(harness))
    return _SharedEntry(
        view,
        what,
        tuple(_iter_differences(harness, past, record)),
        load_evidence(harness.journal, record) or {},
        load_candidate_json(harness.journal, record) or {},
        tuple(find_dependents(harness.ledger, view.seq)) if change else (),
        tuple(find_later_writers(harness.ledger, view.seq)) if change else (),
    )


def _iter_differences(harness: Harness, past: Rewind, record: Record) -> Iterator[Difference]:
    if record.kind == "discard":
        yield from find_file_differences(load_images(harness.journal, record) or ())
    elif record.kind != "genesis":
        yield from find_differences(load_entry_writes(harness, record), lambda: past.before(record))


class _Writer:
    """Writes the file; it knows the secrets of all its entries."""

    def __init__(self, harness: Harness, shared: Sequence[_SharedEntry]) -> None:
        self._told = shared
        self._named = make_entry_namer(harness)
        self._mask = Mask()
        self._secrets: dict[str, None] = {}
        for entry in shared:
            self._secrets.update(find_secrets(entry.candidate))
            for difference in entry.differences:
                for side in (difference.before, difference.after):
                    self._secrets.update({} if side is None else side.secrets)

    def write(self, title: str, left_out: int) -> SharePage:
        """Return the whole file."""
        digest = b64encode(sha256(STYLE.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        name = title or (f"#{self._told[0].view.seq} {self._told[0].what}" if self._told else "Nothing")
        body = [f"<h1>{self._show(name)}</h1>", *(self._list_entries(left_out) if title else ())]
        for entry in self._told:
            body += self._write_entry(entry, heading=bool(title))
        head = [
            '<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{self._show(name)} · Takeback</title>",
            f"<style>{STYLE}</style>\n</head>\n<body>\n<main>",
        ]
        masked = "[masked by takeback" in "".join(body)
        if masked:
            body.append('<p class="quiet">Values that look like secrets are masked in this file.</p>')
        text = MARK + "\n".join([*head, *body, "</main>\n</body>\n</html>\n"])
        return SharePage(text, tuple(entry.view.seq for entry in self._told), left_out, masked)

    def _show(self, text: object) -> str:
        """Return a text as the file has it: without secrets, with escapes, as HTML."""
        return escape(escape_invisible(self._mask.hide(str(text), self._secrets), lines=True))

    def _list_entries(self, left_out: int) -> Iterator[str]:
        authors = {entry.view.by or "not said" for entry in self._told}
        undone = sum(entry.view.status == "undone" for entry in self._told)
        count = format_count(len(self._told), "entry", "entries")
        line = f"{count}, {format_count(len(authors), 'author')}: {', '.join(sorted(authors))}"
        line += f"; {undone} taken back since" if undone else ""
        yield f"<p>{self._show(line if self._told else 'No entry matches.')}</p>"
        if left_out:
            yield f"<p>{format_count(left_out, 'older entry', 'older entries')} left out.</p>"
        yield "<ul>"
        for entry in self._told:
            seen = entry.view
            by = f" by {seen.by}" if seen.by else ""
            about = self._show(f"{by}, {_format_time(seen.at)}, {seen.status}")
            yield f'<li><a href="#e{seen.seq}">#{seen.seq} {self._show(entry.what)}</a>{about} {_badge(seen)}</li>'
        yield "</ul>"

    def _write_entry(self, entry: _SharedEntry, *, heading: bool) -> Iterator[str]:
        seen = entry.view
        yield f'<section id="e{seen.seq}">'
        if heading:
            yield f"<h2>#{seen.seq} {self._show(entry.what)}</h2>"
        yield "<dl>"
        for name, value in self._iter_facts(seen):
            yield f"<dt>{self._show(name)}</dt><dd>{self._show(value)}</dd>"
        yield "</dl>"
        yield "<h3>What changed</h3>"
        yield from self._write_differences(entry)
        yield "<h3>Evidence</h3>"
        yield from self._write_evidence(entry)
        yield "<h3>Undo</h3>"
        yield from self._write_undo(entry)
        yield "</section>"

    def _iter_facts(self, seen: EntryView) -> Iterator[tuple[str, str]]:
        """Yield who made it, when and why; the prompt first."""
        if seen.origin.get("prompt"):
            yield "prompt", seen.origin["prompt"]
        yield "by", seen.by or "not said"
        yield "when", _format_time(seen.at)
        if seen.note:
            yield "why", seen.note
        yield from ((name, value) for name, value in seen.origin.items() if name != "prompt")
        if seen.check is not None:
            yield "check", describe_check(seen.check)
        if seen.effect:
            yield "takes effect", ", ".join(seen.effect)
        yield "status", seen.status
        yield "entry", seen.id

    def _write_differences(self, entry: _SharedEntry) -> Iterator[str]:
        lines = 0
        for difference in entry.differences:
            if lines >= MOST_LINES:
                break
            yield '<div class="diff">'
            for role, text in islice(iter_unified_lines(difference), MOST_LINES - lines):
                lines += 1
                yield f'<div class="{role}">{self._show(text)}</div>'
            yield "</div>"
        if lines >= MOST_LINES:
            yield f"<p>The rest is omitted: <code>takeback show {entry.view.id[:SHORT]}</code> has it.</p>"
        for path in entry.view.layout:
            yield f"<p>{self._show(path)}: comments, formatting or permission bits</p>"
        if not entry.differences and not entry.view.layout:
            yield "<p>No change of the state.</p>"

    def _write_evidence(self, entry: _SharedEntry) -> Iterator[str]:
        seen, evidence = entry.view, entry.evidence
        if not evidence:
            yield f"<p>None{self._show(f', because {seen.unproved}' if seen.unproved else '')}.</p>"
            return
        admitted = "admitted" if evidence.get("admitted") else "not admitted"
        admitted = "after the change, which others made" if seen.recorded else admitted
        rule = self._show(f"{admitted}; rule {evidence.get('rule')}, language {evidence.get('language')}")
        yield f"<p>{_badge(seen)} {rule}</p>"
        if seen.stays:
            yield f"<p>{self._show(describe_stays(seen.effects, seen.stays))}</p>"
            for call in seen.stays:
                yield f"<p>{self._show(call['call'] + ', answered by: ' + call['compensation'])}</p>"
        if seen.approval:
            yield f"<p>{self._show('approved by {by} at {at}'.format_map(seen.approval))}</p>"
        if evidence.get("classes") is not None and seen.grade == "proved":
            count = self._show(format_count(evidence["classes"], "class of states", "classes of states"))
            yield f"<p>Its recovery restores every state of {count}.</p>"
        for reason in evidence.get("reasons", []):
            yield f"<p>{self._show(reason.get('message', ''))}</p>"
        if evidence.get("counterexample"):
            state = write_pretty(mask_secrets(evidence["counterexample"].get("state")))
            yield f"<p>The smallest state that breaks it:</p><pre>{self._show(state)}</pre>"
        for name, part in entry.candidate.items():
            if part:
                text = self._show(write_pretty(mask_secrets(part)))
                yield f"<details><summary>{self._show(name)}</summary><pre>{text}</pre></details>"

    def _write_undo(self, entry: _SharedEntry) -> Iterator[str]:
        seen = entry.view
        if seen.kind == "genesis" or seen.status == "aborted":
            yield "<p>There is nothing to take back.</p>"
            return
        verb, does = ("redo", "brings it back") if seen.status == "undone" else ("undo", "takes it back")
        plan = f"takeback {verb} {seen.id[:SHORT]} --plan"
        yield f"<p><code>{plan}</code> shows what would happen; without <code>--plan</code> it {does}.</p>"
        if entry.dependents and verb == "undo":
            yield "<p>Only together with entries that depend on it (<code>--cascade</code>):</p><ul>"
            for number, why in entry.dependents:
                yield f"<li>#{number} {self._show(self._named(number))}{self._show(f': {why}' if why else '')}</li>"
            yield "</ul>"
        if entry.later:
            yield "<p>Wrote some of it again later, which stays:</p><ul>"
            yield from (f"<li>#{number} {self._show(self._named(number))}</li>" for number in entry.later)
            yield "</ul>"


def _badge(seen: EntryView) -> str:
    grade = f'<span class="badge {escape(seen.grade)}">{escape(seen.grade)}</span>' if seen.grade else ""
    effects = f' <span class="badge forced">{escape(seen.effects)}</span>' if seen.stays else ""
    return grade + effects + (' <span class="badge forced">forced</span>' if seen.forced else "")


def _format_time(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC"
