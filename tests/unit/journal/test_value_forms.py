"""A value is found in the forms in which programs write it down, and nowhere else."""

from __future__ import annotations

import base64
import gzip
import json
import random
import zlib
from urllib.parse import quote, quote_plus

import pytest
import zstandard

from takeback.journal.search import MIN_DECODED, Forms

SECRET = "Zq7/screaming+värdet é 9"
RAW = SECRET.encode()

AROUND = [(b"", b""), (b'{"key": "', b'"}'), (b"abc=", b"\n"), (bytes(range(256)), b"\xff")]
FORMS = {
    "plain": RAW,
    "utf-16 le": SECRET.encode("utf-16-le"),
    "utf-16 be": SECRET.encode("utf-16-be"),
    "utf-16 with a mark": SECRET.encode("utf-16"),
    "utf-32 le": SECRET.encode("utf-32-le"),
    "hex": RAW.hex().encode(),
    "hex in capitals": RAW.hex().upper().encode(),
    "hex with colons": RAW.hex(":").encode(),
    "hex of utf-16": SECRET.encode("utf-16-le").hex().encode(),
    "percent": quote(SECRET, safe="").encode(),
    "percent in small letters": quote(SECRET, safe="").lower().encode().replace(b"zq7", b"Zq7"),
    "percent, every byte": "".join(f"%{byte:02X}" for byte in RAW).encode(),
    "percent with plus": quote_plus(SECRET).encode(),
    "JSON": json.dumps(SECRET).encode(),
    "JSON in JSON": json.dumps(json.dumps(SECRET)).encode(),
    "JSON with every character escaped": "".join(f"\\u{ord(c):04X}" for c in SECRET).encode(),
    "backslash x": "".join(f"\\x{byte:02x}" for byte in RAW).encode(),
    "base64": base64.b64encode(RAW),
    "base64, url-safe": base64.urlsafe_b64encode(RAW),
    "base64 without padding": base64.b64encode(RAW).rstrip(b"="),
    "base64 behind one byte": base64.b64encode(b"a" + RAW + b"b"),
    "base64 behind two bytes": base64.b64encode(b"ab" + RAW + b"c"),
    "base64 in lines": b"\\n".join(base64.b64encode(RAW)[at : at + 8] for at in range(0, 64, 8)),
    "base64 of utf-16": base64.b64encode(SECRET.encode("utf-16")),
    "base64 of base64": base64.b64encode(base64.b64encode(RAW)),
    "gzip": gzip.compress(b"before " + RAW + b" after"),
    "zlib": zlib.compress(RAW),
    "zstd": zstandard.ZstdCompressor().compress(RAW * 3),
    "gzip in base64": base64.b64encode(gzip.compress(RAW)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "around", [(b"", b""), (b'{"key": "', b'"}'), (b"abc=", b"\n"), (bytes(range(256)), b"\xff")]
)
def test_a_value_is_found_in_every_form(form, around):
    assert Forms(RAW).has_match_in(around[0] + FORMS[form] + around[1])


@pytest.mark.parametrize("seed", range(5))
def test_another_value_in_the_same_forms_does_not_match(seed):
    rng = random.Random(seed)
    other = bytes(rng.randrange(32, 127) for _ in range(4000))
    forms = (other, other.hex().encode(), base64.b64encode(other), gzip.compress(other), quote(other).encode())
    for data in forms:
        assert not Forms(b"hunter2").has_match_in(data)


def test_undecodable_bytes_are_found_too():
    value = b"\xff\xfe\x00binary\x01"
    for data in (value, value.hex().encode(), base64.b64encode(b"x" + value), zlib.compress(value)):
        assert Forms(value).has_match_in(data)


def test_a_short_value_is_not_searched_in_encoded_forms_and_says_so():
    short = Forms(b"ab12")
    assert short.has_match_in(b"xx ab12 yy")
    assert not short.has_match_in(b"ab12".hex().encode())
    assert any(f"fewer than {MIN_DECODED} bytes" in limit for limit in short.limits)
    assert not any("fewer than" in limit for limit in Forms(b"ab123").limits)
