"""`takeback trust`: say that a harness which came from elsewhere may be acted on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from takeback.adapters.init import begin_new_journal
from takeback.adapters.manifest import Manifest, find_root
from takeback.adapters.opener import load_manifest, trust_workspace
from takeback.adapters.trust import remove_trust, why_untrusted
from takeback.adapters.trust_record import is_trusted, list_records
from takeback.cli.context import find_key_file
from takeback.cli.output import JsonFlag, emit, out
from takeback.errors import InputError
from takeback.journal.url import redact_url


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("trust")(trust)


def trust(
    directory: Path = typer.Argument(Path(), metavar="DIR", help="The harness.", show_default="here"),
    listing: bool = typer.Option(False, "--list", help="List the directories that you made or trusted."),
    remove: bool = typer.Option(False, "--remove", help="No longer trust the directory."),
    journal: str | None = typer.Option(
        None,
        "--journal",
        metavar="PATH|URL",
        help="Begin this new journal, for a copy whose original keeps the old one.",
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Trust a harness that came from elsewhere: a clone, a copy, a backup.

    A harness made by `takeback init` on this machine is trusted. An untrusted harness is only read: Takeback recovers
    and writes nothing, connects to no database and starts no client. Trust applies to this directory, this .takeback
    and this journal; if a pull replaces them, Takeback asks again. The records are in
    ~/.local/state/takeback/trusted, or where TAKEBACK_TRUST says.

    Example: `takeback trust`, `takeback trust --list`, `takeback trust copy --journal .takeback/journal.db`
    """
    if listing:
        _list(as_json=as_json)
        return
    if remove:
        _remove(find_root(directory) if directory.is_dir() else directory, as_json=as_json)
        return
    root = find_root(directory)
    manifest = load_manifest(root)
    if journal is not None:
        manifest = begin_new_journal(root, journal, keys=find_key_file())
        _tell("trusted", root, manifest, (), as_json=as_json)
        return
    known = why_untrusted(root, manifest) is None
    under_way = () if known else trust_workspace(root, keys=find_key_file())
    _tell("trusted already" if known else "trusted", root, manifest, under_way, as_json=as_json)


def _tell(result: str, root: Path, manifest: Manifest, under_way: tuple[str, ...], *, as_json: bool) -> None:
    journal = redact_url(manifest.workspace.journal)
    if as_json:
        emit({"result": result, "path": str(root), "journal": journal, "under_way": list(under_way)})
        return
    out.print(f"{root} is {result}; its journal is {journal}")
    if under_way:
        out.print(f"a change in it is unfinished: the next command finishes it, in {', '.join(under_way)}")


def _remove(root: Path, *, as_json: bool) -> None:
    place = os.path.realpath(root)
    removed = remove_trust(root)
    for file, record in list_records():
        if record["path"] == place:
            Path(file).unlink(missing_ok=True)
            removed = True
    if not removed:
        raise InputError(
            str(root), found="a directory that is not trusted", expected="one of 'takeback trust --list'"
        )
    if as_json:
        emit({"result": "removed", "path": str(root)})
    else:
        out.print(f"{root} is no longer trusted")


def _list(*, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for _, record in list_records():
        trusted = record.get("manifest")
        journal = redact_url(str(trusted.get("journal", ""))) if isinstance(trusted, dict) else ""
        rows.append({"path": record["path"], "journal": journal, "there": is_trusted(record["path"])})
    rows.sort(key=lambda row: str(row["path"]))
    if as_json:
        emit({"trusted": rows})
        return
    for row in rows:
        gone = "" if row["there"] else "  (gone, or replaced since)"
        out.print(f"{row['path']}  {row['journal']}{gone}")
    if not rows:
        out.print(
            "no directory is trusted yet; 'takeback init' makes a trusted one, 'takeback trust' trusts an "
            "existing one"
        )
