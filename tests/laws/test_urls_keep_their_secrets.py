"""Laws of journal URLs: whatever a password looks like, and wherever it stands, nothing that is said repeats it.

The driver of these tests is the worst there could be: it reads a URL as libpq does, and repeats all of it when it
fails.
"""

from __future__ import annotations

import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.cli import app
from takeback.errors import JournalError, TakebackError
from takeback.journal import open_journal
from takeback.journal.url import read_url, redact_url, strip_password

psycopg = pytest.importorskip("psycopg")

WORD = "unter2zq"
"""What no message may hold; the letter before it is sometimes percent-encoded."""
odd = st.text(st.sampled_from("/@#?%:[]&=;,. '\"\\ab1é\n"), max_size=4)
passwords = st.builds(lambda one, first, two: f"{one}{first}{WORD}{two}", odd, st.sampled_from(["h", "%68"]), odd)
hosts = st.sampled_from(["127.0.0.1:1", "localhost", "[::1]:1", "", "127.0.0.1:1,localhost:2", "[::1"])
endings = st.sampled_from(["", "#name", "?sslmode=disable", "?connect_timeout=1#name", "?nonsense", "#Bad Name"])
FORMS = (
    "postgresql://me:{password}@{host}/db{ending}",
    "postgres://me:{password}@{host}{ending}",
    "postgresql://:{password}@{host}/db{ending}",
    "postgresql://{host}/db?password={password}",
    "postgresql://me@{host}/db?passwd={password}#name",
    "postgresql://me@{host}/db?sslmode=disable&sslpassword={password}",
    "postgresql://{host}/db?{password}",
    "postgresql:me:{password}@{host}/db",
    "POSTGRESQL://me:{password}@{host}/db",
    "postgresql+psycopg://me:{password}@{host}/db",
    "other://me:{password}@{host}/db",
    "host=localhost password={password} dbname=db",
    "dbname=db password = '{password}'",
    " postgresql://me:{password}@{host}/db",
)
urls = st.builds(
    lambda form, password, host, ending: form.format(password=password, host=host, ending=ending),
    st.sampled_from(FORMS),
    passwords,
    hosts,
    endings,
)


@pytest.fixture(autouse=True, scope="module")
def worst_driver(tmp_path_factory):
    """A driver that connects nowhere, and repeats what it was given."""

    def connect(conninfo, **options):
        fields = psycopg.conninfo.conninfo_to_dict(conninfo)
        raise psycopg.OperationalError(f"cannot connect to {conninfo} ({fields}, {options})")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", connect)
        patch.chdir(tmp_path_factory.mktemp("here"))
        yield


@given(urls)
def test_no_error_of_opening_a_journal_repeats_a_password(url):
    with pytest.raises(TakebackError) as caught:
        open_journal(url)
    fault = caught.value
    said = [*traceback.format_exception(fault), repr(fault), fault.message, str(getattr(fault, "hint", ""))]
    assert_kept("\n".join(said).replace(repr(url), ""))


@given(urls)
def test_shown_and_stored_urls_contain_no_password(url):
    assert_kept(redact_url(url))
    with suppress(JournalError):
        place = read_url(url)
        assert_kept(place.shown)
        if WORD not in place.name:  # what follows the last '#' is the journal's name
            assert_kept(strip_password(url))


@settings(max_examples=30)
@given(urls, st.booleans())
def test_creating_or_opening_a_workspace_repeats_no_password(url, secret):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "agent"
        said = [attempted(lambda: init_workspace(root, journal=url, secret=secret))]
        init_workspace(root)
        said.append(attempted(lambda: init_workspace(root, journal=url, secret=True)))
        said.append(attempted(lambda: open_workspace(root, journal=url)))
        said += [finding.detail for finding in examine_workspace(root, journal=url)]
        assert_kept("\n".join(said))
        written = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
        assert not any(WORD.encode() in content for content in written)


@settings(max_examples=30)
@given(urls, st.sampled_from(["init", "status", "log", "doctor", "torture"]), st.booleans())
def test_no_command_repeats_a_password(url, command, as_json):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "agent"
        root.mkdir()
        if command not in {"init", "torture"}:
            init_workspace(root)
        where = {"init": [str(root)], "torture": ["--kills", "1"]}.get(command, ["--dir", str(root)])
        asked = [command, *where, f"--journal={url}", *(["--json"] if as_json and command != "init" else [])]
        result = CliRunner().invoke(app, asked)
        assert result.exit_code != 0
        assert_kept(result.output + result.stderr)
        assert_kept(repr(result.exception) + "\n".join(traceback.format_exception(result.exception)))


def attempted(action):
    """All that is said when something fails."""
    try:
        action()
    except TakebackError as fault:
        return "\n".join([*traceback.format_exception(fault), repr(fault), fault.message])
    return ""


def assert_kept(said):
    """Nothing of the password is in what is said."""
    assert WORD not in said, said
