"""What an examination of a harness says of its files."""

from __future__ import annotations

from contextlib import closing

from tests.support.changes import candidate, config, file

from takeback.adapters import init_workspace, open_workspace
from takeback.harness.doctor import examine_harness


def test_the_doctor_reports_only_files_changed_by_hand(tmp_path):
    root = init_workspace(tmp_path / "agent")
    with closing(open_workspace(root, hold=False)) as harness:
        harness.apply(candidate(config("a", 1), file("f", "one")))
        found = {finding.check: finding for finding in examine_harness(harness)}
        assert [(found[name].good, found[name].detail) for name in ("drift", "leftovers")] == [
            (True, "no file differs from the journal"),
            (True, "none"),
        ]
        (root / "files" / "f").write_text("two")
        (drift,) = [finding for finding in examine_harness(harness) if finding.check == "drift"]
        assert not drift.good
        assert "was changed outside Takeback" in drift.detail
