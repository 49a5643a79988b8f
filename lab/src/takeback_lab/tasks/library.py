"""The shipped task sets: `natural`, `fresh`, `controlled` and `l2`, read from `data/`.

One file per set and family; `profiles.json` holds the harnesses that tasks start from. Reading is done once per
process. Nothing is generated: the data files are the source. `data/first` holds the controlled tasks of the first
recorded run, all of which fail on the nominal state already; they are kept so that it replays.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from takeback.canonical import parse
from takeback.errors import InputError
from takeback_lab.tasks.model import SETS, Task, families, read_task

_PREFIXES = {"nat": "natural", "fresh": "fresh", "ctl": "controlled", "l2": "l2"}
FIRST = "first"
"""The edition of the controlled set that the first recorded run was made on."""


def load(set_name: str, edition: str = "") -> tuple[Task, ...]:
    """Read a whole set, family by family; raises `InputError` where a name or the data is wrong."""
    return _load(set_name, edition)


@cache
def _load(set_name: str, edition: str) -> tuple[Task, ...]:
    if set_name not in SETS:
        raise InputError("task set", found=set_name, expected=f"one of {', '.join(SETS)}")
    profiles = _read("profiles.json")
    tasks: list[Task] = []
    seen: set[str] = set()
    for family in families(set_name):
        name = f"{edition}/{set_name}_{family}.json" if edition else f"{set_name}_{family}.json"
        for index, raw in enumerate(_read(name)):
            where = f"{name}[{index}]"
            task = read_task(raw, set_name=set_name, family=family, profiles=profiles, where=where)
            if task.id in seen:
                raise InputError(where, found=task.id, expected="an id that no other task has")
            seen.add(task.id)
            tasks.append(task)
    return tuple(tasks)


def get(task_id: str, edition: str = "") -> Task:
    """Find a task by its id; raises `InputError` where there is none."""
    set_name = _PREFIXES.get(task_id.split("_", 1)[0])
    if set_name is not None:
        for task in load(set_name, edition):
            if task.id == task_id:
                return task
    raise InputError("task id", found=task_id, expected="the id of a task, such as nat_cfg_001")


def _read(name: str) -> Any:
    text = resources.files("takeback_lab.tasks").joinpath("data", *name.split("/")).read_text(encoding="utf-8")
    return parse(text, name)
