"""Making a workspace: all of it or nothing, and no password in its manifest."""

from __future__ import annotations

import pytest

from takeback.errors import InputError, JournalError, TakebackError
from takeback.harness.founding import init_workspace
from takeback.harness.workspace import open_workspace
from takeback.journal.url import without_password
from takeback.state import State

START = {
    "config": {"agent": {"timeout": 30}},
    "prompts": {"system": "Be careful.\n"},
    "files": {"a/b": {"content": ""}},
}


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("journal", ["postgresql://nobody@127.0.0.1:9/none", "nowhere/journal.db", "bogus://x"])
def test_a_workspace_that_cannot_be_made_leaves_nothing(tmp_path, journal, made):
    root = tmp_path / "above" / "agent"
    if made:
        (root / "prompts").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(JournalError):
        init_workspace(root, journal=journal, start=State.read(START))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("url", ["postgresql://me:hush@127.0.0.1:9/x", "postgresql://127.0.0.1:9/x?password=hush"])
def test_a_password_is_refused_for_the_manifest(tmp_path, url):
    with pytest.raises(InputError, match="TAKEBACK_JOURNAL, or keep the password in a pgpass file") as caught:
        init_workspace(tmp_path / "agent", journal=url)
    assert "hush" not in str(caught.value)
    assert not (tmp_path / "agent").exists()


def test_a_secret_url_goes_into_the_manifest_without_its_password(tmp_path, postgres_url):
    joined = "&" if "?" in postgres_url else "?"
    url = f"{postgres_url}{joined}password=hush#secret"
    root = init_workspace(tmp_path / "agent", journal=url, secret=True)
    assert "hush" not in (root / "takeback.toml").read_text()
    open_workspace(root, journal=url).close()


def test_making_a_workspace_killed_before_its_manifest_is_finished_by_doing_it_again(tmp_path):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    (root / "takeback.toml").unlink()
    init_workspace(root)
    harness = open_workspace(root)
    assert harness.status().clean
    assert harness.state.write()["prompts"] == START["prompts"]


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/x"])
def test_a_place_where_no_directory_can_be_is_named(tmp_path, place):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TakebackError, match=r"found a file|cannot make the directory"):
        init_workspace(tmp_path / place)


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://me:@/db?host=/run", "postgresql://me:@/db?host=/run"),
        ("postgresql://me:p%40x@h:1/db#a", "postgresql://me@h:1/db#a"),
        ("postgresql:///db?sslpassword=x&host=h#a", "postgresql:///db?host=h#a"),
        ("postgresql:///db?password=x#a", "postgresql:///db#a"),
        (".takeback/journal.db", ".takeback/journal.db"),
    ],
)
def test_only_the_password_is_taken_out_of_a_url(url, bare):
    assert without_password(url) == bare
