"""`takeback tasks`: the lab's task sets, listed and counted; `takeback tasks show ID`: one of them, whole."""

from __future__ import annotations

from typing import Any

import typer

from takeback.canonical import write_pretty
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.secrets import mask_value
from takeback.errors import InputError
from takeback_lab.tasks import FAMILIES, INSIDE_FAMILIES, SETS, Task, capability, get, load
from takeback_lab.tasks import families as families_of

_LINE = 90
_EVERY = (*FAMILIES, *INSIDE_FAMILIES)
_tasks = typer.Typer(invoke_without_command=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(_tasks, name="tasks")


@_tasks.callback()
def tasks(
    context: typer.Context,
    set_name: str | None = typer.Option(None, "--set", metavar="NAME", help=f"Only this set: {', '.join(SETS)}."),
    family: str | None = typer.Option(
        None, "--family", metavar="NAME", help=f"Only this family: {', '.join(_EVERY)}."
    ),
    as_json: bool = JsonFlag,
) -> None:
    """List and count the tasks of the lab.

    Example: `takeback tasks --set natural --family tools --json`
    """
    if context.invoked_subcommand is not None:
        return
    if family is not None and family not in _EVERY:
        raise InputError("--family", found=family, expected=f"one of {', '.join(_EVERY)}")
    chosen = {
        name: [task for task in load(name) if family in {None, task.family}]
        for name in (SETS if set_name is None else (set_name,))
    }
    families = {name: families_of(name) if family is None else (family,) for name in chosen}
    if as_json:
        emit(_listing(chosen, families))
        return
    _show_counts(chosen, families)
    if set_name is not None:
        for task in chosen[set_name]:
            out.print(f"{task.id}  {_first_line(task.instruction)}")


@_tasks.command("show")
def show(
    task_id: str = typer.Argument(..., metavar="ID", help="A task's id.", show_default=False),
    as_json: bool = JsonFlag,
) -> None:
    """Show one task: instruction, nominal state, postconditions and reference mutation.

    Example: `takeback tasks show nat_mw_001`
    """
    task = get(task_id)
    shown = task.to_json()
    if as_json:
        emit(shown)
        return
    out.print(f"{task.id} ({task.set_name}, {task.family}, {task.situation}; agent: {task.profile})", style="bold")
    out.print(f"\n{task.instruction}\n")
    held = capability(task, task.state) * len(task.postconditions)
    out.print(f"postconditions met at the nominal state: {held} of {len(task.postconditions)}")
    for part in ("postconditions", "reference", "defect", "why", "candidate", "good", "state"):
        if part in shown:
            out.print(f"\n{part}", style="bold")
            _show_value(shown[part])


def _listing(chosen: dict[str, list[Task]], families: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    listed = [task for tasks in chosen.values() for task in tasks]
    return {
        "total": len(listed),
        "counts": {name: _by_family(tasks, families[name]) for name, tasks in chosen.items()},
        "situations": {
            name: {
                family: len({task.situation for task in tasks if task.family == family}) for family in families[name]
            }
            for name, tasks in chosen.items()
        },
        "tasks": [
            {
                "id": task.id,
                "set": task.set_name,
                "family": task.family,
                "situation": task.situation,
                "profile": task.profile,
                "surfaces": list(task.surfaces),
                "instruction": task.instruction,
            }
            for task in listed
        ],
    }


def _by_family(tasks: list[Task], families: tuple[str, ...]) -> dict[str, int]:
    return {family: sum(task.family == family for task in tasks) for family in families}


def _show_counts(chosen: dict[str, list[Task]], families: dict[str, tuple[str, ...]]) -> None:
    """One table for all sets that have the same families."""
    for columns in dict.fromkeys(families.values()):
        rows = [
            (name, *map(str, _by_family(tasks, columns).values()), str(len(tasks)))
            for name, tasks in chosen.items()
            if families[name] == columns
        ]
        out.table(("set", *columns, "all"), rows)


def _first_line(text: str) -> str:
    line = text.splitlines()[0]
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _show_value(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            out.print(f"  {write_pretty(mask_value(item), indent=None)}")
    elif isinstance(value, dict):
        for key, item in value.items():
            out.print(f"  {key}: {write_pretty(mask_value(item), indent=None)}")
    else:
        out.print(f"  {value}")
