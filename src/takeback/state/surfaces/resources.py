"""Resources: sockets and other holdings by key. Live handles are kept apart, never in a state.

No two keys hold one address. `external` resources stand for addresses held by something outside the harness.
A recovery never opens what the forward run did not: it works on descriptors, the live harness on handles.
"""

from __future__ import annotations

import ipaddress
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from takeback.errors import InputError, OperationFailed
from takeback.state.keyed_surface import KeyedSurface, capture, make_drop_edit
from takeback.state.operation import Captured, Kind, Level, Operation, Requirement
from takeback.state.pmap import ABSENT, PMap
from takeback.state.surface import EXISTENCE, Component, Strategy, ValueEdit
from takeback.state.values import is_same_record, make_canonical_record, read_name, read_record, read_storable_text

_ADDRESS = re.compile(r"tcp://(\[::1\]|127(?:\.[0-9]{1,3}){3}):(0|[1-9][0-9]{0,4})")
_MAX_PORT = 65535


def allocate(value: PMap, op: Operation) -> tuple[PMap, str]:
    """Hold the address under the key, unless another key holds it; the receipt names the handle."""
    _require_free(value, op.path, op.value)
    return value.put(op.path, op.value), f"handle:{op.path}"


def free(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Let the key go; where it holds nothing, nothing happens."""
    return value.drop(op.path), None


def release(value: PMap, op: Operation, captured: Captured | None) -> PMap:
    """Let the key go; with a witness that had a descriptor, hold that again."""
    if captured is None or captured.content is ABSENT:
        return value.drop(op.path)
    _require_free(value, op.path, captured.content)
    return value.put(op.path, captured.content)


def _require_free(value: PMap, key: str, record: PMap) -> None:
    address = record["address"]
    if address.endswith(":0"):
        return
    for other, held in value.items():
        if held["address"] == address and other != key:
            raise OperationFailed(f"{address} is held by resource {other!r}")


_OTHERS = ("address of the others",)
_SCHEMA = {
    "type": "object",
    "properties": {"address": {"type": "string", "maxLength": 40, "pattern": "^tcp://127\\.0\\.0\\.1:[0-9]{1,5}$"}},
    "required": ["address"],
    "additionalProperties": False,
}


class ResourcesSurface(KeyedSurface):
    """Key → {kind, address, lifecycle}."""

    name = "resources"
    exclusive = True
    kinds = (
        Kind.capture("capture_socket", Level.L1, capture),
        Kind.forward("allocate_socket", Level.L1, allocate, verb="set", reads=_OTHERS, schema=_SCHEMA),
        Kind.recovery("release_socket", Level.L1, release, removes=True, reads=_OTHERS),
        Kind.forward("free_socket", Level.L2, free, verb="remove", value=Requirement.FORBIDDEN),
    )

    def read(self, raw: Any, where: str) -> PMap:
        value = super().read(raw, where)
        held: dict[str, str] = {}
        for key in value:
            address = value[key]["address"]
            if address in held and not address.endswith(":0"):
                raise InputError(
                    f"{where}[{key!r}]",
                    found=f"{address}, held by {held[address]!r} too",
                    expected="each address held once",
                )
            held[address] = key
        return value

    def content(self, key: str, raw: Any, where: str) -> PMap:
        if isinstance(raw, str):
            raw = {"address": raw}
        return read_record(
            raw,
            where,
            {
                "kind": (_read_kind, "socket"),
                "address": (_read_address, ABSENT),
                "lifecycle": (read_storable_text, "open"),
            },
        )

    def canonical_content(self, content: PMap) -> Any:
        return make_canonical_record(content)

    def equivalent(self, before: Any, after: Any) -> bool:
        return is_same_record(before, after)

    def sample(self, key: str, rng: random.Random) -> PMap:
        return _make_socket(f"tcp://127.0.0.1:{rng.randrange(20_000, 30_000)}")

    def extreme(self, key: str, rng: random.Random) -> PMap:
        return _make_socket(rng.choice(["tcp://127.0.0.1:0", f"tcp://127.0.0.1:{_MAX_PORT}"]))

    def generic(self, key: str, salt: str) -> PMap:
        return _make_socket("tcp://127.0.0.1:0", lifecycle=f"{salt}-{key}")

    def claim(self, content: Any) -> str | None:
        if content is ABSENT or content["address"].endswith(":0"):
            return None
        return str(content["address"])

    def clear(self, ops: Sequence[Operation]) -> list[dict[str, Any]]:
        """Let go of all touched keys first where several are touched: they may have swapped addresses."""
        keys = dict.fromkeys(op.target for op in ops)
        return [{"op_type": "release_socket", "target": key} for key in keys] if len(keys) > 1 else []

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        if strategy == Strategy.SOCKET_CONFLICT:
            value = _hold(value, f"external_{rng.randrange(10_000)}", f"tcp://127.0.0.1:{9100 + rng.randrange(100)}")
            for op in aims:
                if op.value is not ABSENT and rng.random() < 0.4:  # noqa: PLR2004  (often, not always)
                    value = _hold(value, f"external_{rng.randrange(10_000)}", op.value["address"])
        elif strategy in EXISTENCE:
            for op in aims:
                if op.value is not ABSENT and rng.random() < 0.3:  # noqa: PLR2004
                    value = _hold(value, op.path, op.value["address"], kind="socket")
                else:
                    value = self._vary_free(strategy, value, op.path, rng)
        else:
            value = super().perturb(strategy, value, aims, rng)
        return value

    def _vary_free(self, strategy: str, value: PMap, key: str, rng: random.Random) -> PMap:
        varied = self._vary(strategy, value, key, rng)
        record = varied.get(key, ABSENT)
        return value if record is not ABSENT and _find_holder(value.drop(key), record["address"]) else varied

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Return components: each named key holds an unnamed address of its own, nothing, or a named one.

        One key at a time: initial addresses are all different, so no conflict involves two of them (docs/proof.md).
        Something outside holds a named address, or nothing.
        """
        keys = sorted({op.path for op in ops})
        takers: dict[str, set[str]] = {}
        for op in ops:
            if op.value is not ABSENT:
                takers.setdefault(op.value["address"], set()).add(op.path)
        named = sorted(address for address in takers if not address.endswith(":0"))
        unnamed = (f"tcp://127.0.0.1:{port}" for port in range(20_001, 30_000))
        own = zip(keys, (address for address in unnamed if address not in takers), strict=False)
        components = [
            Component(
                f"{address} held outside",
                (_keep_value, _make_hold_edit(f"holder_{salt}", _make_socket(address, kind="external"))),
                concerns=_match_keys(takers[address]),
            )
            for address in named[:1]
        ]
        for key, address in own:
            held = _make_hold_edit(key, _make_socket(address, lifecycle=f"{salt}-{key}"))
            components.append(
                Component(str(self.address(key)), (held, make_drop_edit(key)), concerns=_match_keys({key}))
            )
        components += [
            Component(
                f"{self.address(key)} on {address}",
                (_keep_value, _make_hold_edit(key, _make_socket(address, lifecycle=f"{salt}-{key}"))),
                concerns=_match_keys({key, *takers[address]}),
            )
            for key in keys
            for address in named
        ]
        return tuple(components)


def _match_keys(keys: set[str]) -> Callable[[Operation], bool]:
    return lambda op: op.path in keys


def _keep_value(value: PMap) -> PMap:
    return value


def _make_hold_edit(key: str, record: PMap) -> ValueEdit:
    """Let the key hold an address, unless another one does: then it keeps what it has."""

    def edit(value: PMap) -> PMap:
        return value if _find_holder(value.drop(key), record["address"]) else value.put(key, record)

    return edit


def _make_socket(address: str, *, kind: str = "socket", lifecycle: str = "open") -> PMap:
    return PMap({"kind": kind, "address": address, "lifecycle": lifecycle})


def _find_holder(value: PMap, address: str) -> str | None:
    if address.endswith(":0"):
        return None
    return next((key for key in value if value[key]["address"] == address), None)


def _hold(value: PMap, key: str, address: str, *, kind: str = "external") -> PMap:
    if _find_holder(value.drop(key), address):
        return value
    return value.put(key, _make_socket(address, kind=kind))


def _read_kind(raw: Any, where: str) -> str:
    if raw not in ("socket", "external"):
        raise InputError(where, found=raw, expected="socket or external")
    return str(raw)


def _read_address(raw: Any, where: str) -> str:
    address = read_name(raw, where)
    match = _ADDRESS.fullmatch(address)
    expected = "a loopback address such as tcp://127.0.0.1:9101"
    if match is None or int(match[2]) > _MAX_PORT:
        raise InputError(where, found=raw, expected=expected)
    try:
        ipaddress.ip_address(match[1].strip("[]"))
    except ValueError:
        raise InputError(where, found=raw, expected=expected) from None
    return address
