"""LangGraph: `langgraph.json`, strict JSON that names Python to import. It raises for a comment, a trailing comma, a
byte-order mark or an empty file, and drops keys that it does not know.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types, combine_checks
from takeback.adapters.clients.client import Client, Documents
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_rules, make_switch_rules
from takeback.adapters.formats.json_document import MarklessJsonDocument

_TYPES: Final = {
    "python_version": (str,),
    "node_version": (str, int),
    "dependencies": (list,),
    "graphs": (dict,),
    "env": (str, dict),
    "auth": (dict,),
    "http": (dict,),
    "store": (dict,),
    "checkpointer": (dict,),
    "dockerfile_lines": (list,),
    "pip_config_file": (str,),
    "base_image": (str,),
}
RISKS: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "graphs.** auth.path http.app encryption.path dockerfile_lines dependencies base_image "
        "store.index.embed ui.**",
    ),
    **make_rules(Risk.REDIRECTS, "pip_config_file webhooks.** api_version"),
    **make_rules(Risk.INJECTS, "env env.**"),
    **make_switch_rules(
        True,
        {
            "auth.disable_studio_auth": "lets the studio in without asking who it is",
            "checkpointer.serde.pickle_fallback": "runs what stored data say",
        },
    ),
    **make_list_rules(
        Risk.GROWING,
        {
            "http.cors.allow_origins": "lets more sites in",
            "checkpointer.serde.allowed_msgpack_modules": "loads more code",
        },
    ),
    **make_rules(Risk.HARMLESS, "$schema python_version node_version store.ttl.** graphs.*.description"),
}


def _check_graphs(value: Any) -> str | None:
    graphs = value.get("graphs", {}) if isinstance(value, dict) else {}
    for name, graph in graphs.items() if isinstance(graphs, dict) else ():
        place = graph.get("path") if isinstance(graph, dict) else graph
        if not isinstance(place, str) or ":" not in place:
            return f"graphs.{name} must be a path and a name, such as ./graph.py:graph"
    return None


def langgraph(*, user: bool = False) -> Client:
    """Return the declaration of a LangGraph project; there are no files of the user's."""
    check = combine_checks(check_types(_TYPES), _check_graphs)
    return Client(
        "langgraph",
        () if user else ("langgraph.json",),
        () if user else (Documents("langgraph.json", MarklessJsonDocument, check=check),),
        instructions=() if user else ("AGENTS.md",),
        user=user,
        is_program=False,
        risks=RISKS,
    )
