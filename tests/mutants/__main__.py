"""`python -m tests.mutants [SAMPLE|all] [PACKAGE…]`: killed and survived by package; every survivor by name.

Where a share is asked for, `OFTENER` times as many are drawn, so that it means something.
A package whose mutants take more than `MINUTES` is ended there, unless all are asked for; what was tried is said.
Exits 1 where a survivor is not explained in `survivors.md`, or fewer than 90 in 100 were killed where that is asked.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.mutants.running import Bench, Fate, Target, bench
from tests.mutants.targets import ASKED, TARGETS

EXPLAINED = Path(__file__).with_name("survivors.md")
SEED = 0
OFTENER = 4
MINUTES = 30
SECONDS = 600
"""Processor time the tests of a package may use without a mutant; with one, four times what they used without."""


def main(arguments: list[str]) -> int:
    """Run, print as it goes, and add up."""
    size = None if arguments[:1] == ["all"] else int(arguments[0]) if arguments else 25
    chosen = [target for target in TARGETS if not arguments[1:] or target.name in arguments[1:]]
    explained, counts, unexplained = set(EXPLAINED.read_text().splitlines()), [], []
    with bench() as there:
        for target in chosen:
            fates, survivors = _run(there, target, size and size * (OFTENER if target.name in ASKED else 1))
            counts.append((target.name, fates))
            unexplained += [key for key in survivors if f"- {key}" not in explained]
    print(f"{'package':<16}{'tried':>7}{'killed':>8}{'of those timed out':>20}{'survived':>10}{'killed %':>10}")
    short = []
    for name, fates in counts:
        dead = fates[Fate.KILLED] + fates[Fate.LATE]
        tried = dead + fates[Fate.SURVIVED]
        share = 100 * dead / tried if tried else 100.0
        print(f"{name:<16}{tried:>7}{dead:>8}{fates[Fate.LATE]:>20}{fates[Fate.SURVIVED]:>10}{share:>10.1f}")
        if name in ASKED and share < ASKED[name]:
            short.append(name)
    for key in unexplained:
        print(f"not explained in {EXPLAINED.name}: {key}")
    for name in short:
        print(f"{name}: fewer than {ASKED[name]} in 100 were killed")
    return 1 if unexplained or short else 0


def _run(there: Bench, target: Target, size: int | None) -> tuple[dict[Fate, int], list[str]]:
    fates, survivors = dict.fromkeys(Fate, 0), []
    mutants, end = target.sample(size, SEED, there.code), time.monotonic() + 60 * MINUTES
    print(f"{target.name}: {len(mutants)} of {len(target.mutants(there.code))} mutants, seed {SEED}", flush=True)
    reach, used = there.learn(target, SECONDS)
    if reach is None:
        raise SystemExit(f"{target.name}: its tests take too long without any mutant")
    if reach.failed:
        raise SystemExit(f"{target.name}: its tests fail without any mutant\n{reach.failed}")
    with there.loaded(target, reach):
        for mutant in mutants:
            if size is not None and time.monotonic() > end:
                print(
                    f"  ended after {MINUTES} minutes: {sum(fates.values())} of {len(mutants)} were tried", flush=True
                )
                break
            fate = there.meet(mutant, target.tests, reach, 4 * used)
            fates[fate] += 1
            print(f"  {fate.value}, line {mutant.line}: {mutant.key}", flush=True)
            if fate is Fate.SURVIVED:
                survivors.append(mutant.key)
    return fates, survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
