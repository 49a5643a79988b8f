"""Records over HTTP: a URL each, read with GET, written with PUT and DELETE under If-Match and If-None-Match.

The server's ETag names the version. A server without one is read and compared right before the write, which guards
nothing: a probe says so. Fields that are not declared are sent back as they came. Redirects are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from takeback.adapters.bindings.protocol import SECONDS, Binding, Seen, Swap
from takeback.canonical import encode, parse
from takeback.errors import InputError, UnreachableError

GONE = frozenset({404, 410})
REFUSED = frozenset({409, 412})
LARGEST = 16 << 20


class HttpBinding(Binding):
    """Records below one URL."""

    settings: Mapping[str, type] = {
        "base": str,
        "base_env": str,
        "token_env": str,
        "authorization_env": str,
        "wrap": str,
        "format": str,
        "content_type": str,
        "suffix": str,
    }

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name, given)
        if ("base" in given) == ("base_env" in given):
            raise InputError(f"bindings.{name}.base", found="both or none", expected="one of base and base_env")
        if given.get("format", "json") not in {"json", "text"}:
            raise InputError(f"bindings.{name}.format", found=given["format"], expected='"json" or "text"')
        self._text = given.get("format") == "text"

    @property
    def base(self) -> str:
        """The URL below which the records are."""
        base = str(self.given["base"]) if "base" in self.given else self.read_variable("base_env")
        return base if base.endswith("/") else f"{base}/"

    @property
    def system(self) -> str:
        url = httpx.URL(self.base)
        return f"http {url.host}:{url.port}"

    @property
    def client(self) -> httpx.Client:
        """The connection, made when it is first needed."""
        if self._connection is None:
            headers = {}
            if "token_env" in self.given:
                headers["authorization"] = f"Bearer {self.read_variable('token_env')}"
            if "authorization_env" in self.given:
                headers["authorization"] = self.read_variable("authorization_env")
            with self.reach():
                self._connection = httpx.Client(headers=headers, timeout=SECONDS, follow_redirects=False)
        client: httpx.Client = self._connection
        return client

    def _ask(self, method: str, name: str, **how: Any) -> httpx.Response:
        url = f"{self.base}{quote(name, safe='')}{self.given.get('suffix', '')}" if name else self.base
        with self.reach():
            return self.client.request(method, url, **how)

    def _require_well(self, answer: httpx.Response, name: str, fine: frozenset[int] = frozenset()) -> None:
        if not answer.is_success and answer.status_code not in fine:
            lines = self.mask(answer.text[:200]).strip().splitlines()
            raise UnreachableError(
                f"the server of {self.name} answered {answer.status_code} to {answer.request.method} of {name}"
                f"{': ' + lines[0] if lines else ''}",
                hint=f"see that [bindings.{self.name}] is right and that its token may do this",
            )

    def look(self, name: str) -> Seen | None:
        """Return a record and its ETag."""
        answer = self._ask("GET", name)
        if answer.status_code in GONE:
            return None
        self._require_well(answer, name)
        if len(answer.content) > LARGEST:
            raise UnreachableError(f"{self.name}/{name} is larger than {LARGEST} bytes")
        body = {"text": answer.text} if self._text else self._unwrap(answer, name)
        tag = answer.headers.get("etag", "")
        return Seen({key: item for key, item in body.items() if key not in self.volatile}, tag)

    def _unwrap(self, answer: httpx.Response, name: str) -> dict[str, Any]:
        body = parse(answer.text, f"{self.name}/{name}")
        for key in filter(None, [self.given.get("wrap")]):
            body = body.get(key) if isinstance(body, dict) else None
        return self.require_record(body, name)

    def swap(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> bool:
        """Put or delete a record if its ETag is the known one."""
        return self.swap_for_tag(name, known, body).made

    def swap_for_tag(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> Swap:
        """Put or delete a record, and return the ETag of the answer, if it has one."""
        if known is None:
            guard = {"if-none-match": "*"}
        elif known.tag and not known.tag.startswith("W/"):
            guard = {"if-match": known.tag}
        else:
            guard = {}
        if body is None:
            answer = self._ask("DELETE", name, headers=guard)
        else:
            content = str(body.get("text", "")) if self._text else encode(self._wrap(body))
            kind = self.given.get("content_type", "text/plain" if self._text else "application/json")
            answer = self._ask("PUT", name, content=content.encode(), headers={**guard, "content-type": kind})
        if answer.status_code in REFUSED or (known is not None and answer.status_code in GONE):
            return Swap(made=False)
        self._require_well(answer, name)
        return Swap(made=True, tag=answer.headers.get("etag", ""))

    def _wrap(self, body: dict[str, Any]) -> dict[str, Any]:
        return {self.given["wrap"]: body} if "wrap" in self.given else body

    def make_probe(self, number: int) -> dict[str, Any]:
        """Return the record of a probe; a text with the number in it."""
        if self._text:
            return {"text": str(self.given.get("probe", "{n}")).replace("{n}", str(number)).replace("\n", "\r\n")}
        return super().make_probe(number)

    def find_version(self) -> str:
        return str(self._ask("HEAD", "").headers.get("server", "unknown"))[:80]
