"""What a binding is: a place in another system whose records are looked at and swapped under a condition.

A kind of binding is a class with `look` and `swap`, found through the entry point group `takeback.bindings`. Its
settings come from the manifest; a password or token only from the environment variable that they name, and it is
masked in everything the system says. Nothing is connected to before the first record is looked at.
"""

from __future__ import annotations

import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from takeback.adapters.variables import find_variable
from takeback.canonical import encode, sha256
from takeback.errors import ChangedMeanwhile, InputError, MissingExtraError, TakebackError, UnreachableError
from takeback.plugins import find_entry_points
from takeback.state import ABSENT

GROUP: Final = "takeback.bindings"
BUILT_IN: Final = {
    "sql": "takeback.adapters.bindings.sql:SqlBinding",
    "http": "takeback.adapters.bindings.http:HttpBinding",
    "etcd": "takeback.adapters.bindings.keyvalue:EtcdBinding",
    "redis": "takeback.adapters.bindings.keyvalue:RedisBinding",
}
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
COMMON: Final = {"kind": str, "fields": list, "volatile": list, "allow": str, "probe": str}
SECONDS: Final = 20.0
"""How long another system is waited for."""
TRIES: Final = 60
"""How often a field is written again where others write to the same record meanwhile."""
MASK: Final = "[masked by takeback]"
Fields = Mapping[str, Any] | None
"""Fields with what is in them, ABSENT for one that is not there; None where there is no record."""


class Seen(NamedTuple):
    """A record as it was seen: all that is in it, and what names this version of it."""

    body: dict[str, Any]
    tag: str


class Swap(NamedTuple):
    """What came of a swap: whether it was made, and what names the version that it made, if the system says so."""

    made: bool
    tag: str = ""


class RecordChange(NamedTuple):
    """What is done to one record: the fields that are known and what becomes of them; None stands for no record."""

    name: str
    known: Fields
    wanted: Fields


class Binding(ABC):
    """One declared place. A kind says which settings it takes, and looks at and swaps records."""

    settings: Mapping[str, type] = {}
    """The settings of this kind beside the common ones."""
    required: tuple[str, ...] = ()
    keeps_verbatim: bool = False
    """Whether the system keeps whatever it is given, so that only others can make something else of it."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        self.name = name
        self.given = dict(given)
        self.fields: tuple[str, ...] = tuple(given.get("fields", ()))
        self.volatile = frozenset(given.get("volatile", ()))
        self._secrets: set[str] = set()
        self._connection: Any = None
        """The connection of a kind that keeps one, which is closed with the binding."""

    @property
    @abstractmethod
    def system(self) -> str:
        """What system it is in: records of one system may be changed together."""

    @abstractmethod
    def look(self, name: str) -> Seen | None:
        """Return a record as it is now; None where there is none."""

    @abstractmethod
    def swap(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> bool:
        """Put a record, or remove it, if it still is what is known; return whether it was."""

    def swap_for_tag(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> Swap:
        """Swap a record, and return the tag of what was made where the system's answer names it."""
        return Swap(self.swap(name, known, body))

    @abstractmethod
    def find_version(self) -> str:
        """Return what the server says of itself."""

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()

    def require_record(self, body: Any, name: str) -> dict[str, Any]:
        """Return what a system holds, if it is a JSON object."""
        if not isinstance(body, dict):
            raise InputError(f"{self.name}/{name}", found="no JSON object", expected="a record")
        return body

    def make_probe(self, number: int) -> dict[str, Any]:
        """Return the record that a probe writes for a number."""
        given = self.given.get("probe")
        if given is not None:
            from takeback.canonical import parse  # noqa: PLC0415 - only for a probe

            filled: dict[str, Any] = parse(given.replace("{n}", str(number)), f"bindings.{self.name}.probe")
            return filled
        return {self.fields[0] if self.fields else "n": number}

    def make_probe_name(self, word: str) -> str:
        """Return a name for the record of a probe."""
        return f"takeback-probe-{word}"

    def is_visible(self, field: str) -> bool:
        """Tell whether a field is read at all."""
        return field not in self.volatile and (not self.fields or field in self.fields)

    def show(self, seen: Seen | None) -> dict[str, Any] | None:
        """Return what of a record is captured, compared and shown."""
        return None if seen is None else {name: item for name, item in seen.body.items() if self.is_visible(name)}

    def put_together(self, pairs: Sequence[tuple[Binding, RecordChange]]) -> Iterator[RecordChange]:
        """Make changes of one system, one by one; yield each as it is made."""
        for binding, change in pairs:
            binding.put(change)
            yield change

    def put(self, change: RecordChange) -> None:
        """Make one change if its fields are still what is known; other fields stay as others have them."""
        self.require_visible(change)
        for tried in range(TRIES):
            seen = self.look(change.name)
            if not is_as_known(self.show(seen), change.known, whole=change.wanted is None):
                raise ChangedMeanwhile(f"{self.name}/{change.name} was changed by someone else just now")
            swap = self.swap_for_tag(change.name, seen, fill_in(seen, change.wanted))
            if swap.made:
                self._require_kept(change, swap.tag)
                return
            time.sleep(min(0.001 * 2 ** min(tried, 6), 0.05))
        raise ChangedMeanwhile(f"{self.name}/{change.name} is written by others all the time")

    def require_visible(self, change: RecordChange) -> None:
        """Refuse to write a field that is not declared."""
        hidden = [name for name in change.wanted or () if not self.is_visible(name)]
        if hidden:
            expected = f"one of {', '.join(self.fields)}" if self.fields else "one that is not volatile"
            raise InputError(
                f"external[{self.name}/{change.name}]", found=f"the field {hidden[0]}", expected=expected
            )

    def _require_kept(self, change: RecordChange, tag: str) -> None:
        """Refuse what a server makes something else of: it would look like somebody's write for ever.

        What others wrote in the same moment stays: it is theirs, and the next look finds it.
        """
        wanted = change.wanted
        if wanted is None or self.keeps_verbatim:
            return
        seen = self.look(change.name)
        there = self.show(seen)
        wrong = [name for name in wanted if there is not None and not is_as_known(there, {name: wanted[name]})]
        added = [] if there is None or change.known is not None else [name for name in there if name not in wanted]
        if seen is None or there is None or not (wrong or added):
            return
        body = fill_in(None if change.known is None else seen, wanted)
        by_server = seen.tag == tag if tag and seen.tag else self._makes_the_same(seen, body, wrong, added)
        if not by_server:
            return
        verb = f"made something else of {', '.join(wrong)}" if wrong else f"added {', '.join(added)}"
        back = self.swap(change.name, seen, fill_in(seen, change.known))
        raise UnreachableError(
            f"the server of {self.name} {verb} in {change.name}; "
            + ("it was put back" if back else "others have written there since, and it stays as they have it"),
            hint=f"give the value as the server keeps it; name what it writes itself in [bindings.{self.name}] "
            "volatile",
        )

    def _makes_the_same(self, seen: Seen, body: Any, wrong: Sequence[str], added: Sequence[str]) -> bool:
        """Tell whether the server makes the same of a record of our own, where nobody else writes."""
        name = self.make_probe_name(secrets.token_hex(6))
        if not self.swap(name, None, body):
            return False
        aside = self.look(name)
        if aside is None:
            return False
        self.swap(name, aside, None)
        same = all(is_same(aside.body.get(field, ABSENT), seen.body.get(field, ABSENT)) for field in wrong)
        return same and all(field in aside.body for field in added)

    def read_variable(self, setting: str) -> str:
        """Return what the environment variable holds that a setting names; it is masked from then on."""
        variable = str(self.given[setting])
        value = find_variable(variable)
        if not value:
            raise UnreachableError(
                f"{self.name} cannot be reached: the environment variable {variable} is not set",
                hint=f"set {variable}, which [bindings.{self.name}] {setting} names",
            )
        self._secrets |= {value, *find_secrets(value)}
        return value

    def mask(self, text: str) -> str:
        """Return a text without what came from the environment."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text

    @contextmanager
    def reach(self) -> Iterator[None]:
        """Turn whatever a driver raises into an error of ours, without secrets."""
        try:
            yield
        except TakebackError:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever a driver raises
            lines = self.mask(str(getattr(fault, "orig", None) or fault)).strip().splitlines()
            said = f": {lines[0][:200]}" if lines else ""
            raise UnreachableError(
                f"{self.name} cannot be reached ({type(fault).__name__}{said})",
                hint=f"see that it runs and [bindings.{self.name}] is right; 'takeback probe {self.name}' asks it",
            ) from None


def find_secrets(url: str) -> set[str]:
    """Return the password in a URL, if it has one."""
    try:
        parts = urlsplit(url)
        return {word for word in (parts.password, parts.netloc.rpartition("@")[0]) if word}
    except ValueError:
        return set()


def is_as_known(record: Mapping[str, Any] | None, known: Fields, *, whole: bool = False) -> bool:
    """Tell whether a record is as known, as far as that goes; with `whole`, it has no other fields."""
    if record is None or known is None:
        return record is None and known is None
    if whole and not record.keys() <= known.keys():
        return False
    return all(is_same(record.get(name, ABSENT), item) for name, item in known.items())


def is_same(old: Any, new: Any) -> bool:
    """Compare two JSON values by type and value."""
    if old is ABSENT or new is ABSENT:
        return old is new
    return encode(old) == encode(new)


def fill_in(seen: Seen | None, wanted: Fields) -> dict[str, Any] | None:
    """Return a record with some fields as wanted, and all others as they were seen."""
    if wanted is None:
        return None
    body = {} if seen is None else dict(seen.body)
    for name, item in wanted.items():
        if item is ABSENT:
            body.pop(name, None)
        else:
            body[name] = item
    return body


def list_binding_kinds() -> tuple[str, ...]:
    """Return the kinds of bindings there are."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in find_entry_points(GROUP))}))


def _find_kind(kind: str, where: str) -> Callable[[str, Mapping[str, Any]], Binding]:
    try:
        if kind in BUILT_IN:
            module, _, attribute = BUILT_IN[kind].partition(":")
            binding_kind: Any = getattr(import_module(module), attribute)
            return binding_kind  # type: ignore[no-any-return]
        for point in find_entry_points(GROUP):
            if point.name == kind:
                return point.load()  # type: ignore[no-any-return]
    except ImportError as fault:
        raise MissingExtraError(
            f"{where}: a binding of kind {kind!r} needs {fault.name}", hint="pip install 'takeback[external]'"
        ) from None
    raise InputError(f"{where}.kind", found=kind, expected=f"one of {', '.join(list_binding_kinds())}")


def open_binding(name: str, given: Mapping[str, Any], where: str = "takeback.toml") -> Binding:
    """Return a declared binding, its settings checked; nothing is connected to yet."""
    spot = f"{where}: bindings.{name}"
    if not NAME.fullmatch(name):
        raise InputError(spot, found=name, expected="a name of letters, digits, - and _, up to 40")
    if type(given.get("kind")) is not str:
        raise InputError(
            f"{spot}.kind", found=given.get("kind"), expected=f"one of {', '.join(list_binding_kinds())}"
        )
    made: Any = _find_kind(given["kind"], spot)
    known = {**COMMON, **made.settings}
    for key, value in given.items():
        if key not in known:
            raise InputError(f"{spot}.{key}", found="such a key", expected=f"one of {', '.join(known)}")
        texts = value if isinstance(value, list) else [value]
        if type(value) is not known[key] or not all(type(text) is str and text for text in texts):
            raise InputError(
                f"{spot}.{key}", found=value, expected="a text" if known[key] is str else "a list of texts"
            )
        if key.endswith("_env") and not VARIABLE.fullmatch(value):
            raise InputError(f"{spot}.{key}", found="no such name", expected="the name of an environment variable")
        if key == "base" and find_secrets(value):
            raise InputError(f"{spot}.base", found="a URL with a password", expected="url_env or token_env, a name")
    missing = [key for key in made.required if key not in given]
    if missing:
        raise InputError(f"{spot}.{missing[0]}", found="nothing", expected="a value for it")
    if given.get("allow", "unguarded") != "unguarded":
        raise InputError(f"{spot}.allow", found=given["allow"], expected='"unguarded"')
    opened: Binding = made(name, given)
    return opened


def digest_settings(given: Mapping[str, Any]) -> str:
    """Return what tells that settings are those that were probed or trusted."""
    return sha256(encode(dict(given)))[:24]
