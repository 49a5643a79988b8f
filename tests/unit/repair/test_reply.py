"""Each way a reply falls short of one JSON object has its own name."""

from __future__ import annotations

import pytest

from takeback.repair.attempt import Rejected, read_object
from takeback.repair.models import Reply
from takeback.repair.models.chat import TOO_LARGE


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```'])
def test_one_object_bare_or_in_one_fence_is_read(text: str) -> None:
    assert read_object(Reply(text, "stop")) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "finish", "shortfall"),
    [
        ("", "stop", "empty"),
        (" \n ", "stop", "empty"),
        ('{"a": [1, 2', "length", "truncated"),
        ('{"a": [1, 2', "stop", "malformed_json"),
        ('{"a": NaN}', "stop", "malformed_json"),
        ('{"a": 1, "a": 2}', "stop", "malformed_json"),
        ('{"a":' * 100_000, "stop", "malformed_json"),
        ("[1, 2]", "stop", "wrong_shape"),
        ('"text"', "stop", "wrong_shape"),
        ("7", "stop", "wrong_shape"),
        ('Here it is: {"a": 1}', "stop", "prose"),
        ('{"a": 1} I hope this helps.', "stop", "prose"),
        ('Sure!\n```json\n{"a": 1}\n```', "stop", "prose"),
        ("I cannot do that.", "stop", "prose"),
        ('{"a": 1}', TOO_LARGE, "too_large"),
    ],
)
def test_an_unusable_reply_is_classified(text: str, finish: str, shortfall: str) -> None:
    found = read_object(Reply(text, finish))
    assert isinstance(found, Rejected)
    assert found.shortfall == shortfall


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"a\\udc00": 1}'])
def test_half_a_surrogate_pair_in_a_reply_is_malformed(text: str) -> None:
    found = read_object(Reply(text, "stop"))
    assert isinstance(found, Rejected)
    assert found.shortfall == "malformed_json"
    found.detail.encode()
