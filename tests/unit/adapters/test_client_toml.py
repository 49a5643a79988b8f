"""TOML as clients have it: no null, and what JSON lacks is kept and can be put back."""

from __future__ import annotations

import pytest

from takeback.adapters.formats.toml_document import ClientTomlDocument
from takeback.errors import CannotSplice

TEXT = b'd = 1979-05-27 # day\nt = 07:32:00\nx = inf\ny = [ nan, 1 ]\nz = { when = 1979-05-27T07:32:00Z }\nk="v"\n'


def test_toml_values_without_json_form_are_read_and_kept():
    document = ClientTomlDocument(TEXT, "f")
    assert document.value["d"] == {"$toml": "1979-05-27"}
    assert document.value["x"] == {"$toml": "inf"}
    assert document.value["y"] == [{"$toml": "nan"}, 1]
    assert document.set(("k",), "w").data == TEXT.replace(b'"v"', b'"w"')
    assert document.remove(("y", 1)).data == TEXT.replace(b"nan, 1", b"nan")


def test_toml_values_without_json_form_are_written_and_restored():
    document = ClientTomlDocument(TEXT, "f")
    later = document.set(("d",), {"$toml": "1980-01-01"})
    assert later.data == TEXT.replace(b"1979-05-27 #", b"1980-01-01 #")
    assert later.set(("d",), {"$toml": "1979-05-27"}).data == TEXT
    gone = document.remove(("x",))
    assert gone.set(("x",), {"$toml": "inf"}).data.endswith(b'k="v"\nx = inf\n')


def test_a_new_pair_is_spaced_like_its_neighbours():
    document = ClientTomlDocument(b'[a]\nk="v"\nj="w"\n[b]\nt={x=1}\n', "f")
    assert document.set(("a", "n"), 1).set(("b", "t", "y"), 2).data == (
        b'[a]\nk="v"\nj="w"\nn=1\n[b]\nt={x=1, y=2}\n'
    )


@pytest.mark.parametrize(
    "value", [None, [None], {"a": {"b": None}}, {"$toml": "5"}, {"$toml": "1 # x"}, float("inf")]
)
def test_values_without_toml_form_are_refused(value):
    document = ClientTomlDocument(TEXT, "f")
    for edit in (lambda: document.set(("k",), value), lambda: document.insert(("y", 0), value)):
        with pytest.raises(CannotSplice):
            edit()


def test_a_first_hook_gets_tables_of_its_own():
    document = ClientTomlDocument(b"[features]\nx = 1\n", "f")
    hook = {"matcher": "^Bash$", "hooks": [{"type": "command", "command": "x"}]}
    after = document.insert(("hooks", "Pre", 0), hook)
    assert after.value["hooks"] == {"Pre": [hook]}
    assert after.data == document.data + (
        b'\n[[hooks.Pre]]\nmatcher = "^Bash$"\n[[hooks.Pre.hooks]]\ntype = "command"\ncommand = "x"\n'
    )
    assert after.remove(("hooks",)).data == document.data
    second = after.insert(("hooks", "Pre", 1), hook)
    assert second.value["hooks"] == {"Pre": [hook, hook]}
    assert second.remove(("hooks", "Pre", 1)).data == after.data
