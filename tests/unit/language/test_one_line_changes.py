"""One-line changes: what they mean on a state, how values are read, and what an error says."""

from __future__ import annotations

import pytest
from tests.support.ninth import Alarms

from takeback.errors import InputError
from takeback.language.oneline import OneLine, Typed, build_program, read_line
from takeback.repair import oracle
from takeback.runtime import run_forward
from takeback.state import State
from takeback.state.surface import register, unregister
from takeback.verify import Grade, verify

STATE = {
    "config": {"permissions": {"allow": ["Bash(ls)", "Read"], "twice": ["a", "b", "a"]}, "limit": 5, "odd+": 1},
    "prompts": {
        "CLAUDE.md": "# Rules\nBe brief.\nUse tabs.\nBe brief.\n",
        "agents/reviewer": "Look twice.",
        "windows": "one\r\ntwo\r\n",
    },
    "routing": {"default": "large-1"},
    "tools": {"mcp:github": {"description": "hub", "implementation": "x"}},
    "middleware": [{"id": "auth", "handler": "h"}, {"id": "log", "handler": "l"}],
    "listeners": {"PreToolUse": [{"id": "guard", "handler": "g"}, {"id": "audit", "handler": "a"}]},
    "files": {"hooks/guard.sh": {"content": "#!/bin/sh\nexit 0\n", "mode": "0755"}},
}


def meant(text):
    """The one operation that a line means."""
    (op,) = build_program(read_line(text), State.read(STATE))
    return op.to_json()


def refused(text):
    with pytest.raises(InputError) as told:
        meant(text)
    return told.value


@pytest.mark.parametrize(
    ("text", "op_type", "target", "value"),
    [
        ("set config limit 7", "set_config", "limit", 7),
        ("set config name plain text", None, None, None),
        ("set config name 'plain text'", "set_config", "name", "plain text"),
        ("set config on true", "set_config", "on", True),
        ("set config on --text true", "set_config", "on", "true"),
        ("set config m '{\"a\": [1]}'", "set_config", "m", {"a": [1]}),
        ("set config version --text 1.10", "set_config", "version", "1.10"),
        ("set config low --json -1", "set_config", "low", -1),
        ("set config low -- -1", "set_config", "low", -1),
        (
            "set config permissions.allow+ 'Bash(npm test:*)'",
            "append_config",
            "permissions.allow",
            "Bash(npm test:*)",
        ),
        ("set config permissions.deny+ WebFetch", "set_config", "permissions.deny", ["WebFetch"]),
        ("set config permissions.allow- Read", "remove_config_item", "permissions.allow", "Read"),
        ("remove config permissions.allow Read", "remove_config_item", "permissions.allow", "Read"),
        ("add config permissions.allow+ Write", "append_config", "permissions.allow", "Write"),
        (r"set config 'odd\+' 2", "set_config", "odd+", 2),
        ("set prompt agents/reviewer 'Look once.'", "set_prompt", "agents/reviewer", "Look once."),
        ("set prompts agents/new true", "set_prompt", "agents/new", "true"),
        ("set routing default small-1", "set_routing", "default", "small-1"),
        ("set routing default --json null", "set_routing", "default", None),
        ("set file hooks/guard.sh 'exit 1'", "write_file", "hooks/guard.sh", "exit 1"),
        ("set file run.sh ls --mode 0755", "write_file", "run.sh", {"content": "ls", "mode": "0755"}),
        ('add tool mcp:db --json \'{"description": "d"}\'', "register_tool", "mcp:db", {"description": "d"}),
        ('set tool mcp:github \'{"description": "d"}\'', "register_tool", "mcp:github", {"description": "d"}),
        ('add listener Stop \'{"id": "s", "handler": "h"}\'', "add_listener", "Stop", {"id": "s", "handler": "h"}),
        ('set middleware auth \'{"handler": "n"}\'', "replace_middleware", "auth", {"handler": "n"}),
        ("remove listener PreToolUse audit", "remove_listener", "PreToolUse", "audit"),
        ("move file hooks/guard.sh hooks/old.sh", "move_file", "hooks/guard.sh", "hooks/old.sh"),
        ("takeback add resource api tcp://127.0.0.1:9", "allocate_socket", "api", "tcp://127.0.0.1:9"),
    ],
)
def test_a_line_means_one_operation(text, op_type, target, value):
    if op_type is None:
        assert "VERB THING NAME" in refused(text).expected
        return
    told = meant(text)
    assert (told["op_type"], told["target"], told["value"]) == (op_type, target, value)
    assert type(told["value"]) is type(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("remove config limit", {"op_type": "unset_config", "target": "limit"}),
        ("remove prompt agents/reviewer", {"op_type": "remove_prompt", "target": "agents/reviewer"}),
        ("remove routing default", {"op_type": "unset_routing", "target": "default"}),
        ("remove tool mcp:github", {"op_type": "remove_tool", "target": "mcp:github"}),
        ("remove middleware log", {"op_type": "remove_middleware", "target": "log"}),
        ("remove listener PreToolUse", {"op_type": "remove_listener", "target": "PreToolUse"}),
        ("remove file hooks/guard.sh", {"op_type": "remove_file", "target": "hooks/guard.sh"}),
        ("move middleware log --before auth", {"op_type": "move_middleware", "target": "log", "before": "auth"}),
        (
            "move listener PreToolUse audit --index 0",
            {"op_type": "move_listener", "target": "PreToolUse", "value": "audit", "index": 0},
        ),
        (
            "set config permissions.allow+ Edit --before Read",
            {"op_type": "insert_config", "target": "permissions.allow", "value": "Edit", "before": "Read"},
        ),
        (
            'add middleware trace \'{"handler": "t"}\' --priority 5',
            {"op_type": "add_middleware", "target": "trace", "value": {"handler": "t"}, "priority": 5},
        ),
    ],
)
def test_removals_and_moves_are_read_with_their_places(text, told):
    assert meant(text) == told


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("edit prompt CLAUDE.md --append 'No emoji.'", "No emoji.\n"),
        ("edit prompt agents/reviewer --append 'No emoji.'", "\nNo emoji."),
        ("edit prompt windows --append three", "three\r\n"),
        ("edit file hooks/guard.sh --append 'exit 1'", "exit 1\n"),
    ],
)
def test_an_append_starts_and_ends_on_its_own_lines(text, new):
    assert meant(text)["value"] == {"old": "", "new": new}


def test_an_edit_says_where_the_old_text_is_if_that_is_not_one_place():
    assert meant("edit prompt CLAUDE.md --old tabs --new spaces")["value"] == {"old": "tabs", "new": "spaces"}
    twice = refused("edit prompt CLAUDE.md --old 'Be brief.' --new 'Be kind.'")
    assert twice.found == "the old text twice (lines 2 and 4)"
    gone = refused("edit prompt CLAUDE.md --old 'Use tab characters.' --new x")
    assert (gone.found, gone.hint) == ("no such old text", "the nearest is line 3: Use tabs.")
    assert refused("edit file hooks/guard.sh --old / --new x").found == "the old text twice (line 1)"


@pytest.mark.parametrize(
    ("text", "found", "hint"),
    [
        ("remove tool mcp:githb", "no tool mcp:githb", "did you mean mcp:github?"),
        ("remove tool github", "no tool github", "did you mean mcp:github?"),
        ("edit prompt claude.md --append x", "no prompt claude.md", "did you mean CLAUDE.md?"),
        ("remove listener PreToolUse audits", "no callback of PreToolUse audits", "did you mean audit?"),
        ("move middleware logs --index 0", "no middleware logs", "did you mean log?"),
        ("set promt x y", "promt", "did you mean prompt or prompts?"),
        ("sets prompt x y", "sets", "did you mean set?"),
        (
            "add tool mcp:github --json '{}'",
            "a name that already exists",
            "`takeback set tool mcp:github '{}'` replaces what is there",
        ),
        (
            "add config permissions.allow x",
            "a name that already exists",
            "`takeback set config permissions.allow+ x` adds an item to its list",
        ),
        ("set config permissions.allow- read", 'no item "read"', "did you mean Read?"),
        ("set config permissions.twice- a", "the item twice (items 1 and 3)", ""),
        ("set config limit+ 3", "5", "without + the value is replaced"),
        ("remove config permissions.alow- Read", "no config permissions.alow", "did you mean permissions.allow?"),
        ("set prompt x --mode 0644 --text y", "the mode 0644", ""),
        ("set prompt x y --old z", "old", ""),
        ("set prompt x", "no value", ""),
        ("remove tool mcp:github y", "y", ""),
        ("move middleware log", "no place", ""),
        ("edit prompt CLAUDE.md --old Rules", "--old alone", ""),
        ("edit prompt CLAUDE.md --old '' --new x", "an empty --old", ""),
        ("edit config limit --append x", "config", ""),
        ("set config v 1.10", "1.10", ""),
        ("set config v '{\"a\": }'", "malformed JSON (Expecting value)", ""),
        ("set config v 'unclosed", None, ""),
        ("set config v --jso 1", "--jso", "did you mean json?"),
    ],
)
def test_an_error_shows_what_was_found_and_near_matches(text, found, hint):
    if found is None:
        with pytest.raises(InputError, match="quotation"):
            read_line(text)
        return
    told = refused(text)
    assert (told.found, told.hint) == (found, hint)
    assert told.expected


def test_field_values_keep_json_and_parse_typed_text():
    state = State.read(STATE)
    assert build_program(OneLine("set", "config", "limit", "7"), state)[0].raw == "7"
    assert build_program(OneLine("set", "config", "limit", Typed("7")), state)[0].raw == 7


def test_a_surface_from_outside_gets_verbs_from_its_operations():
    register(Alarms())
    try:
        state = State.read({"alarms": {"morning": 7}})
        (op,) = build_program(read_line("set alarm morning 8"), state)
        assert op.to_json() == {"op_type": "set_alarm", "target": "morning", "value": 8}
    finally:
        unregister("alarms")


@pytest.mark.parametrize(
    "text",
    [
        "set config permissions.allow+ x",
        "set config permissions.allow- Read",
        "set config permissions.deny+ x",
        "edit prompt CLAUDE.md --old tabs --new spaces",
        "edit file hooks/guard.sh --append 'exit 1'",
        "remove listener PreToolUse",
        "move listener PreToolUse audit --index 0",
        "move middleware log --before auth",
        "move file hooks/guard.sh x/y",
        'set middleware auth \'{"handler": "n"}\'',
        "remove tool mcp:github",
    ],
)
def test_the_recovery_that_the_oracle_writes_for_a_line_is_proved(text):
    state = State.read(STATE)
    program = build_program(read_line(text), state)
    assert run_forward(program, state)[1].succeeded
    assert verify(oracle(program, nominal=state)).grade is Grade.PROVED
