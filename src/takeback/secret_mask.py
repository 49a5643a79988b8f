"""What looks like a secret: by the name of its setting, or by its shape.

`Mask` puts a placeholder in place of each secret, for both sides of a difference, and tells one secret from another.
References such as `${TOKEN}` are no secrets. Within `reveal_secrets` people are shown everything; agents never are.
`find_placeholder` finds a placeholder in what somebody sends back, so that it never becomes a value. Files are never
masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from takeback.canonical import encode
from takeback.secret_words import HINTS, SIGNS

PLACEHOLDER: Final = "[masked by takeback]"
ANY_PLACEHOLDER: Final = re.compile(r"\[masked by takeback(?:, value \d+)?\]")
_NAMES: Final = re.compile(
    r"(?i)(secret|passw(or)?d|passphrase|(api|access|private|signing|encryption|account)[-_]?key|credential"
    r"|authorization|bearer|cookie|(?<![a-z])(auth|pat|pwd)(?![a-z])|tokens?$|token[-_])"
)
_STRONG: Final = re.compile(r"(?i)secret|passw(or)?d|passphrase|(api|access|private|signing|encryption)[-_]?key")
"""Names under which a number is a secret too."""
_COUNTS: Final = re.compile(r"(?i)(max|limit|count|budget|num)[a-z_-]*tokens?|tokens?[-_]?(limit|count|budget|max)")
_REFERENCE: Final = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*|\{(env|file):[^}]*\}|\$env:[A-Za-z_]\w*|\$\([^)]*\)|%[A-Za-z_]\w*%|<[^<>]*>"
)
_SHAPES: Final = re.compile(
    r"""
      -----BEGIN[ A-Z0-9]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----.*?
      (-----END[ A-Z0-9]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----|\Z)
    | \bsk-(ant|proj|or|svcacct)-[A-Za-z0-9_-]{8,}
    | \b(sk|pk|rk)-(?=[A-Za-z_-]{0,64}\d)[A-Za-z0-9_-]{16,}
    | \b(sk|rk)_(live|test)_[A-Za-z0-9]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bgl(pat|dt|rt|soat)-[A-Za-z0-9_-]{16,}
    | \bxox[abeprs]-[A-Za-z0-9-]{10,} | \bxapp-\d-[A-Za-z0-9-]{10,}
    | (?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}
    | \b(AKIA|ASIA)[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{30,} | \bya29\.[0-9A-Za-z_-]{20,} | \bhf_[A-Za-z0-9]{20,}
    | \bnpm_[A-Za-z0-9]{30,} | \bpypi-AgE[A-Za-z0-9_-]{16,} | \bdop_v1_[a-f0-9]{32,}
    | \bshp(at|ca|pa|ss)_[a-fA-F0-9]{20,}
    | \bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,} | \bAGE-SECRET-KEY-1[A-Z0-9]{20,} | \bglsa_[A-Za-z0-9_]{20,}
    | \beyJ[A-Za-z0-9_-]{8,512}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+
    | (?i:(?<=\bbearer\ ))(?=[\w.~+/-]{0,200}(?:\d|[a-z][A-Z]))[A-Za-z0-9._~+/=-]{8,}
    | (?i:(?<=\bbasic\ ))(?=[\w+/]{0,200}(?:\d|[a-z][A-Z]|=))[A-Za-z0-9+/]{8,}={0,2}
    | (?<=://)[^\s/:@"'`<>]{0,200}:[^\s/@"'`<>]{1,400}(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)
_PAIR: Final = re.compile(
    r"""(?:(?<![\w.\\-])|(?<=\\[nt]))(["']?)([\w.-]{1,80})\1([ \t]{0,4}[:=][ \t]{0,4})"""
    r"""(?:(["'])((?:\\.|(?!\4)[^\\\n]){1,2000})\4|([^\s"'`,;$<{\[(#\\][^\s"'`,;#\\]{0,2000}))"""
)
"""A name and a value, as in JSON, TOML, YAML, code and files of environment variables."""
_FLAGGED: Final = re.compile(r"""(?<![\w-])(--?([\w-]{1,60})[ =])([^\s"'$<{\[(-][^\s"']{5,2000})""")
"""A flag of a command, and the word behind it."""
_BLANKS: Final = re.compile(r"(?i)[\[(<{«]*(redacted|masked|hidden|secret removed|forgotten)[\])>}»]*|[*•x…]{3,}")
"""Whole values that stand for something left out, here or elsewhere."""
_HINTS: Final = re.compile("|".join(HINTS), re.IGNORECASE)
_PLACES: Final = frozenset({"op_type", "target", "address", "part", "witness_key"})
"""Fields of operations and changes that say where something is."""
_SHORTEST: Final = 4
"""A secret with fewer characters is hidden only where it stands in quotes."""
_LONG: Final = 8
"""A bare value with fewer characters is no secret, whatever its name."""
_LEAST: Final = 100_000
"""A number with fewer digits is no secret."""
_revealing: Final[ContextVar[bool]] = ContextVar("takeback_revealing", default=False)


@contextmanager
def reveal_secrets(*, wanted: bool = True) -> Iterator[None]:
    """Show secrets to a person who asked for them, as long as this lasts."""
    before = _revealing.set(wanted)
    try:
        yield
    finally:
        _revealing.reset(before)


def is_revealing() -> bool:
    """Tell whether a person asked for secrets in clear."""
    return _revealing.get()


class Mask:
    """Puts placeholders in place of secrets, the same for the same secret; `used` tells whether it had to."""

    def __init__(self, *, numbered: bool = False) -> None:
        self._labels: dict[str, str] = {}
        self._numbered = numbered
        self.used = False

    def mask(self, value: Any, name: str = "") -> Any:
        """Return a JSON value without its secrets."""
        return self._mask(value, hidden=_is_secret_name(name), strong=_is_strong(name))

    def mask_text(self, text: str) -> str:
        """Return a text without what looks like a secret in it."""
        lowered = text.lower()
        if any(sign in lowered for sign in SIGNS):
            text = _SHAPES.sub(self._hide_shape, text)
        if _HINTS.search(text) is None:
            return text
        if ":" in text or "=" in text:
            text = _PAIR.sub(self._hide_pair, text)
        return _FLAGGED.sub(self._hide_flagged, text) if "-" in text else text

    def hide_known(self, value: Any, secrets: Mapping[str, None]) -> Any:
        """Return a JSON value without secrets that are known, wherever they stand; short ones only in quotes."""
        if isinstance(value, Mapping):
            return {key: self.hide_known(item, secrets) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.hide_known(item, secrets) for item in value]
        if not isinstance(value, str) or ANY_PLACEHOLDER.fullmatch(value):
            return value
        for secret in sorted(secrets, key=len, reverse=True):
            forms = (secret,) if len(secret) >= _LONG else (f'"{secret}"', f"'{secret}'")
            for form in forms if secret in value else ():
                value = value.replace(form, form.replace(secret, self._label(secret)))
        return value

    def hide(self, text: str, secrets: Mapping[str, None]) -> str:
        """Return a line without secrets that are known, and without what looks like one."""
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, self._label(secret)) if secret in text else text
            elif f'"{secret}"' in text:
                text = text.replace(f'"{secret}"', f'"{self._label(secret)}"')
        return self.mask_text(text)

    def _label(self, secret: str) -> str:
        if ANY_PLACEHOLDER.search(secret):
            return secret
        self.used = True
        if not self._numbered:
            return PLACEHOLDER
        number = len(self._labels) + 1
        label = PLACEHOLDER if number == 1 else f"[masked by takeback, value {number}]"
        return self._labels.setdefault(secret, label)

    def _hide_shape(self, match: re.Match[str]) -> str:
        secret = match[0]
        after_colon = secret.partition(":")[2]
        if match.string[match.start() - 3 : match.start()] == "://" and _REFERENCE.fullmatch(after_colon):
            return secret
        return self._label(secret)

    def _hide_pair(self, match: re.Match[str]) -> str:
        name, sign, quoted, bare = match[2], match[3], match[5], match[6]
        value = bare if quoted is None else quoted
        if not _is_value(value) or not _is_secret_name(name):
            return match[0]
        before = match[0][: len(match[0]) - len(value) - (quoted is not None)]
        if quoted is not None:
            hidden = len(value) >= _SHORTEST and " " not in value.strip()
        elif sign == "=" and name.isupper():
            hidden = not value.isdecimal()  # a variable of the environment
        else:
            hidden = len(value) >= _LONG and any(map(str.isdigit, value))
        return f"{before}{self._label(value)}{match[4] or ''}" if hidden else match[0]

    def _hide_flagged(self, match: re.Match[str]) -> str:
        if not _is_secret_name(match[2]) or not any(map(str.isdigit, match[3])) or not _is_value(match[3]):
            return match[0]
        return match[1] + self._label(match[3])

    def _mask(self, value: Any, *, hidden: bool, strong: bool = False) -> Any:
        if isinstance(value, Mapping):
            about = _find_operation_setting(value)
            is_named, telling = _is_secret_name(about), _is_strong(about)
            return {
                key: self._mask(
                    item,
                    hidden=hidden or _is_secret_name(str(key)) or (is_named and key not in _PLACES),
                    strong=strong or _is_strong(str(key)) or (telling and key not in _PLACES),
                )
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            before = ["", *value]
            return [
                self._mask(item, hidden=hidden or _is_secret_flag(last), strong=strong)
                for last, item in zip(before, value, strict=False)
            ]
        if isinstance(value, str):
            return self._label(value) if hidden and _is_value(value) else self.mask_text(value)
        if strong and hidden and type(value) is int and abs(value) >= _LEAST:
            return self._label(str(value))
        return value


def mask_secrets(value: Any, name: str = "") -> Any:
    """Return a JSON value without its secrets; `name` is the setting that holds it, if one does.

    Operations and changes are JSON too: what they say of a setting is hidden as the setting is.
    """
    return Mask().mask(value, name)


def mask_text_secrets(text: str) -> str:
    """Return a text without what looks like a secret in it."""
    return Mask().mask_text(text)


def find_placeholder(value: Any) -> str | None:
    """Return the first value that stands for something that was masked; None if there is none."""
    if isinstance(value, Mapping):
        placeholders = (find_placeholder(item) for pair in value.items() for item in pair)
    elif isinstance(value, list | tuple):
        placeholders = (find_placeholder(item) for item in value)
    elif isinstance(value, str) and (ANY_PLACEHOLDER.search(value) or _BLANKS.fullmatch(value.strip())):
        return value
    else:
        return None
    return next((placeholder for placeholder in placeholders if placeholder is not None), None)


def has_placeholder(value: Any) -> bool:
    """Tell whether a JSON value holds one of Takeback's own placeholders."""
    return bool(ANY_PLACEHOLDER.search(encode(value)))


def find_secrets(value: Any, name: str = "") -> dict[str, None]:
    """Return the texts in a JSON value that are hidden because of their setting's name, as lines show them."""
    secrets: dict[str, None] = {}
    _collect(value, secrets, hidden=_is_secret_name(name))
    return secrets


def find_blocks(text: str) -> dict[str, None]:
    """Return the lines of private keys in a text: one of them alone does not look like a secret."""
    if "-----BEGIN" not in text:
        return {}
    blocks = (match[0] for match in _SHAPES.finditer(text) if match[0].startswith("-----BEGIN"))
    return dict.fromkeys(line for block in blocks for line in block.splitlines() if len(line) >= _SHORTEST)


def _collect(value: Any, secrets: dict[str, None], *, hidden: bool) -> None:
    if isinstance(value, Mapping):
        is_named = _is_secret_name(_find_operation_setting(value))
        for key, item in value.items():
            _collect(item, secrets, hidden=hidden or _is_secret_name(str(key)) or (is_named and key not in _PLACES))
    elif isinstance(value, list | tuple):
        for last, item in zip(["", *value], value, strict=False):
            _collect(item, secrets, hidden=hidden or _is_secret_flag(last))
    elif hidden and isinstance(value, str) and _is_value(value):
        lines = (line for line in value.splitlines() if len(line) >= _SHORTEST)
        secrets.update(dict.fromkeys((value, encode(value)[1:-1], *lines)))


def _is_value(text: str) -> bool:
    return bool(text) and not _REFERENCE.fullmatch(text)


def _is_secret_flag(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and "=" not in word and _is_secret_name(word.lstrip("-"))


def find_setting(address: str) -> str:
    """Return the setting that an address is about; empty where it is about something else."""
    surface, _, key = address.partition('["')
    return key.rpartition('"]')[0] if surface == "config" else ""


def _find_operation_setting(value: Mapping[str, Any]) -> str:
    kind, target, address = value.get("op_type"), value.get("target"), value.get("address")
    if isinstance(kind, str) and isinstance(target, str):
        return target if "config" in kind else ""
    return find_setting(address) if isinstance(address, str) else ""


def _is_strong(name: str) -> bool:
    return any(_STRONG.search(step) for step in name.split("."))


def _is_secret_name(name: str) -> bool:
    spaced = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", step) for step in name.split(".")]
    return any(_NAMES.search(step) and not _COUNTS.search(step) for step in spaced)
