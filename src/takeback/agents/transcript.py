"""The last prompt of a conversation, read from the end of the transcript that a client keeps and names to its hooks.

Claude Code and Codex write a line of JSON for each message. A line that is none, or says something else, is skipped;
no more of the file is read than its end.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Final

LARGEST: Final = 1 << 20
"""So many bytes of the end are read."""
CHANGING: Final = "<"
"""How a message begins that the client wrote itself: of a command, or a reminder."""


def find_last_prompt(path: str) -> str:
    """Return what a person typed last; nothing where the file does not say."""
    for line in reversed(_read_end(path)):
        if b'"user' not in line and b'"UserMessage"' not in line:
            continue
        try:
            message = _read_message(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if message and not message.startswith(CHANGING):
            return message
    return ""


def _read_end(path: str) -> list[bytes]:
    """Return the last lines of an ordinary file."""
    if not os.path.isabs(path):
        return []
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
                return []
            file.seek(max(0, facts.st_size - LARGEST))
            return file.read(LARGEST).splitlines()
    except OSError:
        return []


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for anybody at the other end of it."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _read_message(raw: Any) -> str:
    """Return the text of a message that a person wrote; nothing of any other."""
    if not isinstance(raw, dict):
        return ""
    payload = raw.get("payload")
    if isinstance(payload, dict) and payload.get("type") == "item_completed":  # Codex
        item = payload.get("item")
        return (
            _join_texts(item.get("content")) if isinstance(item, dict) and item.get("type") == "UserMessage" else ""
        )
    message = raw.get("message")
    if raw.get("type") == "user" and isinstance(message, dict) and not raw.get("isMeta"):  # Claude Code
        return _join_texts(message.get("content"))
    return ""


def _join_texts(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
