"""Which files of a project are tracked: what git would track, less and more by `[track]` of the manifest.

New names are asked about once, through git's own `check-ignore`; there is no matcher of ignore files here. Without
git a short list of folders is left out. Secrets are known by their names: seen, not kept. Folders of version
control and of Takeback, other devices and whatever a link leads to are never looked into.
"""

from __future__ import annotations

import re

from takeback.track.git import GitFailedError, Repository

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

NEVER = frozenset({".git", ".takeback"})
TEMPORARY = ".takeback-tmp-"
"""How the names of our own temporaries begin."""
DEFAULTS = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".jj",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".next",
        ".nuxt",
        ".gradle",
        "target",
    ]
)
"""Folders that are left out where no repository says what is a source."""
MAX_BYTES = 8 << 20
KEEP_DAYS = 30
KEEP_BYTES = 1 << 30
DEFAULT_SETTINGS: Mapping[str, Any] = {
    "include": [],
    "exclude": [],
    "max_bytes": MAX_BYTES,
    "secrets": "see",
    "nested": [],
    "keep_days": KEEP_DAYS,
    "keep_bytes": KEEP_BYTES,
    "trust": "stat",
}
_SECRETS = re.compile(
    r"\.env(\..+)?|.+\.env|.+\.(pem|key|p12|pfx|jks|keystore)|id_(rsa|ed25519|ecdsa|dsa).*|\.netrc|_netrc|\.npmrc"
    r"|\.pypirc|\.pgpass|\.git-credentials|credentials.*",
    re.IGNORECASE,
)
_PATTERNS_FOR_PEOPLE = re.compile(
    r"\.env\..*(example|sample|template|dist|defaults?)|.+\.pub|credentials.*\.(py|js|ts|go|rs|java|md)", re.I
)
UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_SIZE = re.compile(r"(\d{1,15})\s*([a-zA-Z]*)")
UNKNOWN = "git does not say whether they are ignored"


def read_settings(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in the table `track` of a manifest; `ValueError` says what is wrong with it."""
    settings = dict(DEFAULT_SETTINGS)
    for name, value in table.items():
        if name not in DEFAULT_SETTINGS:
            raise ValueError(f"track.{name}: found a key that is not known, expected {', '.join(DEFAULT_SETTINGS)}")
        settings[name] = _read_setting(name, value)
    return settings


def _read_setting(name: str, value: Any) -> Any:
    if name in {"include", "exclude", "nested"}:
        if isinstance(value, list) and all(isinstance(item, str) and item.strip("/") for item in value):
            return value
        raise ValueError(f"track.{name}: found {value!r}, expected a list of paths or patterns")
    if name in {"max_bytes", "keep_bytes"}:
        size = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if size is not None and size[2].lower() in UNITS:
            return int(size[1]) * UNITS[size[2].lower()]
        if type(value) is int and value > 0:
            return value
        raise ValueError(f'track.{name}: found {value!r}, expected a number of bytes, or a text such as "8 MiB"')
    if name == "keep_days":
        if type(value) is int and value > 0:
            return value
        raise ValueError(f"track.{name}: found {value!r}, expected a number of days")
    choices = {"secrets": ("see", "keep"), "trust": ("stat", "content")}[name]
    if value in choices:
        return value
    raise ValueError(f"track.{name}: found {value!r}, expected one of {', '.join(choices)}")


def is_secret_name(name: str) -> bool:
    """Return whether a file of this name holds secrets, as a rule."""
    return _SECRETS.fullmatch(name) is not None and _PATTERNS_FOR_PEOPLE.fullmatch(name) is None


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return what matches the paths that a pattern means; without a slash it is a name in any folder."""
    text = pattern.strip("/")
    regex = "" if "/" in text or pattern.startswith("/") else "(?:.*/)?"
    at = 0
    while at < len(text):
        if text.startswith("**/", at):
            regex, at = f"{regex}(?:.*/)?", at + 3
        elif text.startswith("**", at):
            regex, at = f"{regex}.*", at + 2
        elif text[at] == "*":
            regex, at = f"{regex}[^/]*", at + 1
        elif text[at] == "?":
            regex, at = f"{regex}[^/]", at + 1
        else:
            regex, at = regex + re.escape(text[at]), at + 1
    return re.compile(f"{regex}(?:/.*)?", re.DOTALL)


class Matcher:
    """Some patterns, compiled when first asked."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._compiled: list[re.Pattern[str]] | None = None

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def has(self, path: str) -> bool:
        """Return whether one of the patterns means the path, or a folder above it."""
        if self._compiled is None:
            self._compiled = [compile_pattern(pattern) for pattern in self._patterns]
        return any(regex.fullmatch(path) for regex in self._compiled)

    def may_be_below(self, folder: str) -> bool:
        """Return whether something below a folder may be meant, so that the folder has to be looked into."""
        for pattern in self._patterns:
            text = pattern.strip("/")
            if "/" in text:
                start = re.split(r"[*?]", text, maxsplit=1)[0]
                if f"{start}/".startswith(f"{folder}/") or (start != text and f"{folder}/".startswith(start)):
                    return True
        return False


class Rules:
    """What is tracked in one project, as its manifest and its repository say."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        repository: Repository,
        owned: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> None:
        self.settings = {**DEFAULT_SETTINGS, **settings}
        self.repository = repository
        self.max_bytes = int(self.settings["max_bytes"])
        self.keeps_secrets = self.settings["secrets"] == "keep"
        self.nested = frozenset(str(setting).strip("/") for setting in self.settings["nested"])
        self._include = Matcher(self.settings["include"])
        self._exclude = Matcher(self.settings["exclude"])
        self._owned = frozenset(owned[0])
        self._owned_patterns = Matcher(owned[1])
        self._owned_folders = {folder for path in owned[0] for folder in _list_folders_above(path)}

    def is_owned(self, path: str) -> bool:
        """Return whether a file belongs to a client's adapter, which records it in its own way."""
        return path in self._owned or (bool(self._owned_patterns) and self._owned_patterns.has(path))

    def choose(self, fresh: Iterable[tuple[str, bool]]) -> tuple[set[str], set[str], str]:
        """Return which of some new names are tracked, which of them are secrets, and why nobody could say.

        A name is a path and whether it is a folder. A folder that is tracked is looked into. Where git fails, names
        that are not surely tracked are left for the next look.
        """
        wanted: set[str] = set()
        asked: list[tuple[str, bool]] = []
        for path, is_folder in fresh:
            name = path.rpartition("/")[2]
            if name in NEVER or name.startswith(TEMPORARY):
                continue
            if not is_folder and self.is_owned(path):
                wanted.add(path)
            elif self._exclude and self._exclude.has(path):
                if is_folder and self._must_enter(path):
                    wanted.add(path)
            elif (self._include and self._include.has(path)) or (
                not is_folder and (name == ".gitignore" or is_secret_name(name))
            ):
                wanted.add(path)
            else:
                asked.append((path, is_folder))
        why = self._ask(asked, wanted)
        named = [path for path in wanted if is_secret_name(path.rpartition("/")[2]) and not self.is_owned(path)]
        return wanted, self._find_untracked(named) if named else set(), why

    def _ask(self, asked: list[tuple[str, bool]], wanted: set[str]) -> str:
        """Add what is not ignored to the wanted; return why it could not be found out."""
        if not self.repository.there:
            left_out = [path for path in asked if _is_left_out(*path)]
            asked = [path for path in asked if not _is_left_out(*path)]
            wanted.update(path for path, is_folder in left_out if is_folder and self._must_enter(path))
        if not asked:
            return ""
        try:
            ignored = self.repository.list_ignored([f"{path}/" if is_folder else path for path, is_folder in asked])
        except GitFailedError as fault:
            if self.repository.there:
                return f"{UNKNOWN} ({fault})"
            ignored = set()
        for path, is_folder in asked:
            if (f"{path}/" if is_folder else path) not in ignored or (is_folder and self._must_enter(path)):
                wanted.add(path)
        return ""

    def _must_enter(self, folder: str) -> bool:
        """Return whether a folder that is left out has to be looked into for something that is not."""
        return (
            folder in self._owned_folders
            or self._include.may_be_below(folder)
            or self._owned_patterns.may_be_below(folder)
        )

    def _find_untracked(self, paths: list[str]) -> set[str]:
        """Return the files that git does not have: of secrets only those that nobody else has either."""
        try:
            return set(paths) - self.repository.list_tracked(paths)
        except GitFailedError:
            return set(paths)


def _is_left_out(path: str, is_folder: bool) -> bool:
    """Return whether a name is, or is below, a folder that is left out where no repository says otherwise."""
    steps = path.split("/")
    return not DEFAULTS.isdisjoint(steps if is_folder else steps[:-1])


def _list_folders_above(path: str) -> list[str]:
    steps = path.split("/")[:-1]
    return ["/".join(steps[:depth]) for depth in range(1, len(steps) + 1)]
