"""The theorem in Coq is what the documentation says: what it names is there, and nothing is taken for granted.

That it compiles is `make theorem`; where Coq is here, the long tests do it too.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THEOREM = ROOT / "theorem"
CHAPTERS = sorted(path for path in THEOREM.glob("*.v"))
TABLE_ROW = re.compile(r"^\| [\d–, ]+ \| (?P<theorems>.+?) \| `(?P<file>\w+\.v)` \|", re.MULTILINE)


def _load_build():
    spec = importlib.util.spec_from_file_location("theorem_build", THEOREM / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = _load_build()


def _named_theorems() -> list[tuple[str, str]]:
    page = (ROOT / "docs" / "proof.md").read_text()
    section = page.split("## What is proved, and what is assumed")[1].split("\n## ")[0]
    return [
        (row["file"], name) for row in TABLE_ROW.finditer(section) for name in re.findall(r"`(\w+)`", row["theorems"])
    ]


def test_the_table_of_the_proof_page_names_theorems_of_most_chapters():
    named = _named_theorems()
    assert len(named) >= 40
    assert len({file for file, _ in named}) >= 12


@pytest.mark.parametrize(("file", "name"), _named_theorems())
def test_a_theorem_that_the_proof_page_names_is_in_the_file_it_names(file, name):
    assert name in build.list_theorems(file.removesuffix(".v"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_a_chapter_has_no_unproved_statement_and_opens_with_a_comment(path):
    assert build.find_unproved(path.stem) == []
    assert path.read_text().startswith("(** ")


@pytest.mark.parametrize(
    "words", ["Admitted.", "Axiom a : False.", "Parameter b : nat.", "  admit.", "Conjecture c : True."]
)
def test_unproved_statements_are_detected(words, monkeypatch, tmp_path):
    (tmp_path / "Bad.v").write_text(
        f"(* Admitted (* nested *) is only spoken of here *)\nTheorem t : True.\n{words}\n"
    )
    (tmp_path / "Good.v").write_text(
        "(* an Axiom (* Parameter *) in a comment *)\nTheorem t : True. Proof. exact I. Qed.\n"
    )
    monkeypatch.setattr(build, "HERE", tmp_path)
    assert build.find_unproved("Bad")
    assert build.find_unproved("Good") == []


def test_every_chapter_is_compiled_and_listed_in_the_readme():
    listed = build.list_chapters()
    assert sorted([*listed, "Extract"]) == [path.stem for path in CHAPTERS]
    told = re.findall(r"^\| \d+ \| `(\w+)\.v` \|", (THEOREM / "README.md").read_text(), re.MULTILINE)
    assert told == listed
    for number, chapter in enumerate(listed, 1):
        assert (THEOREM / f"{chapter}.v").read_text().startswith(f"(** * Chapter {number}. ")


def test_no_coq_output_is_kept_beside_the_chapters():
    kept = subprocess.run(
        ["git", "ls-files", "theorem"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    assert [name for name in kept.split() if not re.search(r"/(\w+\.(v|ml|md|py)|_CoqProject)$", name)] == []


@pytest.mark.parametrize("goal", ["theorem", "oracle"])
def test_without_coq_the_build_is_skipped_with_a_message(goal):
    command = [sys.executable, str(THEOREM / "build.py"), goal]
    done = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("skipped: coqc is not here; install it with `apt-get install coq`")


@pytest.mark.long
def test_every_theorem_is_closed_under_the_global_context():
    command = [sys.executable, str(THEOREM / "build.py"), "theorem"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if done.stdout.startswith("skipped"):
        pytest.skip(done.stdout.strip())
    closed = re.findall(r"^(\w+\.\w+): Closed under the global context$", done.stdout, re.MULTILINE)
    expected = [f"{chapter}.{name}" for chapter in build.list_chapters() for name in build.list_theorems(chapter)]
    assert closed == expected
    assert {f"{file.removesuffix('.v')}.{name}" for file, name in _named_theorems()} <= set(closed)


@pytest.mark.long
@pytest.mark.parametrize(
    "proof",
    ["exact (functional_extensionality f g H).", "exact H.", "admit."],
    ids=["rests on an axiom", "does not compile", "is not finished"],
)
def test_a_theorem_that_is_not_closed_fails_the_build(proof, tmp_path):
    if shutil.which("coqc") is None:
        pytest.skip("coqc is not here")
    (tmp_path / "theorem").mkdir()
    shutil.copy(THEOREM / "build.py", tmp_path / "theorem")
    (tmp_path / "theorem" / "_CoqProject").write_text("-Q . Takeback\nOne.v\n")
    (tmp_path / "theorem" / "Extract.v").write_text("")
    (tmp_path / "theorem" / "One.v").write_text(
        "From Coq Require Import FunctionalExtensionality.\n"
        "Theorem same (f g : nat -> nat) (H : forall x, f x = g x) : f = g.\n"
        f"Proof. {proof} Qed.\n"
    )
    command = [sys.executable, str(tmp_path / "theorem" / "build.py"), "theorem"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
