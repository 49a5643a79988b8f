"""`takeback init` and `trust`: put a directory under care, or a harness that came from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from takeback.adapters.clients import CLIENTS
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.init import detect_clients, find_user_folder, init_clients, list_all_signs
from takeback.adapters.clients.ownership import can_read
from takeback.adapters.harness_places import describe_outer_harness
from takeback.adapters.init import NewHarness, begin_new_journal, init_adapter, list_other_adapters
from takeback.adapters.manifest import HIDDEN, MANIFEST, PRIVATE, Manifest, OwnDocument, find_manifest_path, find_root
from takeback.adapters.opener import load_manifest, trust_workspace
from takeback.adapters.project_files import require_bounded, require_one_project, start_tracking
from takeback.adapters.trust import remove_trust, why_untrusted
from takeback.adapters.trust_record import is_trusted, list_records
from takeback.adapters.workspace.adapter import make_workspace
from takeback.cli.completion import offer_words
from takeback.cli.context import JournalOption, find_key_file, open_harness
from takeback.cli.hints import localize_hints, remember_directory
from takeback.cli.inputs import read_state
from takeback.cli.options import argument, flag, setting
from takeback.cli.output import answer, commit_exit_code, out
from takeback.cli.secrets import require_no_placeholder
from takeback.cli.status import show_tracking, stats_to_json
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.adapter import FileAdapter
from takeback.journal.url import redact_url
from takeback.present.titles import format_count
from takeback.state import SURFACES, State
from takeback.track.database import TRACK
from takeback.track.store import TrackStats, TrackStore

NEXT = (
    "next: let your agent work; 'takeback adopt' then records its changes, 'takeback log' lists them, and "
    "'takeback undo' undoes any of them"
)
NEXT_TRACKED = (
    "next: 'takeback install claude-code' (or codex, gemini, opencode) records every tool call with its prompt; "
    "'takeback log' lists them, and 'takeback undo' undoes any of them"
)
KINDS = ("workspace", *CLIENTS)
CHOICES = {
    "--track": "tracks the project's own files, with any client or none",
    "--kind workspace": "makes it a workspace, with a file or folder for each surface",
    "--kind NAME": f"treats it as a project of a client ({', '.join(CLIENTS)}), or of an installed adapter",
}
"""What else can be made of a directory in which no client's files are."""


def init(
    context: typer.Context,
    directory: Path = argument("DIR", "The directory; created if it does not exist.", Path(), show_default="here"),
    kind: list[str] | None = setting(
        "--kind",
        "NAME",
        f"The client ({', '.join(CLIENTS)}), detected if left out, an installed adapter, or workspace. "
        "May be repeated for several clients.",
        None,
        autocompletion=offer_words(dict.fromkeys(KINDS, "")),
    ),
    document: list[str] | None = setting(
        "--document",
        "PATH",
        "A file of your own to track, beside the client's or alone: JSON, TOML, YAML or text. May be repeated.",
        None,
    ),
    user: bool = flag("--user", "Take the client's files in your home directory instead of a project's."),
    state: Path | None = setting("--state", "FILE", "Begin with this state, as JSON.", None),
    journal: str | None = JournalOption,
    seal: bool = flag("--seal", "Encrypt captured contents, each under a key of its own, as always on PostgreSQL."),
    policy: Path | None = setting(
        "--policy", "FILE", "Begin with this policy, so that it binds what is captured first.", None
    ),
    track: bool = flag(
        "--track", "Track the project's own files too: all that git would, beside a client or without one."
    ),
    large: bool = flag("--large", "Track a project of more than 200,000 files, or 1 GiB to store."),
) -> None:
    """Start tracking a directory: a client's project as it is, or a new workspace.

    In a project of a known client, or with files of your own that --document names, only .takeback/ is added. If
    there are neither, nothing is written and the choices are listed. A new directory, or an empty one that you name,
    becomes a workspace, with a manifest and a file or folder for each surface. With `--track` the project's own files
    are tracked too; docs/tracking.md has the rules. Running it again is harmless, and adds new clients. A password in
    a journal's URL is never stored: pass such a URL in TAKEBACK_JOURNAL. A sealed journal's keys are in
    .takeback/journal.keys, or in the file that TAKEBACK_KEYS names.

    Example: `takeback init`
    """
    source = context.get_parameter_source("journal")
    secret = source is not None and source.name == "ENVIRONMENT"
    kinds = tuple(kind or ())
    documents = [OwnDocument(path=path) for path in document or ()]
    other = _find_other_adapter(kinds, state=state)
    if "workspace" in kinds and len(kinds) > 1:
        raise InputError("--kind", found=", ".join(kinds), expected="a workspace alone, or clients")
    place = _choose_directory(context, directory, kinds, user=user)
    if track:
        _require_project(place, user=user, large=large)
    rules = None if policy is None else _read_policy(policy, place)
    clients = None if other else _choose_clients(place, kinds, user=user, state=state, track=track)
    _check_documents(place, documents, other=bool(other or "workspace" in kinds or state is not None))
    if documents and clients is None:
        clients = ()
    if clients is None and not kinds and not other and not _can_be_workspace(context, place, state=state):
        _refuse_unknown(place)
    new = NewHarness(journal, secret, seal, find_key_file(), rules)
    if other or clients is None:
        start = None if state is None else _read_start(state)
        root, fresh = init_adapter(place, other, new) if other else make_workspace(place, new, start)
        chosen: tuple[str, ...] = (other or "workspace",)
        added = chosen if fresh else ()
    else:
        made = init_clients(place, clients, new, documents=documents, user=user, tracked=track)
        root, fresh, chosen, added = made.root, made.fresh, made.kinds, made.added
    tracking = _track(root, journal) if track else None
    with open_harness(root, journal) as harness:
        counts = {name: SURFACES[name].size(harness.state.part(name)) for name in sorted(harness.adapter.surfaces)}
        size = harness.state.size()
        payload = {
            "workspace": str(root),
            "created": fresh,
            "kinds": list(chosen),
            "added": list(added),
            "surfaces": counts,
            "head": harness.ledger.head,
            "entries": size,
            "tracked": tracking is not None or (root / TRACK).exists(),
        } | ({} if tracking is None else {"tracking": stats_to_json(tracking)})
        strange = [*harness.status().problems, *(describe_outer_harness(root) if fresh else ())]
        files = _count_files(harness)
    commit_exit_code(0)
    answer(payload | {"files": files, "problems": strange})
    _show(root, payload, files)
    if tracking is not None:
        show_tracking(tracking)
    for problem in strange:
        out.print(f"! {problem}", style="yellow")
    remember_directory(place)
    out.print(localize_hints(NEXT if tracking is None else NEXT_TRACKED), style="cyan")


def _read_policy(source: Path, place: Path) -> bytes:
    """Return a policy that is understood, for a directory that is no harness yet."""
    from takeback.govern.policy import POLICY, read_policy_bytes  # noqa: PLC0415 - start-up

    if find_manifest_path(place) is not None or (place / POLICY).exists():
        raise InputError("--policy", found=f"{place}, which is tracked already", expected=f"its own {POLICY}")
    return read_policy_bytes(source)


def _show(root: Path, answer: dict[str, Any], files: dict[str, int]) -> None:
    was, kinds, added = "is" if answer["created"] else "is already", answer["kinds"], answer["added"]
    if kinds == ["workspace"]:
        out.print(f"{root} {was} a workspace with {format_count(answer['entries'], 'thing')} in it")
        return
    counted = [f"{name} ({format_count(number, 'file')})" for name, number in files.items()]
    out.print(f"{root} {was} tracked: {', '.join(counted or kinds) or 'its own files'}")
    for name, count in answer["surfaces"].items():
        if count:
            out.print(f"  {name}: {count}")
    if added and not answer["created"]:
        out.print(f"added: {', '.join(added)}")


def _check_documents(place: Path, documents: Sequence[OwnDocument], *, other: bool) -> None:
    """Refuse documents of one's own where something other than clients' files is tracked."""
    if documents and (other or (place / MANIFEST).exists()):
        raise InputError(
            "--document",
            found="it for a workspace or another adapter",
            expected="clients' files beside it, or nothing",
            hint="track the file from a directory of its own: takeback init DIR --document FILE",
        )


def _require_project(place: Path, *, user: bool, large: bool) -> None:
    if user:
        raise InputError("--track", found="it with --user", expected="a project, which is tracked where it lies")
    if not place.is_dir():
        raise InputError(str(place), found="no directory", expected="the folder of a project")
    require_one_project(place, Path.home())
    require_bounded(place, os.environ, large=large)


def _track(root: Path, journal: str | None) -> TrackStats:
    with open_harness(root, journal) as harness:
        adapter = harness.adapter
        clients = [member.client for member in adapter.members] if isinstance(adapter, ClientAdapter) else []
        known = adapter.list_remembered_files() if isinstance(adapter, FileAdapter) else ()
        keys = str(getattr(harness.ledger.store, "key_place", ""))
        start_tracking(
            root, clients, os.environ, remembered=[path for path, _ in known], sealed=bool(keys), keys=keys or None
        )
    with TrackStore.open(root, os.environ) as store:
        return store.stats()


def _read_start(path: Path) -> State:
    """Return the state to begin with, unless it was exported with its secrets masked."""
    state = read_state(path)
    require_no_placeholder(state.write(), str(path))
    return state


def _find_other_adapter(kinds: tuple[str, ...], *, state: Path | None) -> str:
    strange = [kind for kind in kinds if kind not in KINDS]
    if not strange:
        return ""
    others = list_other_adapters()
    if strange[0] not in others:
        raise InputError("--kind", found=strange[0], expected=f"one of {', '.join((*KINDS, *others))}")
    if len(kinds) > 1:
        raise InputError("--kind", found=", ".join(kinds), expected=f"{strange[0]} alone")
    if state is not None:
        raise InputError("--state", found=f"it with --kind {strange[0]}", expected="a workspace to fill")
    return strange[0]


def _choose_directory(context: typer.Context, directory: Path, kinds: tuple[str, ...], *, user: bool) -> Path:
    if not user or _is_given(context, "directory"):
        return directory
    if len(kinds) != 1 or kinds == ("workspace",):
        raise InputError("--user", found="no client", expected="one client, with --kind, or its folder")
    return find_user_folder(kinds[0])


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _choose_clients(
    place: Path, kinds: tuple[str, ...], *, user: bool, state: Path | None, track: bool
) -> tuple[str, ...] | None:
    if kinds == ("workspace",) or (place / MANIFEST).exists():
        return None
    if kinds or user or (place / HIDDEN).exists():
        return kinds
    detected = detect_clients(place) if state is None else ()
    return detected or (() if track and state is None else None)


def _can_be_workspace(context: typer.Context, place: Path, *, state: Path | None) -> bool:
    """Return whether a directory is a workspace, or may become one unasked: one that is new or empty, and named."""
    if state is not None or (place / MANIFEST).exists():
        return True
    return _is_given(context, "directory") and _is_empty(place)


def _is_empty(place: Path) -> bool:
    """Return whether nothing is in a directory but what Takeback itself left there, or there is no directory."""
    try:
        return all(name == PRIVATE for name in os.listdir(place))
    except (FileNotFoundError, NotADirectoryError):
        return True


def _refuse_unknown(place: Path) -> NoReturn:
    """Say that no client was found, what was looked for, and what can be done instead; nothing is written."""
    looked = list_all_signs()
    message = f"found no files of a known client in {place.absolute()}: nothing was written"
    about = {"result": "unknown", "created": False, "kinds": [], "message": message}
    answer(about | {"looked_for": looked, "choices": CHOICES})
    out.print(f"{message}\nlooked for:")
    for name, signs in looked.items():
        files = ((path, text.strip('"')) for path, _, text in (sign.partition(" ") for sign in signs))
        out.print(f"  {name}: {', '.join(f'{path} (with {text})' if text else path for path, text in files)}")
    out.print("what you can do:")
    for choice, what in CHOICES.items():
        out.print(f"  takeback init {choice}: {what}")
    raise typer.Exit(1)


def _count_files(harness: Harness) -> dict[str, int]:
    """Return how many of the files that were read each client reads; what they bring in counts for the first."""
    if not isinstance(harness.adapter, ClientAdapter):
        return {}
    clients = [member.client for member in harness.adapter.members]
    counts = dict.fromkeys((client.name for client in clients), 0)
    for path, _ in harness.adapter.list_remembered_files():
        for client in [reader for reader in clients if can_read(reader, path)] or clients[:1]:
            counts[client.name] += 1
    return counts


def trust(
    directory: Path = argument("DIR", "The harness.", Path(), show_default="here"),
    listing: bool = flag("--list", "List the directories that you made or trusted."),
    remove: bool = flag("--remove", "No longer trust the directory."),
    journal: str | None = setting(
        "--journal", "PATH|URL", "Begin this new journal, for a copy whose original keeps the old one.", None
    ),
) -> None:
    """Trust a harness that came from elsewhere: a clone, a copy, a backup.

    A harness made by `takeback init` on this machine is trusted. An untrusted harness is only read: Takeback recovers
    and writes nothing, connects to no database and starts no client. Trust applies to this directory, this .takeback
    and this journal; if a pull replaces them, Takeback asks again. The records are in
    ~/.local/state/takeback/trusted, or where TAKEBACK_TRUST says.

    Example: `takeback trust`, `takeback trust --list`, `takeback trust copy --journal .takeback/journal.db`
    """
    if listing:
        _list_trusted()
        return
    if remove:
        _remove_trust(find_root(directory) if directory.is_dir() else directory)
        return
    root = find_root(directory)
    manifest = load_manifest(root)
    if journal is not None:
        manifest = begin_new_journal(root, journal, keys=find_key_file())
        _tell_trust("trusted", root, manifest, ())
        return
    known = why_untrusted(root, manifest) is None
    under_way = () if known else trust_workspace(root, keys=find_key_file())
    _tell_trust("trusted already" if known else "trusted", root, manifest, under_way)


def _tell_trust(result: str, root: Path, manifest: Manifest, under_way: tuple[str, ...]) -> None:
    journal = redact_url(manifest.workspace.journal)
    answer({"result": result, "path": str(root), "journal": journal, "under_way": list(under_way)})
    out.print(f"{root} is {result}; its journal is {journal}")
    if under_way:
        out.print(f"a change in it is unfinished: the next command finishes it, in {', '.join(under_way)}")


def _remove_trust(root: Path) -> None:
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
    answer({"result": "removed", "path": str(root)})
    out.print(f"{root} is no longer trusted")


def _list_trusted() -> None:
    rows: list[dict[str, Any]] = []
    for _, record in list_records():
        trusted = record.get("manifest")
        journal = redact_url(str(trusted.get("journal", ""))) if isinstance(trusted, dict) else ""
        rows.append({"path": record["path"], "journal": journal, "there": is_trusted(record["path"])})
    rows.sort(key=lambda row: str(row["path"]))
    answer({"trusted": rows})
    for row in rows:
        gone = "" if row["there"] else "  (gone, or replaced since)"
        out.print(f"{row['path']}  {row['journal']}{gone}")
    if not rows:
        out.print(
            "no directory is trusted yet; 'takeback init' makes a trusted one, 'takeback trust' trusts an "
            "existing one"
        )
