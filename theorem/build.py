"""Compile the theorem and build its oracles, in build/theorem; nothing is installed, and nothing written elsewhere.

usage: python3 theorem/build.py theorem   compile every chapter and print what each theorem rests on
       python3 theorem/build.py oracle    extract the decision procedures and build them as programs

Both exit 0 with the word "skipped" where Coq (or, for the oracles, OCaml) is missing. An axiom, an unproved step or a
theorem that rests on one is an error.
"""

# ruff: noqa: INP001, S603, T201

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "theorem"
INSTALL = "install it with `apt-get install coq` (Debian, Ubuntu; OCaml comes with it), or see https://coq.inria.fr"
CLOSED = "Closed under the global context"
ORACLES = {"keyed": "keyed_oracle", "tree": "tree_oracle"}
"""The extracted module of each oracle, `takeback_<name>`, and the program around it."""
MAX_SECONDS = 900


class BrokenTheoremError(Exception):
    """Something does not compile, or rests on what is not proved."""


def list_chapters() -> list[str]:
    """Return the chapters in the order in which they build on each other."""
    lines = (HERE / "_CoqProject").read_text().splitlines()
    return [line.removesuffix(".v") for line in lines if line.endswith(".v")]


def list_theorems(chapter: str) -> list[str]:
    """Return what a chapter calls a theorem or a corollary."""
    return re.findall(r"^(?:Theorem|Corollary)\s+(\w+)", (HERE / f"{chapter}.v").read_text(), re.MULTILINE)


def find_unproved(chapter: str) -> list[str]:
    """Return the words in a chapter that take something for granted, comments left out."""
    text = (HERE / f"{chapter}.v").read_text()
    without = re.compile(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", re.DOTALL)
    while without.search(text):
        text = without.sub("", text)
    return re.findall(r"\b(?:Admitted|admit|Axioms?|Parameters?|Conjectures?)\b", text)


def run(*command: str) -> str:
    """Run a command in the build folder and return what it printed."""
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    if done.returncode:
        raise BrokenTheoremError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_file(name: str) -> str:
    """Compile one file that is in the build folder, and return what Coq printed."""
    return run("coqc", "-q", "-Q", ".", "Takeback", f"{name}.v")


def compile_chapters() -> None:
    """Compile all chapters, if one has changed since."""
    chapters = list_chapters()
    for chapter in chapters:
        found = find_unproved(chapter)
        if found:
            raise BrokenTheoremError(f"{chapter}.v: {', '.join(found)}; every step must be proved")
    digest = hashlib.sha256()
    for name in (*(f"{chapter}.v" for chapter in chapters), "Extract.v"):
        digest.update((HERE / name).read_bytes())
        shutil.copy(HERE / name, BUILD / name)
    stamp = BUILD / "compiled"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    stamp.unlink(missing_ok=True)
    for chapter in chapters:
        print(f"  {chapter}", flush=True)
        compile_file(chapter)
    stamp.write_text(digest.hexdigest())


def check_theorems() -> None:
    """Print what each theorem rests on; raise `BrokenTheoremError` where that is not nothing."""
    compile_chapters()
    named = [(chapter, name) for chapter in list_chapters() for name in list_theorems(chapter)]
    asked = [f"From Takeback Require {' '.join(list_chapters())}."]
    asked += [
        f'Goal True. idtac "? {chapter}.{name}". Abort. Print Assumptions {chapter}.{name}.'
        for chapter, name in named
    ]
    (BUILD / "Assumptions.v").write_text("\n".join(asked) + "\n")
    answers = [one.split("\n", 1) for one in compile_file("Assumptions").split("? ")[1:]]
    for title, answer in answers:
        print(f"{title}: {' '.join(answer.split())}")
    open_ones = [title for title, answer in answers if answer.strip() != CLOSED]
    if open_ones or len(answers) != len(named):
        raise BrokenTheoremError(f"not closed: {', '.join(open_ones) or 'some theorem got no answer'}")
    print(f"{len(answers)} theorems, all closed under the global context: no axiom, nothing admitted.")


def build_oracles() -> None:
    """Extract the oracles and compile them, if they are not there already."""
    compile_chapters()
    digest = hashlib.sha256((BUILD / "compiled").read_bytes())
    for program in ORACLES.values():
        digest.update((HERE / f"{program}.ml").read_bytes())
    stamp = BUILD / "built"
    if not (stamp.exists() and stamp.read_text() == digest.hexdigest()):
        stamp.unlink(missing_ok=True)
        compile_file("Extract")
        for name, program in ORACLES.items():
            shutil.copy(HERE / f"{program}.ml", BUILD)
            module = f"takeback_{name}"
            run("ocamlfind", "ocamlopt", "-O3", f"{module}.mli", f"{module}.ml", f"{program}.ml", "-o", program)
        stamp.write_text(digest.hexdigest())
    for program in ORACLES.values():
        print(BUILD / program)


def main(words: list[str]) -> int:
    """Do what was asked; return the exit code."""
    if len(words) != 1 or words[0] not in {"theorem", "oracle"}:
        print(__doc__, file=sys.stderr)
        return 2
    for tool in ("coqc",) if words[0] == "theorem" else ("coqc", "ocamlfind"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not here; {INSTALL}")
            return 0
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            check_theorems() if words[0] == "theorem" else build_oracles()
        except BrokenTheoremError as fault:
            print(fault, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
