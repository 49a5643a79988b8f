"""YAML files of clients, opened by a codec that is loaded with the first of them: most projects have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from takeback.adapters.formats.document import Document


def open_yaml(content: bytes, where: str) -> Document:
    """Open a document of YAML 1.1."""
    from takeback.adapters.formats.yaml_document import YamlDocument  # noqa: PLC0415 - start-up

    return YamlDocument(content, where)


def open_yaml_12(content: bytes, where: str) -> Document:
    """Open a document of YAML 1.2."""
    from takeback.adapters.formats.yaml_document import Yaml12Document  # noqa: PLC0415 - start-up

    return Yaml12Document(content, where)
