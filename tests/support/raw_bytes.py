"""Looking for a secret in raw files: as it is, as JSON writes it, in base64, and inside compressed frames."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path

import zstandard

FRAME = b"\x28\xb5\x2f\xfd"


def forms(secret: str) -> list[bytes]:
    raw = secret.encode()
    found = [raw, json.dumps(secret)[1:-1].encode(), secret.encode("utf-16-le")]
    found += [base64.b64encode(b"\0" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)]
    return [form for form in found if len(form) > 4]


def frames(raw: bytes):
    """What every compressed frame in some bytes holds, as far as it can be read."""
    at = raw.find(FRAME)
    while at >= 0:
        with suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().decompressobj().decompress(raw[at:])
        at = raw.find(FRAME, at + 1)


def files_holding(directory: Path, secret: str) -> list[str]:
    """Files anywhere below a directory in which a secret can be found."""
    found = []
    for path in sorted(path for path in Path(directory).rglob("*") if path.is_file()):
        raw = path.read_bytes()
        if any(form in text for text in (raw, *frames(raw)) for form in forms(secret)):
            found.append(path.name)
    return found
