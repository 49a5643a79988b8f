"""Hermes: `config.yaml`, SOUL.md, skills and hooks of the user; `.hermes.md` or AGENTS.md in a project.

YAML 1.1. A broken config means the defaults in a new process: `approvals.deny` is gone. A shell hook is one
command, which the client asks about once.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills
from takeback.adapters.clients.yaml_files import open_yaml

_MODES: Final = ("manual", "smart", "off")
_RULES: Final = (
    DocumentRule(("_config_version",), "bookkeeping"),
    DocumentRule(("hooks",), "hooks"),
    DocumentRule(("mcp_servers",), "servers", "mcp:"),
    DocumentRule(("model",), "model"),
)
_TYPES: Final = {
    "model": (str, dict),
    "providers": (dict,),
    "fallback_providers": (list,),
    "approvals": (dict,),
    "approvals.deny": (list,),
    "command_allowlist": (list,),
    "hooks": (dict,),
    "mcp_servers": (dict,),
    "quick_commands": (dict,),
    "security": (dict,),
    "terminal": (dict,),
}
_EVENTS: Final = frozenset(
    {
        *("pre_tool_call", "post_tool_call", "pre_llm_call", "post_llm_call", "pre_verify"),
        *("on_session_start", "on_session_end", "on_session_finalize", "on_session_reset"),
        *("subagent_start", "subagent_stop", "pre_gateway_dispatch", "pre_api_request", "post_api_request"),
        *("transform_tool_result", "transform_llm_output", "transform_terminal_output"),
    }
)


def _check_values(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    approvals = value.get("approvals")
    mode = approvals.get("mode") if isinstance(approvals, dict) else None
    if mode not in {None, False, *_MODES}:  # `off` without quotes is false in YAML 1.1
        return f"approvals.mode is {mode!r}; known are {', '.join(_MODES)}"
    hooks = value.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            if not isinstance(group, dict) or not isinstance(group.get("command"), str):
                return f"a hook of {event} must have a command"
    return None


def hermes(*, user: bool = False) -> Client:
    """Return the declaration of Hermes; with `user`, of the user's own folder."""
    if not user:
        return Client(
            "hermes",
            (".hermes.md", "HERMES.md"),
            (),
            instructions=(".hermes.md", "HERMES.md", "AGENTS.md"),
            nested=False,
            user_folder=".hermes",
        )
    check = combine_checks(check_types(_TYPES), _check_values)
    return Client(
        "hermes",
        ("config.yaml", "SOUL.md"),
        (Documents("config.yaml", open_yaml, _RULES, fresh=b"", check=check, effects={"hooks": Effect.APPROVAL}),),
        skills=(Skills("skills"),),
        scripts=(Scripts("agent-hooks"), Scripts("hooks", effect=Effect.NEXT_SESSION)),
        instructions=("SOUL.md",),
        nested=False,
        events=_EVENTS,
        user_folder=".hermes",
        user=True,
    )
