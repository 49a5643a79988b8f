"""The system drops a process's locks on a file when it closes the file anywhere: a journal is never looked at so.

Without its locks, another process that closes the journal takes itself for the last, and removes the log from under
whoever is still writing.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest

from takeback.errors import JournalError
from takeback.journal import Draft, examine_journal, make_leaf, open_journal
from takeback.journal.sqlite_copy import salvage_rows

OTHER = """
import sys
from takeback.journal import open_journal
store = open_journal(sys.argv[1], create=False)
print(store.head().seq)
store.close()
"""


def elsewhere(path):
    """The last record, as another process finds it that opens and closes the journal."""
    done = subprocess.run(
        [sys.executable, "-c", OTHER, path], capture_output=True, text=True, check=True, timeout=600
    )
    return int(done.stdout)


def forgetting(store, _):
    """Forget a content, which looks for copies in the file."""
    (record,) = store.append([Draft("apply", {}, {"after": make_leaf("secret" * 10, "x")})])
    store.forget([record.contents["after"]])


def opening_again(_, path):
    """Open and close the journal once more."""
    open_journal(path).close()


def examining(_, path):
    """Check the journal by its path."""
    assert examine_journal(path).whole


def salvaging(_, path):
    """Read what can be read from a copy."""
    assert list(salvage_rows(path))


def refusing(_, path):
    """Refuse to open it read-only with a layout it does not have."""
    with pytest.raises(JournalError):
        open_journal(path.with_name("missing.db"), create=False)
    open_journal(path, readonly=True).close()


@pytest.mark.parametrize("act", [forgetting, opening_again, examining, salvaging, refusing])
def test_no_action_in_a_process_releases_its_journal_locks(tmp_path, act):
    path = tmp_path / "journal.db"
    with closing(open_journal(path)) as store:
        store.append([Draft("genesis", {}, {"state": make_leaf({}, "state")})])
        act(store, path)
        elsewhere(path)
        (acknowledged,) = store.append([Draft("commit", {"entry": 1})])
        assert elsewhere(path) == acknowledged.seq
        assert store.check().whole
