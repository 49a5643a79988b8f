"""What a setting that no table knows looks like: something that runs, redirects, injects, allows or protects.

On the careful side: a name that only contains such a word counts, and so does a value that could be a command, an
address or the path of a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

LONGEST: Final = 4_096
"""So many characters of a value are looked at."""


def list_words(text: str) -> tuple[str, ...]:
    """Return the words of a text, between spaces."""
    return tuple(text.split())


RUNNING: Final = list_words(
    "command cmd helper exec script hook url uri endpoint proxy path env args argv bin shell loader plugin preload "
    "wrapper launch program interpreter module librar extension marketplace registr webhook callback server host "
    "socket address header credential auth cert refresh spawn provider mcp telemetry otlp"
)
"""What a name contains that may run a program, redirect traffic or inject environment."""
ALLOWING: Final = list_words(
    "allow bypass trust danger unsafe insecure skip yolo approv accept unrestricted grant disable ignore "
    "permission privilege elevat weaken noverify no_verify writable"
)
"""What a name contains whose value may widen permissions."""
PROTECTING: Final = list_words(
    "deny denied forbid block sandbox protect restrict guard require verify confirm secur exclude enforce isolat "
    "redact readonly read_only"
)
"""What a name contains whose value may be a protection."""
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PATH: Final = re.compile(r"\s*[\"']?(?:~|\.{1,2}|\$\{?\w+\}?|[A-Za-z]:)?[/\\][^\s/\\]")
_PROGRAM: Final = re.compile(
    r"\.(?:sh|bash|zsh|fish|py|js|mjs|cjs|ts|rb|pl|ps1|bat|cmd|exe|so|dylib|dll|jar|php|lua)(?:[\s\"']|$)",
    re.IGNORECASE,
)
_SHELL: Final = re.compile(r"\$\(|`|&&|\|\||(?<!\|)\|(?!\|)\s*\w|>>?\s*[/~.&]|;\s*[a-z]+ [-/.~$\"']")
_STARTS: Final = re.compile(
    r"\s*(?:(?:sudo|env|exec|eval|nohup|xargs)\s+\S|(?:ba|z|da|fi|k|c)?sh(?:\s|$)|(?:python|node|deno|bun|perl|ruby|"
    r"php|pwsh|powershell|osascript|lua)[\d.]*(?:\s|$)|(?:npx|uvx|uv|npm|pnpm|yarn|pip|docker|podman|curl|wget|nc|ncat|"
    r"ssh|scp|git|make|cargo|go|cat|echo|printf|rm|cp|mv|chmod|kill|open|cmd|touch|tee|dd|sed|awk)\s+\S)"
)


def has_name_like(path: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Return whether a path of names contains one of these words."""
    name = ".".join(path).lower()
    return any(word in name for word in words)


def can_be_a_program(value: Any) -> bool:
    """Return whether a value, or something in it, could be a command, an address or the path of a program."""
    return any(_is_program(text[:LONGEST]) for text in _list_texts(value)) or any(
        has_name_like((key,), RUNNING) for key in _list_keys(value)
    )


def _is_program(text: str) -> bool:
    return bool(
        _URL.search(text) or _PATH.match(text) or _PROGRAM.search(text) or _SHELL.search(text) or _STARTS.match(text)
    )


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _list_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_texts(item)


def _list_keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (str(key) for key in value)
        for item in value.values():
            yield from _list_keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_keys(item)
