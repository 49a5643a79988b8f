"""Files of one's own, named in the manifest, as a client: they are read and written as clients' files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from takeback.adapters.clients.client import ANY, Client, DocumentRule, Documents, Effect
from takeback.adapters.formats.document import Document
from takeback.adapters.formats.json_document import Json5Document, JsoncDocument, JsonDocument
from takeback.adapters.manifest import TEXTS, OwnDocument, parse_part
from takeback.errors import InputError

NAME: Final = "documents"
_JSON: Final = b"{\n}\n"


def declare_documents(documents: Sequence[OwnDocument], beside: Sequence[Client], where: str) -> Client:
    """Return the declaration of some files; refuse those that a client beside them has already, or whose names."""
    for at, document in enumerate(documents):
        spot = f"{where}: documents.{at}"
        for client in beside:
            if document.path in {declared.path for declared in client.documents}:
                raise InputError(
                    f"{spot}.path",
                    found=f"{document.path}, which is a file of {client.name}",
                    expected="a file that no client of this directory has",
                    hint="remove the entry: the file is tracked already",
                )
            taken = {client.name, *(declared.scope for declared in client.documents if ANY not in declared.path)}
            if document.kind not in TEXTS and document.scope in taken:
                raise InputError(
                    f"{spot}.name",
                    found=f"{document.scope!r}, with which names of {client.name} begin",
                    expected="a name of its own",
                    hint=f'give {document.path} another one: name = "..."',
                )
    return Client(
        NAME,
        (),
        tuple(_declare(document) for document in documents if document.kind not in TEXTS),
        instructions=tuple(document.path for document in documents if document.kind in TEXTS),
        nested=False,
    )


def _declare(document: OwnDocument) -> Documents:
    texts = (DocumentRule(parse_part(part), "text", f"{document.scope}:{part}") for part in document.prompts)
    rules = (
        *(DocumentRule(parse_part(part), "bookkeeping") for part in document.ignore),
        *((DocumentRule(parse_part(document.tools), "servers"),) if document.tools else ()),
        *texts,
        *(DocumentRule(parse_part(part), "model") for part in document.routing),
        *(DocumentRule(parse_part(part), "ordered") for part in document.ordered),
    )
    effect = Effect(document.effect or Effect.NEXT_SESSION)
    opened, fresh = _find_format(document.kind)
    return Documents(document.path, opened, rules, document.scope, fresh=fresh, effect=effect)


def _find_format(kind: str) -> tuple[Callable[[bytes, str], Document], bytes]:
    """Return what opens a document, and the bytes of a new one."""
    match kind:
        case "json":
            return JsonDocument, _JSON
        case "jsonc":
            return JsoncDocument, _JSON
        case "json5":
            return Json5Document, _JSON
        case "toml":
            from takeback.adapters.formats.toml_document import ClientTomlDocument  # noqa: PLC0415 - start-up

            return ClientTomlDocument, b""
        case _:
            from takeback.adapters.formats.yaml_document import YamlDocument  # noqa: PLC0415 - start-up

            return YamlDocument, b""
