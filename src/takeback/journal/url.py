"""A journal's path or URL: what of it may be shown, what may be written down, what is a secret.

Only what is understood without doubt is ever repeated. A URL that can be read in two ways, because a password
holds a `/`, `@`, `#` or `?` that is not percent-encoded, is not shown at all, nor what the driver says about it.
What looks like a connection string but is no URL is not taken for a path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from takeback.errors import JournalError

ENCODE_HINT: Final = "percent-encode '/', '@', '#', '?' and ':' in names and passwords (%2F, %40, %23, %3F, %3A)"
BARE: Final = "takeback"
"""The schema of the journal without a name; others are `takeback_<name>`."""
NAME: Final = re.compile(r"[a-z0-9_]{1,40}")
_SHOWN: Final = "postgresql://… (not shown: it may hold a password)"
_URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://(?:(?P<user>[^:/@?#]*)(?::(?P<password>[^/@?#]*))?@)?"
    r"(?P<hosts>[A-Za-z0-9._,%:\[\]-]*)(?:/(?P<database>[^/@?#]*))?(?:\?(?P<query>[^@#]*))?(?:#(?P<name>.*))?",
    re.DOTALL,
)
_NO_PATH = re.compile(
    r"\s*(?:postgres(?:ql)?:|(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslpassword)\s*=)",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?:[A-Za-z0-9._%-]+|\[[0-9A-Fa-f:.%]+\])?(?::\d{1,5})?")
_KEPT: Final = frozenset(
    {
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "sslmode",
        "sslcert",
        "sslkey",
        "sslrootcert",
        "sslcrl",
        "sslnegotiation",
        "gssencmode",
        "channel_binding",
        "target_session_attrs",
        "application_name",
        "connect_timeout",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "service",
        "load_balance_hosts",
        "client_encoding",
        "require_auth",
        "krbsrvname",
        "passfile",
    }
)
"""Parameters that hold no secret; any other is taken for one."""
_FIELD = re.compile(r"[A-Za-z0-9_./:~,%+ -]*")
_HARMLESS = re.compile(r"[A-Za-z0-9_./~,%+ -]*(?::\d{1,5})?[A-Za-z0-9_./~,%+ -]*(?:#[a-z0-9_]*)?")
"""What follows the scheme in a URL of another kind of store that has no room for a password."""


@dataclass(frozen=True, slots=True)
class JournalUrl:
    """A journal's URL, understood."""

    connect: str
    """What the driver is given."""
    shown: str
    """What may be shown: without any secret."""
    noted: str
    """What may be written down: without any secret, but with the journal's name."""
    name: str
    """The journal's name in the database; empty for the only one."""
    secrets: tuple[str, ...]
    """Every spelling of a secret that a message might repeat, longest first."""
    clear: bool
    """Whether it can be read in one way only."""
    bare: bool = False
    """Whether it holds no secret, so that a driver may repeat it."""


def read_url(url: str) -> JournalUrl:
    """Return the journal a URL stands for; one that is not clear can be connected to, but is never repeated."""
    connect, _, name = url.rpartition("#") if "#" in url else (url, "", "")
    if name and not NAME.fullmatch(name):
        raise JournalError(
            f"the journal's name after '#' in the URL ({_SHOWN}): expected lower-case letters, digits and _",
            hint=ENCODE_HINT,
        )
    match = _URL.fullmatch(url)
    items = [] if match is None or not match["query"] else match["query"].split("&")
    kept = [item for item in items if _holds_no_secret(item)]
    if match is None or match["name"] not in {None, name} or not _is_plain(match):
        return JournalUrl(connect, _SHOWN, _SHOWN, name, tuple(_list_spellings([url, connect])), clear=False)
    empty = ":" if match["password"] == "" else ""
    user = "" if match["user"] is None else f"{match['user']}{empty}@"
    query = f"?{'&'.join(kept)}" if kept else ""
    database = "" if match["database"] is None else f"/{match['database']}"
    noted = f"{match['scheme']}://{user}{match['hosts']}{database}{query}"
    cut = bool(items) and items[-1] not in kept  # what is taken for the name may be the rest of a secret
    ending = f"#{name}" if name else ""
    hidden = [text for item in items if item not in kept for text in (item, item.partition("=")[2])]
    secrets = tuple(_list_spellings([match["password"] or "", *hidden, url, connect]))
    shown = f"{noted}#…" if name and cut else f"{noted}{ending}"
    bare = not match["password"] and not hidden
    return JournalUrl(connect, shown, f"{noted}{ending}", name, secrets, clear=True, bare=bare)


def _is_plain(match: re.Match[str]) -> bool:
    hosts = match["hosts"].split(",")
    return all(_HOST.fullmatch(host) for host in hosts) and all(
        _FIELD.fullmatch(match[part] or "") for part in ("user", "database")
    )


def _holds_no_secret(item: str) -> bool:
    key, _, value = item.partition("=")
    return key in _KEPT and _FIELD.fullmatch(value) is not None


def _list_spellings(texts: list[str]) -> list[str]:
    every = {spelling for text in texts if text for spelling in (text, unquote(text))}
    return sorted(every, key=len, reverse=True)


def require_path_or_url(where: str) -> None:
    """Refuse a connection string that is neither a path nor a URL, without repeating it."""
    if "://" not in where and _NO_PATH.match(where):
        raise JournalError(
            "the journal is named by a connection string (not shown: it may hold a password), not a path or a URL",
            hint="write it as postgresql://user@host:port/database",
        )


def strip_password(where: str) -> str:
    """Return a journal's path or URL without its secrets; raise for one that is not clear."""
    require_path_or_url(where)
    scheme, url, rest = where.partition("://")
    if not url or scheme == "sqlite":
        return where
    place = read_url(where) if scheme in {"postgresql", "postgres"} else None
    if not (place.clear if place is not None else _HARMLESS.fullmatch(rest)):
        raise JournalError(
            "the journal's URL can be read in two ways (not shown: it may hold a password)", hint=ENCODE_HINT
        )
    return where if place is None else place.noted


def redact_url(where: str) -> str:
    """Return a journal's path or URL as it may be shown, whatever it is."""
    try:
        return read_url(where).shown if where.startswith(("postgresql://", "postgres://")) else strip_password(where)
    except JournalError:
        return "(not shown: it may hold a password)"
