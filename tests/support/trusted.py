"""Trusts a directory, as a person does with `takeback trust` who knows where it comes from."""

from __future__ import annotations

from pathlib import Path

from takeback.adapters.opener import trust_workspace


def trust(root: Path) -> Path:
    """Trust the harness in a directory; returns the directory."""
    trust_workspace(root)
    return root
