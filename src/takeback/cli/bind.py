"""`takeback bind` and `takeback probe`: declare records of another system, and measure its guard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from takeback.adapters.bindings.protocol import open_binding
from takeback.adapters.bound import BoundRecords, describe_guard
from takeback.adapters.formats.toml_values import format_key, format_value
from takeback.adapters.manifest import Manifest, find_root, read_manifest
from takeback.adapters.opener import load_manifest, require_workspace, trust_workspace
from takeback.adapters.trust import require_trusted
from takeback.adapters.variables import use_variables
from takeback.cli.context import DirOption, find_key_file
from takeback.cli.options import argument, flag, setting
from takeback.cli.output import answer, finish, out
from takeback.errors import InputError, UnreachableError


def bind(
    name: str = argument("NAME", "The binding's name; records are NAME/RECORD."),
    sql_env: str = setting("--sql-env", "VARIABLE", "Rows of the database at the URL in this variable."),
    http: str = setting("--http", "URL", "JSON records below this URL."),
    etcd: str = setting("--etcd", "URL", "Keys of etcd."),
    redis: str = setting("--redis", "URL", "Keys of Redis."),
    table: str = setting("--table", "NAME", "The table of the rows."),
    key: str = setting("--key", "COLUMNS", "The columns that name a row."),
    fields: str = setting("--fields", "NAMES", "The only fields that are read and written."),
    volatile: str = setting("--volatile", "NAMES", "Fields that the server writes itself."),
    token_env: str = setting("--token-env", "VARIABLE", "The variable that holds a token."),
    prefix: str = setting("--prefix", "TEXT", "The prefix of every key of the binding."),
    wrap: str = setting("--wrap", "FIELD", "The field that the server wraps records in."),
    no_probe: bool = flag("--no-probe", "Do not measure now how it guards others' writes."),
    directory: Path = DirOption,
) -> None:
    """Declare records of another system, and measure how it guards others' writes.

    Passwords and tokens are never written down: only the names of the variables that hold them.

    Example: `takeback bind memory --sql-env AGENT_DB --table memory --key id --fields text,weight`
    """
    kinds = {"sql": ("url_env", sql_env), "http": ("base", http), "etcd": ("base", etcd), "redis": ("base", redis)}
    chosen = [(kind, setting, value) for kind, (setting, value) in kinds.items() if value]
    if len(chosen) != 1:
        raise InputError(
            "bind",
            found="no system" if not chosen else f"{len(chosen)} systems",
            expected="one of --sql-env, --http, --etcd, --redis",
        )
    kind, setting, value = chosen[0]
    given: dict[str, Any] = {"kind": kind, setting: value}
    given |= {k: v for k, v in {"table": table, "token_env": token_env, "prefix": prefix, "wrap": wrap}.items() if v}
    given |= {
        name: [word.strip() for word in text.split(",") if word.strip()]
        for name, text in {"key": key, "fields": fields, "volatile": volatile}.items()
        if text
    }
    root = find_root(directory)
    manifest = load_manifest(root)
    require_trusted(root, manifest)
    if name in manifest.bindings:
        raise InputError(
            "bind", found=f"a binding {name} already", expected=f"a new name, or an edit of {require_workspace(root)}"
        )
    open_binding(name, given, "bind")
    place = root / require_workspace(root)
    before = place.read_bytes()
    _declare(root, place, name, given)
    if no_probe:
        _tell(name, None)
    try:
        _probe(root, load_manifest(root), name)
    except InputError:  # what was given cannot be right: nothing is declared
        place.write_bytes(before)
        trust_workspace(root, keys=find_key_file())
        raise


def _declare(root: Path, place: Path, name: str, given: dict[str, Any]) -> None:
    """Add a table to the manifest, which stays as it is otherwise, and trust it so."""
    lines = [f"[bindings.{format_key(name)}]", *(f"{key} = {format_value(value)}" for key, value in given.items())]
    text = place.read_bytes().decode()
    whole = f"{text.rstrip()}\n\n" + "\n".join(lines) + "\n"
    read_manifest(whole.encode(), str(place))
    place.write_bytes(whole.encode())
    trust_workspace(root, keys=find_key_file())


def probe(name: str = argument("NAME", "The binding."), directory: Path = DirOption) -> None:
    """Measure how a binding guards others' writes, with eight checks and a race.

    The race has 6 writers with 50 writes each.

    It works on a record of its own, which it removes. `atomic`: no write was lost. `checked`: stale writes are
    refused one after the other, but some were lost in the race. `none`: conditions are ignored. The result is stored
    and shown in every plan. Exit code 1 for `none`, or if the system cannot be reached.

    Example: `takeback probe memory`
    """
    root = find_root(directory)
    manifest = load_manifest(root)
    require_trusted(root, manifest)
    _probe(root, manifest, name)


def _probe(root: Path, manifest: Manifest, name: str) -> None:
    from takeback.adapters.bindings.probe import probe_binding  # noqa: PLC0415 - start-up

    use_variables(os.environ)
    records = BoundRecords(root, manifest.bindings)
    try:
        probed = probe_binding(records.find(name)).to_json()
        records.keep_guard(name, probed)
    except UnreachableError as fault:
        answer({"binding": name, "guard": None, "why": fault.message, "hint": fault.hint})
        out.print(f"{name} is declared and was not measured: {fault.message}")
        out.print(f"  {fault.hint}" + f"; then 'takeback probe {name}'" * ("probe" not in fault.hint))
        finish(yes=False)
    finally:
        records.close()
    _tell(name, probed)


def _tell(name: str, probed: dict[str, Any] | None) -> None:
    answer({"binding": name, **({"guard": None} if probed is None else probed)})
    if probed is None:
        out.print(f"{name} is declared; 'takeback probe {name}' measures how it guards others' writes")
    else:
        right = sum(probed["answers"].values())
        out.print(f"{name}: {probed['guard']}: {probed['kept']} of {probed['made']} kept, {right} of 8 answers")
        for question in (question for question, given in probed["answers"].items() if not given):
            out.print(f"  no: {question}")
        out.print(f"  kept as: {describe_guard(probed)}")
    finish(yes=probed is None or probed["guard"] != "none")
