"""Modules that are imported when they are first used."""

from __future__ import annotations

import sys

from takeback.lazy_names import LaterModule, load_later


def test_a_later_module_is_imported_when_something_of_it_is_used_and_then_stands_for_itself(monkeypatch):
    monkeypatch.delitem(sys.modules, "json.tool", raising=False)
    names: dict[str, object] = {}
    (names["tool"],) = load_later(names, "json", "tool")
    assert isinstance(names["tool"], LaterModule)
    assert "json.tool" not in sys.modules
    assert callable(names["tool"].main)
    assert names["tool"] is sys.modules["json.tool"]
