"""`takeback lab git-history` on a generated repository: what it finds, what it would find, and that it only reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.errors import InputError
from takeback_lab.git_history.judge import Judge
from takeback_lab.git_history.run import run_git_history

Files = dict[str, tuple[str, bytes]]


def text(word: str, *, count: int = 24, **changed: str) -> bytes:
    lines = [changed.get(f"n{n}", f"{word} {n}") for n in range(count)]
    return "".join(f"{line}\n" for line in lines).encode()


def make_trees() -> list[Files]:
    """The trees of a small history: edits, renames, conflicts, a change made again, links, modes, bytes."""
    now: Files = {f"src/{name}.py": ("100644", text(name)) for name in ("a", "b", "c", "d")}
    now |= {"run": ("100644", text("run")), "logo": ("100644", bytes(range(256))), "link": ("120000", b"src/a.py")}
    trees = [dict(now)]

    def then(**changed: tuple[str, str | bytes] | None) -> None:
        for name, found in changed.items():
            path = names[name]
            if found is None:
                del now[path]
            else:
                now[path] = (found[0], found[1].encode() if isinstance(found[1], str) else found[1])
        trees.append(dict(now))

    names = {"a": "src/a.py", "b": "src/b.py", "c": "src/c.py", "d": "src/d.py", "moved": "lib/a.py", "run": "run"}
    names |= {
        "logo": "logo",
        "link": "link",
        "tool": "bin/run",
        "new": "docs/new.md",
        "twin": "lib/d.py",
        "too": "e.py",
    }
    then(a=("100644", text("a", n3="three")))
    then(b=("100644", text("b", n5="five")))
    then(moved=("100644", text("a", n3="three")), a=None)
    then(moved=("100644", text("a", n3="three", n20="twenty")))
    then(b=("100644", text("b", n5="five again")))
    then(c=("100644", text("c", n7="seven")))
    then(c=("100644", text("c")))
    then(c=("100644", text("c", n7="seven")))
    then(run=("100755", text("run")))
    then(tool=("100755", text("run", n1="one")), run=None)
    then(logo=("100644", bytes(range(255, -1, -1))))
    then(link=("120000", b"lib/a.py"))
    then(new=("100644", text("new")))
    then(new=("100644", text("new", n4="four")))
    then(d=("100644", text("d", n9="nine")))
    then(twin=("100644", text("d", n9="nine")), too=("100644", text("d", n9="nine")), d=None)
    then(b=("100644", text("b", n5="five again", n15="fifteen")))
    then(moved=("100644", text("a", n3="three", n11="eleven", n20="twenty")))
    then(a=("100644", text("another")))
    then(tool=("100755", text("run", n1="one", n2="two")))
    return trees


def make_repository(place: Path, trees: list[Files]) -> Path:
    git = ["git", "-C", str(place)]
    place.mkdir()
    subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
    told = []
    for at, tree in enumerate(trees):
        told.append(b"commit refs/heads/main\ncommitter t <t@t> %d +0000\ndata 2\nm\n" % (1_700_000_000 + at))
        told.append(b"deleteall\n")
        for path, (mode, data) in tree.items():
            told.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), path.encode(), len(data), data))
    subprocess.run([*git, "fast-import", "--quiet"], input=b"".join(told), check=True)
    return place


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("git") / "repo", make_trees())


@pytest.mark.parametrize("later", [3, None])
def test_every_commit_of_a_small_history_is_undone_as_well_as_git_does(repository, later):
    report = run_git_history(repository, later=later)
    found = report.to_json()
    assert found["commits"] == found["taken_out"] == 20
    assert found["equal"] + found["explained"] == found["git_clean"] > 8
    assert (found["different"], found["silently_wrong"], found["faults_where_equal"]) == (0, 0, 0)
    assert found["possible"] + found["blocked"] == found["git_conflict"] > 0
    assert found["kept_said"] > 0
    assert found["blocked"] > 0
    assert found["moves"] == 3
    assert found["twins"] == 1
    assert found["explained_by"] == {"later_writer": 0, "rename_blocked": 0, "twins": 1}
    assert found["git_wrong"] == 1
    assert found["git_clean"] + found["git_wrong"] + found["git_conflict"] == 20
    assert found["all_back"] is True
    assert found["real_revert"] == {"asked": 20, "agreed": 20}


STEP = "use\nwith\n"
PLACES = "".join(f"place {n}\n" for n in range(9))


def make_steps(*steps: str, end: str = "") -> Files:
    return {"steps": ("100644", (PLACES + "".join(steps) + PLACES.replace("place", "after") + end).encode())}


def test_equal_lines_are_ambiguous_only_after_a_later_writer(tmp_path):
    both, newer = (f"{STEP}testing\n", STEP), f"new {STEP}"
    trees = [make_steps(*both), make_steps(STEP), make_steps(newer), make_steps(newer, end="more\n")]
    found = run_git_history(make_repository(tmp_path / "repo", trees), later=1).to_json()
    assert [(one["kind"], one["detail"]) for one in found["cases"]] == [("later_writer", "differs in steps")]
    assert found["git_clean"] == found["equal"] + 1
    assert found["silently_wrong"] == 0


def test_lines_that_would_appear_twice_are_reported(tmp_path):
    trees = [make_steps("helper\n\n"), make_steps(), make_steps("helper\n\n"), make_steps("helper\n\n", end="x\n")]
    found = run_git_history(make_repository(tmp_path / "repo", trees), later=1).to_json()
    assert [(one["kind"], one["detail"]) for one in found["cases"]] == [("later_writer", "differs in steps")]
    assert (found["different"], found["silently_wrong"], found["all_back"]) == (0, 0, True)


def test_empty_commits_are_not_undone(tmp_path):
    trees = [make_steps(end=f"{at // 2}\n") for at in range(12)]
    found = run_git_history(make_repository(tmp_path / "repo", trees), later=1, take=4).to_json()
    assert (found["commits"], found["empty"], found["taken_out"]) == (11, 6, 4)


def test_the_command_prints_figures_and_refuses_a_non_repository(repository, tmp_path):
    ran = CliRunner().invoke(app, ["lab", "git-history", str(repository), "--later", "2", "--commits", "6"])
    assert "6 commits adopted, 6 taken out 2 commits later" in ran.output
    assert "byte for byte" in ran.output
    for words in ([str(tmp_path)], [str(repository), "--tip", "nothing"], [str(repository), "--later", "soon"]):
        assert CliRunner().invoke(app, ["lab", "git-history", *words]).exit_code != 0
    with pytest.raises(InputError):
        run_git_history(tmp_path / "nowhere")


def test_the_repository_is_not_written_and_its_programs_are_not_run(tmp_path):
    trees = [{**tree, ".gitattributes": ("100644", b"* filter=x merge=x diff=x\n")} for tree in make_trees()[:6]]
    place = make_repository(tmp_path / "repo", trees)
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\ncat\n")
    trap.chmod(0o755)
    filters = ("filter.x.clean", "filter.x.smudge", "merge.x.driver", "diff.x.command", "diff.x.textconv")
    for name in (*filters, "core.fsmonitor", "diff.external", "core.pager"):
        subprocess.run(["git", "-C", str(place), "config", name, str(trap)], check=True)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert run_git_history(place, later=2).all_back
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert not sprung.exists()


def test_a_revert_that_takes_out_what_a_later_commit_wrote_is_no_clean_one(tmp_path):
    changed = {"c": ("100644", text("c", n7="seven"))}
    trees = [{"c": ("100644", text("c"))}, changed, {"c": ("100644", text("c"))}, changed]
    found = run_git_history(make_repository(tmp_path / "repo", trees), later=2).to_json()
    (case,) = found["cases"]
    assert (case["kind"], found["git_wrong"], found["explained"]) == ("git_wrong", 1, 0)
    assert case["detail"].endswith("git: it takes out what a later commit wrote, c: 'seven'")
    assert found["equal"] == found["git_clean"]
    assert found["holds"] is True
    assert (found["git_reverts"], found["explained_or_git_wrong"]) == (found["git_clean"] + 1, 1)
    assert found["unequal_share"] == round(1 / found["git_reverts"], 4)


def test_a_revert_is_no_error_of_gits_where_one_line_that_differs_is_not_a_later_commits():
    judge = Judge({"f": (0o644, b"a\nb\n")})
    judge.see(0, [("M", "f", "f", 0o644, b"a\nb\nx\ny\n")])
    judge.see(1, [("M", "f", "f", 0o644, b"a\nb\ny\n")])
    judge.see(2, [("M", "f", "f", 0o644, b"a\nb\nx\ny\n")])
    now = {"f": (0o644, b"a\nb\nx\ny\n")}
    git = {"f": (0o644, b"a\nb\n")}
    assert list(judge.find_unexplained(0, {"f": (0o644, b"a\nb\nx\n")}, git, now)) == []
    assert list(judge.find_unexplained(0, {}, git, now)) == ["f: 'y' is nobody's later"]
    assert list(judge.find_unexplained(0, {"f": (0o755, b"a\nb\n")}, git, now)) == ["f: not only lines differ"]
    lost = {"f": (0o644, b"a\n")}
    assert list(judge.find_unexplained(0, lost, git, now)) == ["f: 'b' was not taken out later"]
    assert [judge.has_dependent(at) for at in range(3)] == [False, False, False]


def test_only_a_file_that_a_commit_made_or_moved_can_have_dependents():
    judge = Judge({"f": (0o644, b"a\n")})
    judge.see(0, [("A", "", "g", 0o644, b"b\n"), ("R", "f", "h", 0o644, b"a\n")])
    assert not judge.has_dependent(0)
    judge.see(1, [("M", "h", "h", 0o644, b"c\n")])
    assert judge.has_dependent(0)


def test_a_revert_that_leaves_a_commits_lines_in_a_file_that_git_lost_is_no_clean_one(tmp_path):
    edited = text("a", n3="three")
    rewritten = "".join(f"other {n}\n" for n in range(40)).encode()
    trees = [
        {"a": ("100644", text("a"))},
        {"a": ("100644", edited)},
        {"b": ("100644", edited)},
        {"b": ("100644", edited + rewritten)},
    ]
    found = run_git_history(make_repository(tmp_path / "repo", trees), later=2).to_json()
    kinds = {case["commit"]: (case["kind"], case["detail"]) for case in found["cases"]}
    assert found["different"] == 0
    assert found["git_wrong"] + found["git_conflict"] > 0, kinds


def test_of_equal_lines_the_judge_does_not_say_which_one_a_later_commit_wrote():
    judge = Judge({"f": (0o644, b"a\nx\nb\n")})
    judge.see(0, [("M", "f", "f", 0o644, b"a\nx\nb\nx\n")])
    judge.see(1, [("M", "f", "f", 0o644, b"x\na\nx\nb\nx\n")])
    now = {"f": (0o644, b"x\na\nx\nb\nx\n")}
    assert list(judge.find_taken(0, {"f": (0o644, b"a\nx\nb\nx\n")}, now)) == []


def make_judge() -> tuple[Judge, dict[str, tuple[int, bytes]]]:
    judge = Judge({"f": (0o644, text("f")), "g": (0o644, text("g"))})
    judge.see(0, [("M", "f", "f", 0o644, text("f", n3="mine"))])
    judge.see(1, [("M", "f", "f", 0o644, text("f", n3="mine", n9="theirs"))])
    return judge, {"f": (0o644, text("f", n3="mine", n9="theirs")), "g": (0o644, text("g"))}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"f": (0o644, text("f", n9="theirs"))}, ""),
        ({}, "is still its own and stayed"),
        ({"f": (0o644, text("f"))}, "which it did not write"),
        ({"f": (0o644, text("f", n3="other", n9="theirs"))}, "which it did not take out"),
        ({"f": (0o644, text("f", n9="theirs")), "g": None}, "files that it did not touch: g"),
        ({"f": None}, "which it did not write"),
    ],
)
def test_the_judge_reports_silent_faults(changes, fault):
    judge, now = make_judge()
    found = list(judge.find_faults(0, changes, now, set()))
    assert [fault in one for one in found[:1]] == ([True] if fault else [])


def test_the_judge_allows_either_of_equal_neighbouring_lines():
    judge = Judge({"f": (0o644, text("f"))})
    judge.see(0, [("M", "f", "f", 0o644, text("f", n3="mine", n5="mine too"))])
    now = {"f": (0o644, text("f", n3="mine", n5="mine too"))}
    for line, wrong in ((b"f 4\n", False), (b"f 2\n", True), (b"f 6\n", True)):
        without = text("f").replace(line, b"")
        assert bool(list(judge.find_faults(0, {"f": (0o644, without)}, now, {"f"}))) is wrong


def test_the_judge_accepts_kept_files_only_if_reported():
    judge, now = make_judge()
    assert list(judge.find_faults(0, {}, now, {"f"})) == []
    assert list(judge.find_faults(0, {"f": (0o644, text("f"))}, now, {"f"})) != []


def test_the_judge_reports_silently_kept_files_and_modes():
    judge = Judge({"a": (0o644, text("a")), "x": (0o644, text("x"))})
    judge.see(
        0, [("R", "a", "b", 0o644, text("a")), ("M", "x", "x", 0o755, text("x")), ("A", "n", "n", 0o644, b"n\n")]
    )
    now = {"b": (0o644, text("a")), "x": (0o755, text("x")), "n": (0o644, b"n\n")}
    found = list(judge.find_faults(0, {}, now, set()))
    assert [one.split(":")[0] for one in found] == ["b", "x", "n"]
    good = {"a": (0o644, text("a")), "b": None, "x": (0o644, text("x")), "n": None}
    assert list(judge.find_faults(0, good, now, set())) == []
