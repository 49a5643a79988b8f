"""Files that are part of a harness only because something brings them in: `@file`, `{file:…}`, lists of instructions.

Such a file is the project's before it is the harness's: when nothing brings it in any more, it is left where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from takeback.adapters.clients.client import Documents
from takeback.adapters.clients.finding import meant
from takeback.adapters.clients.layout import ClientLayout, beside


def brings_in(
    layout: ClientLayout, prompts: Mapping[str, str], documents: Iterable[tuple[Documents, Any]], path: str
) -> bool:
    """Whether some prompts, or some documents with these values, bring in the file at a path."""
    for key, text in prompts.items():
        place = layout.prompt_path(key) or key
        if key == path or layout.text_of(place) is not None:
            continue
        above = key.rpartition("/")[0]
        for member in layout.members:
            if any(meant(path, beside(above, one)) for one in member.client.imports(text)):
                return True
    for declared, value in documents:
        for member in layout.members:
            if declared not in member.client.documents:
                continue
            if any(meant(path, one.removeprefix("./")) for one in member.client.includes(value)):
                return True
    return False
