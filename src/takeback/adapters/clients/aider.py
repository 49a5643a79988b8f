"""Aider: `.aider.conf.yml`, every long option a key, and the files that its `read` names; YAML 1.1.

It does not start with an unknown key or a wrong type, and reads everything once. Model settings are a list, so that
the file is a text of lines here, as is `.aiderignore`.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types
from takeback.adapters.clients.client import Client, DocumentRule, Documents
from takeback.adapters.clients.yaml_files import open_yaml
from takeback.adapters.formats.json_document import JsonDocument

_CONF: Final = ".aider.conf.yml"
_TEXT: Final = (str,)
_TYPES: Final = {
    **dict.fromkeys(("model", "weak-model", "editor-model", "openai-api-base", "edit-format", "test-cmd"), _TEXT),
    **dict.fromkeys(("read", "file", "lint-cmd", "alias", "set-env", "api-key"), (list, str)),
    **dict.fromkeys(("auto-commits", "dirty-commits", "auto-test", "auto-lint", "yes-always"), (bool,)),
    "map-tokens": (int,),
    "load": _TEXT,
}
_RULES: Final = tuple(DocumentRule((key,), "model") for key in ("model", "weak-model", "editor-model"))


def _list_included(value: Any) -> tuple[str, ...]:
    listed = value.get("read", ()) if isinstance(value, dict) else ()
    names = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    return tuple(name for name in names if isinstance(name, str))


def aider(*, user: bool = False) -> Client:
    """Return the declaration of Aider; with `user`, of the files in the home directory."""
    documents = [Documents(_CONF, open_yaml, _RULES, fresh=b"", check=check_types(_TYPES))]
    if not user:
        documents.append(Documents(".aider.model.metadata.json", JsonDocument, (), "metadata"))
    return Client(
        "aider",
        (_CONF,) if user else (_CONF, ".aiderignore", ".aider.model.settings.yml"),
        tuple(documents),
        instructions=(".aider.model.settings.yml",)
        if user
        else ("CONVENTIONS.md", ".aider.model.settings.yml", ".aiderignore"),
        nested=False,
        includes=_list_included,
        user_folder="",
        user=user,
    )
