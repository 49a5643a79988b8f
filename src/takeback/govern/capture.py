"""What of the values a harness holds is kept in its journal: `[capture]` of the policy.

`redact` keeps a salted digest in place of what matches, `never` and `only` keep nothing of what is named, or of all
else. It is decided for every content that is about to be stored, whoever stores it. The bytes of files are the
exception: a change that is under way needs them, and they are forgotten when it has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from takeback.canonical import parse_strict
from takeback.errors import InputError
from takeback.harness.labels import Labels, require_pattern
from takeback.journal.content import FORGOTTEN, Leaf, Ref, make_redacted_ref
from takeback.secret_mask import Mask, find_setting
from takeback.state.slots import describe_slot, find_containing_slot, is_slot_key, parse_slot_key
from takeback.state.surface import find_kind

SECRETS: Final = "secrets"
"""The word in `redact` for whatever is masked in what people and agents are shown."""
NAMES: Final = {"redact", "only", "never", "irreversible"}
SHORTEST: Final = 4
"""Something that is not kept is looked for in what stands beside it from so many bytes on."""
_BESIDE: Final = frozenset({"evidence", "call", "reason"})
_IMAGES: Final = ("file ", "link ")


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """What a policy says of capturing."""

    secrets: bool = False
    redact: Labels | None = None
    only: Labels | None = None
    never: Labels | None = None
    irreversible: Literal["ask", "yes"] = "ask"
    """Whether a change of something that is not kept needs an approval."""

    def withhold(self, leaves: Sequence[Leaf]) -> None:
        """Say of contents that are about to be stored which are not: those get an id that stands for nothing."""
        gone: list[bytes] = []
        for leaf in leaves:
            leaf.ref = self.find_ref(leaf)
            if leaf.ref is not None and len(leaf.data.strip(b'"')) >= SHORTEST:
                gone.append(leaf.data.strip(b'"'))
        for leaf in leaves:
            if leaf.scope in _BESIDE and any(data in leaf.data for data in gone):
                leaf.ref = FORGOTTEN

    def find_ref(self, leaf: Leaf) -> Ref | None:
        """Return what stands for a content that is not stored; None if it is."""
        if leaf.scope == "standing" or leaf.scope.startswith(_IMAGES):
            return None
        address = _find_address(leaf.scope)
        if address:
            if self.never is not None and self.never.has_address(address):
                return FORGOTTEN
            if self.only is not None and not self.only.contains_address(address):
                return FORGOTTEN
            if self.redact is not None and self.redact.has_address(address):
                return make_redacted_ref(leaf.data)
        hidden = self.secrets and _holds_secret(leaf.data, find_setting(address))
        return make_redacted_ref(leaf.data) if hidden else None

    def is_line_apart(self, line: bytes) -> bool:
        """Tell whether a line of a text is stored apart from those around it, because it is not kept."""
        return self.secrets and _holds_secret(line, "")

    def has_match_in(self, data: bytes) -> bool:
        """Tell whether the bytes of a file hold what is redacted wherever it stands."""
        return self.secrets and _holds_secret(data, "")


def read_capture(where: str, raw: Any) -> CaptureRules | None:
    """Return what `[capture]` of a policy says; None if it says nothing. What is not understood is refused."""
    if not isinstance(raw, dict):
        raise InputError(where, found=repr(raw), expected="a table")
    for name in sorted(raw.keys() - NAMES):
        raise InputError(f"{where}.{name}", found="a name that is not known", expected=", ".join(sorted(NAMES)))
    redact = raw.get("redact", [])
    redact = [SECRETS] if redact is True else [] if redact is False else redact
    lists = {"redact": redact, "only": raw.get("only"), "never": raw.get("never")}
    secrets = isinstance(redact, list) and SECRETS in redact
    if secrets:
        lists["redact"] = [name for name in redact if name != SECRETS]
    patterns = {name: _read_patterns(f"{where}.{name}", value) for name, value in lists.items()}
    answer = raw.get("irreversible", "ask")
    if answer not in {"ask", "yes"}:
        raise InputError(f"{where}.irreversible", found=repr(answer), expected='"ask" or "yes"')
    rules = CaptureRules(secrets, patterns["redact"] or None, patterns["only"], patterns["never"] or None, answer)
    return None if rules == CaptureRules(irreversible=answer) else rules


def _read_patterns(where: str, raw: Any) -> Labels | None:
    if raw is None:
        return None
    if not isinstance(raw, list) or not all(isinstance(pattern, str) for pattern in raw):
        expected = 'a list of addresses in which * stands for anything: ["config[\\"env.*\\"]"]'
        raise InputError(where, found=repr(raw)[:80], expected=expected)
    labels = Labels()
    for pattern in raw:
        require_pattern(pattern, where)
        labels.add_pattern(pattern)
    return labels


def _find_address(scope: str) -> str:
    """Return where a content stands: in its own slot, or in that of the operation whose value it is."""
    if scope.startswith("["):
        return describe_slot(find_containing_slot(parse_slot_key(scope))) if is_slot_key(scope) else ""
    word, _, rest = scope.partition(" ")
    kind = find_kind(word)
    if kind is None:
        return ""
    target = rest.rpartition(" ")[0]
    return kind.surface if target == "*" else f'{kind.surface}["{target}"]'


def _holds_secret(data: bytes, name: str) -> bool:
    """Tell whether a content holds what is masked where it is shown."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    try:
        value: Any = parse_strict(text)
    except (ValueError, RecursionError, InputError):
        value = text
    mask = Mask()
    mask.mask(value, name)
    return mask.used
