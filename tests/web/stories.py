"""A Claude Code project in which everything happened that the page tells of."""

from __future__ import annotations

from tests.support.changes import candidate, config

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.cli.demo import CHANGES, LOOKS_RIGHT, THIRD, write_harness
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage

SECRET = "hunter2-correct-horse-battery"
ASKED = {"client": "claude-code", "session": "7c1f", "tool": "Edit"}
SKILL = ".claude/skills/release/SKILL.md"


def asked(harness, root, path, text, prompt, number, by="claude"):
    """Write a file as a client does that a person asked for something, and record that."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    origin = ASKED | {"prompt_number": str(number)}
    return harness.adopt(f"Edit {path}", by=by, origin=origin, said={"prompt": prompt}).entry


def tell_story(root):
    """Write the story into a new directory; returns entries by what they are in it."""
    root.mkdir(parents=True)
    write_harness(root)
    init_clients(root)
    rules = root / "CLAUDE.md"
    made = {}
    with open_workspace(root, hold=False) as harness:
        made["forced"] = harness.apply(LOOKS_RIGHT, force=True, note="a server, tried in haste", by="claude").entry
        harness.undo(made["forced"], by="ann")
        for at, (note, ops) in enumerate(CHANGES):
            change = invert_mutation(read_program(ops, Stage.FORWARD, "story"))
            entry = harness.apply(change, note=note, by="claude").entry
            made.update({"dangerous": entry} if at == THIRD else {})
        made["skill"] = asked(
            harness,
            root,
            SKILL,
            "---\nname: release\ndescription: Cuts a release.\n---\n\nTag, then build.\n",
            "write down how we release",
            3,
        )
        text = (root / SKILL).read_text()
        made["inside"] = asked(
            harness, root, SKILL, text + "Ask before you push.\n", "and never push without asking me", 4
        )
        made["secret"] = harness.apply(candidate(config("env.API_TOKEN", SECRET)), note="a key", by="ann").entry
        rules.write_text(rules.read_text() + "- Ask before a deploy.\n")
        made["adopted"] = harness.adopt("tuned by hand", by="ann").entry
        made["region"] = harness.apply(candidate(config("env.REGION", "eu-1")), note="nearer", by="tuner").entry
    return made


def drift(root):
    """Change two places of the rules by hand, and let the agent do more than before."""
    rules, settings = root / "CLAUDE.md", root / ".claude" / "settings.json"
    rules.write_text(rules.read_text().replace("Retry twice", "Retry three times"))
    settings.write_text(settings.read_text().replace('"Bash(rm:*)"', '"Bash(rm:*)", "Bash(curl:*)"'))


def guess(harness):
    """Try a change that has no recovery, which is refused."""
    change = [{"op_type": "register_tool", "target": "mcp:notes", "value": {"command": "notes"}}]
    refused = harness.apply({"mutation": change, "witness": [], "recovery": []}, note="a guess", by="tuner")
    assert not hasattr(refused, "entry")


def name_pages(base, made):
    """Return the address of every page of a harness in which something happened, by name."""
    here = f"{base}1/"
    return {
        "timeline": here,
        "nothing found": f"{here}?text=there+is+no+such+word",
        "entry": f"{here}entry/{made['inside'].entry}",
        "forced entry": f"{here}entry/{made['forced'].entry}",
        "secret entry": f"{here}entry/{made['secret'].entry}?reveal=1",
        "undo": f"{here}undo?entry={made['dangerous'].entry}",
        "blocked": f"{here}undo?entry={made['skill'].entry}",
        "go back": f"{here}restore?entry={made['dangerous'].entry}",
        "compare": f"{here}compare?entry={made['dangerous'].entry}&entry={made['region'].entry}",
        "over time": f"{here}past?at={made['dangerous'].entry}&path=CLAUDE.md",
        "refused": f"{here}refused",
        "what broke it": f"{here}bisect",
        "forget": f"{here}forget?entry={made['secret'].entry}",
        "drift": f"{here}drift",
        "missing": f"{here}there/is/no/such/page",
    }
