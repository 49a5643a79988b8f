"""Shell completions: entries, names of what is there, and the words an option takes, each explained.

Nothing is changed, no file of the harness is read, and nothing is waited for. What cannot be read is not
offered: a journal that is missing, broken or far away gives no completions, and no message in the middle of a
command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from takeback.harness.ledger import Ledger
    from takeback.journal import Record

Offer = tuple[str, str]
"""A word, and what it means."""
Completion = Callable[[typer.Context, str], list[Offer]]
MOST: Final = 50
"""So many entries are offered, the newest."""
SHORT: Final = 10
WIDTH: Final = 70
PATIENCE: Final = 0.5
"""Seconds to wait for a journal that another process holds."""
RULES: Final[Mapping[str, str]] = {
    "proof": "every state of the model, or the smallest one that breaks it",
    "split-wald": "a sample, hidden states of both kinds with a Wald bound each",
    "pooled-wilson": "a sample, hidden states together with a Wilson bound",
    "hidden-wilson": "a larger sample, with a Wilson bound",
}
MODES: Final[Mapping[str, str]] = {
    "none": "nothing",
    "generic": "that it failed",
    "raw": "what was run and what came of it",
    "typed": "what kind of defect it is",
    "prescriptive": "what to do about it",
    "D0": "the kind of defect and what to do",
    "D1": "D0 with the exact addresses",
    "counterexample": "the smallest state that breaks it",
    "adaptive": "D0, then D1, then the counterexample",
}
LEVELS: Final[Mapping[str, str]] = {
    "L0": "config, prompts, tools and routing",
    "L1": "every surface, in order",
    "L2": "also what real harnesses do: edit, move, replace, unset",
}
GRADES: Final[Mapping[str, str]] = {
    "proved": "it holds for every state of the model",
    "sampled": "it held on every state that was tried",
    "refuted": "a concrete state breaks it",
    "declared": "nothing was checked",
    "forced": "made although it was not admitted",
}
_TAG: Final = re.compile(r"\[(?=[a-zA-Z/@#])")
"""What would be read as markup where typer prints the help of a word."""


def offer_words(words: Mapping[str, str] | Callable[[], Mapping[str, str]]) -> Completion:
    """Offer some of these words."""

    def complete(ctx: typer.Context, incomplete: str) -> list[Offer]:
        del ctx
        offered = words if isinstance(words, Mapping) else words()
        return [(word, summary) for word, summary in offered.items() if word.startswith(incomplete)]

    return complete


def list_surfaces() -> Mapping[str, str]:
    """Return the surfaces that are installed."""
    from takeback.state import SURFACES  # noqa: PLC0415 - start-up

    return {name: f"every {surface.word}" for name, surface in SURFACES.items()}


def make_thing_lister(verb: str) -> Callable[[], Mapping[str, str]]:
    """Return a function that lists what a one-line change can be about."""

    def list_things() -> Mapping[str, str]:
        from takeback.language.oneline import list_things as words  # noqa: PLC0415 - start-up

        return {word: f"{verb} {word} NAME" for word in words(verb)}

    return list_things


def offer_entries(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Offer entries by id, by number or by how far they are from the last one."""
    return _offer_entries_without(ctx, incomplete, frozenset())


def offer_live_entries(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Offer entries that can be taken back."""
    return _offer_entries_without(ctx, incomplete, frozenset({"undone", "aborted"}))


def offer_undone_entries(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Offer entries that can be brought back."""
    return _offer_entries_without(ctx, incomplete, frozenset({"live", "aborted"}))


def offer_people(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Offer those who made the newest entries."""
    with _open_ledger(ctx) as ledger:
        records = [] if ledger is None else list(islice(ledger.entries(), MOST))
        counts: dict[str, int] = {}
        for record in records:
            counts[record.by] = counts.get(record.by, 0) + 1
        people = [(who, f"{count} of the last {len(records)} entries") for who, count in counts.items() if who]
    return [offer for offer in people if offer[0].startswith(incomplete)]


def offer_names(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Offer the names of existing things of the kind given before."""
    with _open_ledger(ctx) as ledger:
        if ledger is None:
            return []
        from takeback.state.surface import surface_by_word  # noqa: PLC0415 - start-up

        surface = surface_by_word(str(ctx.params.get("thing") or ""))
        if surface is None:
            return []
        names = dict.fromkeys(address.key for address, _ in surface.entries(ledger.state.part(surface.name)))
        return [(name, surface.word) for name in names if name.startswith(incomplete)]


def _offer_entries_without(ctx: typer.Context, incomplete: str, without: frozenset[str]) -> list[Offer]:
    with _open_ledger(ctx) as ledger:
        if ledger is None:
            return []
        offers: list[Offer] = []
        for back, record in enumerate(islice(ledger.entries(), MOST)):
            if ledger.fate(record).value in without or (without and record.kind == "genesis"):
                continue
            names = _list_entry_names(record, back, incomplete)
            offers += [(name, _describe_record(record)) for name in names if name.startswith(incomplete)]
        return offers


def _list_entry_names(record: Record, back: int, incomplete: str) -> tuple[str, ...]:
    number, short = str(record.entry), record.id[:SHORT]
    if incomplete.startswith("H"):
        return (f"HEAD~{back}",)
    if incomplete.startswith("#"):
        return (f"#{number}",)
    return (number, short) if incomplete[:1].isdigit() else (short,)


def _describe_record(record: Record) -> str:
    from takeback.harness.records import list_addresses  # noqa: PLC0415 - start-up
    from takeback.present.visible import escape_invisible  # noqa: PLC0415 - start-up

    taken, where = ", ".join(f"#{number}" for number in record.off), ", ".join(list_addresses(record))
    summary = record.note or (f"took back {taken}" if taken else f"{record.kind} {where}".strip())
    line = escape_invisible(" ".join(f"#{record.entry} {summary}".split()))
    return _TAG.sub(r"\\[", line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…")


@contextmanager
def _open_ledger(ctx: typer.Context) -> Iterator[Ledger | None]:
    store = None
    try:
        from takeback.adapters.manifest import KEYS, find_root  # noqa: PLC0415 - start-up
        from takeback.adapters.opener import load_manifest, require_readable  # noqa: PLC0415
        from takeback.adapters.trust import JournalVoucher, why_untrusted  # noqa: PLC0415
        from takeback.harness.ledger import Ledger  # noqa: PLC0415
        from takeback.journal import open_journal  # noqa: PLC0415
        from takeback.state.surface import install_surfaces  # noqa: PLC0415

        install_surfaces()
        root = find_root(Path(ctx.params.get("directory") or Path()))
        manifest = load_manifest(root)
        named = ctx.params.get("journal") or os.environ.get("TAKEBACK_JOURNAL")
        require_readable(root, manifest, named)
        where = named or manifest.workspace.journal
        if "://" in where:
            yield None
            return
        keys = os.environ.get("TAKEBACK_KEYS") or root / KEYS
        readonly = why_untrusted(root, manifest) is not None
        voucher = None if readonly else JournalVoucher(root, manifest, demanding=named is None)
        place = root / where
        store = open_journal(place, create=False, timeout=PATIENCE, keys=keys, readonly=readonly, voucher=voucher)
        yield Ledger(store)
    except Exception:  # noqa: BLE001 - whatever is wrong, a command line is being typed
        yield None
    finally:
        if store is not None:
            store.close()
