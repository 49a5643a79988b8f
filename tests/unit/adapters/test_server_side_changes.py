"""After a write, what the server made of the value is told from what others wrote in the same moment."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.support.record_server import serve_records

pytest.importorskip("httpx")

from takeback.adapters.bindings.http import HttpBinding
from takeback.adapters.bindings.protocol import Binding, RecordChange, Seen, Swap
from takeback.errors import UnreachableError


class Kept(Binding):
    """Records in this process, made by `make` of what is given; `meanwhile` runs once, right after a swap."""

    def __init__(self, *, tagged, make=dict, verbatim=False):
        super().__init__("kept", {})
        self.records, self.versions, self.tagged, self.make = {}, {}, tagged, make
        self.keeps_verbatim = verbatim
        self.meanwhile = None

    @property
    def system(self):
        return "this process"

    def find_version(self):
        return "1"

    def look(self, name):
        body = self.records.get(name)
        return None if body is None else Seen(dict(body), str(self.versions[name]) if self.tagged else "")

    def store(self, name, body):
        self.versions[name] = self.versions.get(name, 0) + 1
        if body is None:
            self.records.pop(name, None)
        else:
            self.records[name] = self.make(body)

    def swap_for_tag(self, name, known, body):
        if self.look(name) != known:
            return Swap(made=False)
        self.store(name, body)
        tag = str(self.versions[name]) if self.tagged else ""
        step, self.meanwhile = self.meanwhile, None
        if step is not None:
            step()
        return Swap(made=True, tag=tag)

    def swap(self, name, known, body):
        return self.swap_for_tag(name, known, body).made


def shout(body):
    return {key: item.upper() if isinstance(item, str) else item for key, item in body.items()}


EDIT = RecordChange("r", {"text": "OLD"}, {"text": "ours"})


@pytest.mark.parametrize("how", [{"tagged": True}, {"tagged": False}, {"tagged": True, "verbatim": True}])
def test_a_write_by_others_right_after_ours_stays(how):
    binding = Kept(**how)
    binding.store("r", {"text": "OLD", "n": 1})
    binding.meanwhile = lambda: binding.store("r", {"text": "theirs", "n": 2})
    binding.put(EDIT)
    assert binding.records == {"r": {"text": "theirs", "n": 2}}


@pytest.mark.parametrize("tagged", [True, False])
def test_a_value_the_server_alters_is_reverted_and_refused(tagged):
    binding = Kept(tagged=tagged, make=shout)
    binding.store("r", {"text": "old", "n": 1})
    with pytest.raises(UnreachableError, match="made something else of text in r; it was put back"):
        binding.put(EDIT)
    assert binding.records == {"r": {"text": "OLD", "n": 1}}


@pytest.mark.parametrize("tagged", [True, False])
def test_a_new_record_the_server_extends_is_removed_and_refused(tagged):
    binding = Kept(tagged=tagged, make=lambda body: {**body, "made": 1})
    with pytest.raises(UnreachableError, match="added made in r; it was put back"):
        binding.put(RecordChange("r", None, {"text": "ours"}))
    assert binding.records == {}


@pytest.mark.parametrize("tagged", [True, False])
def test_a_new_record_others_write_to_stays(tagged):
    binding = Kept(tagged=tagged)
    binding.meanwhile = lambda: binding.store("r", {"text": "ours", "theirs": 1})
    binding.put(RecordChange("r", None, {"text": "ours"}))
    assert binding.records == {"r": {"text": "ours", "theirs": 1}}


def test_later_writes_by_others_are_not_reverted_with_an_altered_value(monkeypatch):
    binding = Kept(tagged=True, make=shout)
    binding.store("r", {"text": "old"})
    look = binding.look

    def look_and_let_others_write(name):
        seen = look(name)
        if seen is not None and seen.body == {"text": "OURS"}:
            binding.store(name, {"text": "theirs"})
        return seen

    monkeypatch.setattr(binding, "look", look_and_let_others_write)
    with pytest.raises(UnreachableError, match="others have written there since"):
        binding.put(EDIT)
    assert binding.records == {"r": {"text": "THEIRS"}}


def test_over_http_the_etag_tells_our_write_from_others(monkeypatch):
    with serve_records() as server, closing(HttpBinding("r", {"kind": "http", "base": server.base})) as binding:
        server.put("one", {"text": "OLD", "n": 1})
        swap = binding.swap_for_tag

        def swap_and_let_others_write(name, known, body):
            swapped = swap(name, known, body)
            server.put(name, {**server.get(name), "text": "theirs"})
            return swapped

        monkeypatch.setattr(binding, "swap_for_tag", swap_and_let_others_write)
        binding.put(RecordChange("one", {"text": "OLD"}, {"text": "ours"}))
        assert server.get("one") == {"text": "theirs", "n": 1}
