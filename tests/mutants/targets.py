"""What is mutated, and which tests should notice."""

from __future__ import annotations

from tests.mutants.running import Target

_VERIFY = (
    "tests/unit/verify",
    "tests/unit/lab/test_soundness.py",
    "--deselect=tests/unit/verify/test_proof.py::test_the_oracle_of_every_pair_of_operations_is_proved",
)
_OPINION = (
    "tests/unit/opinion/test_checker.py",
    "tests/unit/opinion/test_forged_certificates.py",
    "tests/unit/state/test_calls_surface.py",
    "--deselect=tests/unit/opinion/test_checker.py::test_certificates_of_all_tasks_are_accepted",
)
_UNDO = (
    "tests/unit/undo",
    "tests/unit/harness",
    "tests/laws/test_fetching_index.py",
    "tests/laws/test_undo.py",
    "--deselect=tests/laws/test_undo.py::test_a_broken_engine_is_caught",
)
_VIEW = (
    "tests/unit/undo",
    "tests/unit/harness",
    "tests/unit/journal/test_forgetting.py",
    "tests/unit/adapters/test_missing_surface.py",
)
_STORED = ("tests/unit/journal", "tests/conformance", "tests/unit/adapters")

TARGETS = (
    Target(
        "verify/proof",
        ("verify/proof.py", "verify/classes.py", "verify/classes.py", "verify/opaque_edits.py"),
        _VERIFY,
    ),
    Target(
        "verify (rest)",
        (
            "verify/decision.py",
            "verify/evidence.py",
            "verify/shrink.py",
            "verify/rules.py",
            "verify/rules.py",
            "verify/s[ahe]*.py",
            "verify/trip.py",
            "verify/verdict.py",
        ),
        (*_VERIFY, "tests/quality/test_minimal_counterexamples.py"),
    ),
    Target("opinion", ("opinion/checker.py", "opinion/interpreter.py"), _OPINION),
    Target("undo", ("undo/*.py",), _UNDO),
    Target("journal view", ("harness/ledger.py", "harness/file_history.py", "harness/records.py"), _VIEW),
    Target("journal", ("journal/*.py",), ("tests/unit/journal", "tests/conformance", "tests/unit/harness")),
    Target("harness (rest)", ("harness/*.py",), (*_UNDO, *_STORED)),
)
ASKED = {"verify/proof": 90, "undo": 90, "journal view": 90}
"""How many in 100 must be killed."""
