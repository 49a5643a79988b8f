"""A manifest is read by plain code, and explained by a model: both say the same of every manifest."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.adapters.manifest import _is_well_formed, read_manifest, require_valid, write_manifest
from takeback.errors import InputError

VALUES = (
    "",
    "x",
    "always",
    "never",
    0,
    1,
    2.5,
    True,
    False,
    [],
    ["x"],
    [1],
    ["x", None],
    {},
    {"x": "y"},
    {"x": 1},
    None,
)
KEYS = ("version", "id", "adapter", "journal", "kinds", "user", "ask_client", "other")


def is_accepted(raw: dict[str, Any]) -> bool:
    try:
        require_valid(raw, "takeback.toml")
    except InputError:
        return False
    return True


@pytest.mark.parametrize("key", KEYS)
def test_plain_code_and_model_accept_the_same_values_of_a_workspace(key):
    accepted = 0
    for value in VALUES:
        raw = {"workspace": {"id": "a", key: value}}
        assert _is_well_formed(raw) == is_accepted(raw), raw
        accepted += is_accepted(raw)
    assert accepted < len(VALUES)
    assert accepted or key == "other"


@pytest.mark.parametrize("key", ["workspace", "surfaces", "other"])
def test_plain_code_and_model_accept_the_same_tables(key):
    for value in VALUES:
        raw = {"workspace": {"id": "a"}, key: value}
        assert _is_well_formed(raw) == is_accepted(raw), raw
    assert not _is_well_formed({})
    assert not is_accepted({})


def test_a_written_manifest_reads_back_equal():
    text = (
        b'[workspace]\nid = "a"\nadapter = "clients"\nkinds = ["codex"]\nuser = true\n[surfaces]\nconfig = "c.toml"\n'
    )
    manifest = read_manifest(text, "takeback.toml")
    assert (manifest.workspace.kinds, manifest.workspace.user) == (["codex"], True)
    written = write_manifest(manifest)
    assert read_manifest(written, "takeback.toml") == manifest
    assert written.splitlines()[2].startswith(b"version")
