"""A program that writes to the records of PostgreSQL and etcd all the time, as somebody else would; no code of ours.

It adds to the field `theirs`, and now and then writes a word of its own over `text`. Started as a process with the
places as JSON in its first argument; `pause` on standard input has it tell all that it wrote, `go` has it go on.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from base64 import b64decode, b64encode
from collections import Counter
from typing import Any, Final

PAUSE: Final = 0.02
"""Seconds between two writes."""
OVER: Final = 0.04
"""How often it writes over `text`, which changes of ours write, too."""


class Writer:
    """What was written so far: how often `theirs` was added to, and which words went over which."""

    def __init__(self, places: dict[str, Any]) -> None:
        self.places = places
        self.counts: Counter[str] = Counter()
        self.words: list[tuple[str, str, Any]] = []
        self.moving, self.ended = threading.Event(), threading.Event()
        self.moving.set()

    def write(self, number: int) -> None:
        """Write once to every place."""
        for place, where in self.places.items():
            name = random.choice(where["names"])
            key = f"{place}/{name}"
            word = f"theirs {number}" if random.random() < OVER else ""
            put = self._put_row if "postgres" in where else self._put_key
            over = put(where, name, word)
            if word:
                self.words.append((key, word, over))
            else:
                self.counts[key] += 1

    def _put_row(self, where: dict[str, Any], name: str, word: str) -> Any:
        at = where["connection"]
        if not word:
            at.execute("UPDATE memory SET theirs = theirs + 1 WHERE id = %s", (name,))
            return None
        with at.transaction():
            over = at.execute("SELECT text FROM memory WHERE id = %s FOR UPDATE", (name,)).fetchone()[0]
            at.execute("UPDATE memory SET text = %s WHERE id = %s", (word, name))
        return over

    def _put_key(self, where: dict[str, Any], name: str, word: str) -> Any:
        client, key = where["client"], b64encode(f"{where['prefix']}{name}".encode()).decode()
        while True:
            found = client.post("/v3/kv/range", json={"key": key}).json()["kvs"][0]
            body = json.loads(b64decode(found["value"]))
            changed = {**body, "text": word} if word else {**body, "theirs": body["theirs"] + 1}
            value = b64encode(json.dumps(changed).encode()).decode()
            compare = {"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": found["mod_revision"]}
            asked = {"compare": [compare], "success": [{"request_put": {"key": key, "value": value}}]}
            if client.post("/v3/kv/txn", json=asked).json().get("succeeded"):
                return body["text"]


def _listen(writer: Writer, asked: threading.Event) -> None:
    for line in sys.stdin:
        if line.strip() == "pause":
            asked.set()
        else:
            writer.moving.set()
    writer.ended.set()
    writer.moving.set()


def write_all_the_time(places: dict[str, Any]) -> None:
    """Write until standard input ends."""
    for where in places.values():
        if "postgres" in where:
            import psycopg  # noqa: PLC0415 - where it is bound only

            where["connection"] = psycopg.connect(where["postgres"], autocommit=True)
        else:
            import httpx  # noqa: PLC0415 - as above

            where["client"] = httpx.Client(base_url=where["base"], timeout=60)
    writer, asked = Writer(places), threading.Event()
    threading.Thread(target=_listen, args=(writer, asked), daemon=True).start()
    number = 0
    while not writer.ended.is_set():
        if asked.is_set():
            asked.clear()
            writer.moving.clear()
            sys.stdout.write(json.dumps({"counts": writer.counts, "words": writer.words}) + "\n")
            sys.stdout.flush()
            writer.moving.wait()
            continue
        number += 1
        writer.write(number)
        time.sleep(PAUSE)


if __name__ == "__main__":
    write_all_the_time(json.loads(sys.argv[1]))
