"""`takeback states FILE`: the counterfactual states a candidate is tried on, to look at."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.inputs import CandidateFile, StateOption, name_input, read_json, read_state
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError
from takeback.language import read_candidate
from takeback.state import SURFACES, diff
from takeback.state.pmap import ABSENT
from takeback.verify.suites import SUITES, make_dev_states
from takeback_lab.hidden_states import make_hidden_states


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("states")(states)


def states(
    file: Path = CandidateFile,
    split: str = typer.Option("dev", "--split", metavar="NAME", help="Which split: dev, iid or ood."),
    n: int = typer.Option(5, "--n", min=1, metavar="N", help="How many states."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the states."),
    dev: str = typer.Option("Q20", "--dev", metavar="SUITE", help="Dev suite, with --split dev."),
    state: Path | None = StateOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Show the counterfactual states that a candidate is tried on.

    Each is shown as its differences from the nominal state; `--json` prints whole states.

    Example: `takeback states examples/candidates/config/candidate.json --split ood --n 5`
    """
    del reveal  # read by its callback
    candidate = read_candidate(read_json(file), name_input(file))
    nominal = read_state(state)
    if split == "dev":
        if dev in SUITES and n > SUITES[dev]:
            raise InputError("--n", found=n, expected=f"at most {SUITES[dev]} for {dev}")
        made = make_dev_states(nominal, candidate.mutation, dev, seed=seed)[:n]
    elif split in {"iid", "ood"}:
        made = make_hidden_states(nominal, candidate.mutation, split, n, seed=seed)
    else:
        raise InputError("--split", found=split, expected="dev, iid or ood")
    if as_json:
        shown = [{"digest": one.digest(), "state": one.write()} for one in made]
        emit({"split": split, "seed": seed, "states": shown})
        return
    for at, one in enumerate(made):
        out.print(f"{split}[{at}] {one.digest()[:12]}", style="bold")
        for change in diff(nominal, one):
            surface = SURFACES[change.address.surface]
            text = "absent" if change.after is ABSENT else repr(surface.describe(change.after))[:100]
            out.print(f"  {change.address} = {text}")
