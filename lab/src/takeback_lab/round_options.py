"""The options of a run whose answers come from elsewhere, kept beside its recording: nobody has to repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from takeback.canonical import write_pretty
from takeback.errors import InputError
from takeback_lab.experiment import Option
from takeback_lab.lock import read_json, write_whole

OPTIONS: Final = "options.json"


def write_options(folder: Path, experiment: str, model: str, given: Mapping[str, Any]) -> None:
    """Write down what an experiment was asked for, and whose answers it waits for."""
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in sorted(given.items())}
    body = {"experiment": experiment, "model": model, "options": plain}
    write_whole(folder / OPTIONS, (write_pretty(body, indent=1) + "\n").encode())


def read_experiment(folder: Path) -> str:
    """Return the name of the experiment whose answers a folder holds; nothing where it was not written down."""
    path = folder / OPTIONS
    raw = read_json(path) if path.is_file() else None
    return str(raw.get("experiment") or "") if isinstance(raw, dict) else ""


def read_options(folder: Path, experiment: str, options: Sequence[Option]) -> tuple[str, dict[str, Any]]:
    """The model and options that were written down for an experiment; nothing where there are none."""
    path = folder / OPTIONS
    if not path.is_file():
        return "", {}
    raw = read_json(path)
    if not isinstance(raw, dict) or not isinstance(raw.get("options"), dict) or not isinstance(raw.get("model"), str):
        raise InputError(str(path), found="another form", expected="experiment, model and options")
    if raw.get("experiment") != experiment:
        raise InputError(str(path), found=f"options of {raw.get('experiment')}", expected=f"those of {experiment}")
    paths = {option.name.replace("-", "_") for option in options if option.kind == "path"}
    return raw["model"], {name: Path(value) if name in paths else value for name, value in raw["options"].items()}
