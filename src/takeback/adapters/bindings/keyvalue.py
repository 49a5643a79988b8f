"""Records as JSON values of a key-value store: etcd over its HTTP gateway, Redis by a script.

etcd compares the revision in its own transaction. Redis has no versions: the value is the tag, compared and set in
one script; a key keeps the time it is to live.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from takeback.adapters.bindings.protocol import SECONDS, Binding, Seen
from takeback.canonical import encode, parse
from takeback.errors import InputError

SCRIPT: Final = (
    "local v=redis.call('GET',KEYS[1]); if (v or '')~=ARGV[1] or (v==false)~=(ARGV[2]=='0') then return 0 end; "
    "if ARGV[4]=='1' then redis.call('DEL',KEYS[1]) else redis.call('SET',KEYS[1],ARGV[3],'KEEPTTL') end; return 1"
)


def _read(binding: Binding, name: str, text: str) -> dict[str, Any]:
    return binding.require_record(parse(text, f"{binding.name}/{name}"), name)


class EtcdBinding(Binding):
    """Keys of etcd below a prefix."""

    settings: Mapping[str, type] = {"base": str, "prefix": str, "token_env": str}
    required = ("base", "prefix")
    keeps_verbatim = True

    @property
    def system(self) -> str:
        return f"etcd {self.given['base']}"

    def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.reach():
            if self._connection is None:
                import httpx  # noqa: PLC0415 - start-up

                token = {"authorization": self.read_variable("token_env")} if "token_env" in self.given else {}
                self._connection = httpx.Client(base_url=str(self.given["base"]), headers=token, timeout=SECONDS)
            answer = self._connection.post(path, json=body)
            answer.raise_for_status()
            said: dict[str, Any] = answer.json()
            return said

    def _key(self, name: str) -> str:
        return b64encode(f"{self.given['prefix']}{name}".encode()).decode()

    def look(self, name: str) -> Seen | None:
        """Return a key's value and its revision."""
        pairs = self._ask("/v3/kv/range", {"key": self._key(name)}).get("kvs")
        if not pairs:
            return None
        return Seen(_read(self, name, b64decode(pairs[0]["value"]).decode()), str(pairs[0]["mod_revision"]))

    def swap(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> bool:
        """Put or delete a key if its revision is the known one, in one transaction of etcd."""
        key = self._key(name)
        compare = {"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": known.tag if known else "0"}
        action: dict[str, Any] = {"request_delete_range": {"key": key}}
        if body is not None:
            action = {"request_put": {"key": key, "value": b64encode(encode(body).encode()).decode()}}
        return bool(self._ask("/v3/kv/txn", {"compare": [compare], "success": [action]}).get("succeeded"))

    def find_version(self) -> str:
        return f"etcd {self._ask('/v3/maintenance/status', {}).get('version', 'unknown')}"


class RedisBinding(Binding):
    """Keys of Redis below a prefix, with JSON in them."""

    settings: Mapping[str, type] = {"base": str, "url_env": str, "prefix": str}
    required = ("prefix",)
    keeps_verbatim = True

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name, given)
        if ("base" in given) == ("url_env" in given):
            raise InputError(f"bindings.{name}.base", found="both or none", expected="one of base and url_env")
        import redis  # noqa: PLC0415 - an extra

        self._redis = redis
        self._script: Any = None

    @property
    def url(self) -> str:
        """The server's URL."""
        return str(self.given["base"]) if "base" in self.given else self.read_variable("url_env")

    @property
    def system(self) -> str:
        from urllib.parse import urlsplit  # noqa: PLC0415 - start-up

        parts = urlsplit(self.url)
        return f"redis {parts.hostname}:{parts.port}{parts.path}"

    def _open(self) -> Any:
        if self._connection is None:
            self._connection = self._redis.Redis.from_url(
                self.url, decode_responses=True, socket_timeout=SECONDS, socket_connect_timeout=SECONDS
            )
            self._script = self._connection.register_script(SCRIPT)
        return self._connection

    def look(self, name: str) -> Seen | None:
        """Return a key's value, which is its own tag."""
        with self.reach():
            text = self._open().get(f"{self.given['prefix']}{name}")
            return None if text is None else Seen(_read(self, name, text), text)

    def swap(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> bool:
        """Put or delete a key if its value is the known one, by a script."""
        with self.reach():
            self._open()
            given = [known.tag if known else "", "1" if known else "0"]
            wanted = ["" if body is None else encode(body), "1" if body is None else "0"]
            return bool(self._script(keys=[f"{self.given['prefix']}{name}"], args=[*given, *wanted]))

    def find_version(self) -> str:
        with self.reach():
            return f"redis {self._open().info('server').get('redis_version', 'unknown')}"
