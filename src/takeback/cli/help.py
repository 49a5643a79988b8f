"""`takeback help`: every command on one screen, and a topic or a command at a time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from takeback.cli.options import argument
from takeback.cli.output import answer, out
from takeback.errors import InputError
from takeback.plugins import ListedCommand

WIDTH: Final = 78
"""Columns of a screen of help; with its lines below 24 it is seen whole on every terminal."""
FIRST: Final[Mapping[str, str]] = {
    "init": "start tracking a directory",
    "install": "guard and record what your client's agent changes",
    "status": "show what changed and what needs attention",
    "log": "list changes with their author and prompt",
    "undo": "undo entries, whatever came after them",
    "web": "show all of it in the browser",
}
"""What most people need, said shorter than in the lists."""
TOPICS: Final[Mapping[str, str]] = {
    "daily": "Every day",
    "sharing": "Showing others",
    "changes": "One-line changes",
    "trouble": "When something is wrong",
    "rules": "Rules and other systems",
    "candidates": "Candidates",
    "agents": "Agents and models",
    "trying": "Trying it out",
}
"""The topics that are lists of commands, with the title of each."""
MORE: Final = "more"
"""The topic of what other packages bring."""
ABOUT: Final[Mapping[str, str]] = {
    "entries": """\
How to name an entry

  7, '#7'           its number in the log; a shell drops an unquoted #7
  3f2a91            the beginning of its id, four or more digits
  HEAD, HEAD~2      the newest, and the second before it
  '@{2 hours ago}'  the newest at that time

Example: takeback undo 7 --plan
""",
    "things": """\
How to name a thing in one-line changes

  config permissions.allow     a setting, by its path
  config permissions.allow+    a list: + adds an item, - removes one
  prompt CLAUDE.md             an instruction file, agent, command or skill
  tool mcp:github              a server
  listener PreToolUse          a hook, by its event
  routing model                the model that is used

Example: takeback set config permissions.allow+ 'Bash(npm test:*)'
""",
    "times": """\
How to write a time

  90m, 2h, 3d, '2 hours ago'   that long ago
  today                        midnight, UTC
  yesterday, 'last week'       a day ago, seven days ago
  2031-05-27, 2031-05-27T14:30:00Z

Example: takeback restore --to yesterday --plan
""",
    "colours": """\
What the colours mean, on the terminal and on the page

  green    good: proved, a check that passed; added lines
  yellow   look at this: looser permissions, drift, a notice
  red      bad: refuted, forced, failed, refused; removed lines
  cyan     the next step; the prompt of the changes below it
  dim      not in effect: undone, given up, or without content of its own

NO_COLOR=1 turns them off.

Example: NO_COLOR=1 takeback log
""",
    "exit": """\
What the exit codes mean

  0    yes, or done
  1    no: blocked, rejected, refused, or something needs attention
  2    bad input, or a fault
  130  interrupted

Example: takeback status --json
""",
}
"""The topics that explain something that many commands have in common."""


def show_help(
    topic: str = argument("TOPIC", "A topic or a command; without one, every command on one screen.", ""),
) -> None:
    """Show every command on one screen, or explain one topic or command.

    Example: `takeback help`, `takeback help daily`, `takeback help undo`, `takeback help times`
    """
    from takeback.cli.program import SECTIONS, list_all_commands, print_command_help  # noqa: PLC0415 - it is there

    commands = list_all_commands()
    if topic in commands and not out.for_json:
        print_command_help(topic)
        return
    text = "\n".join(list_lines(SECTIONS, commands)) if not topic else _explain_topic(topic, SECTIONS, commands)
    answer({"topic": topic, "text": text, "topics": [*TOPICS, MORE, *ABOUT], "commands": list(commands)})
    out.print(text.rstrip("\n"))


def list_lines(
    sections: Mapping[str, Mapping[str, ListedCommand]], commands: Mapping[str, ListedCommand]
) -> Iterator[str]:
    """Yield the screen: what most people need first, then every command by topic."""
    yield "Usage: takeback COMMAND [OPTIONS]    (or: --version, --install-completion)"
    yield "Let an agent change its own harness only if the change can be undone."
    yield from (f"  {name:<10} {what}" for name, what in FIRST.items())
    yield ""
    yield "Every command by topic; 'takeback help TOPIC' says what each one does:"
    listed = {topic: tuple(sections[title]) for topic, title in TOPICS.items()}
    listed[MORE] = tuple(name for name in commands if not any(name in section for section in sections.values()))
    for topic, names in listed.items():
        if names:
            start = f"  {topic:<12}"
            yield from textwrap.wrap(
                " ".join(names),
                WIDTH,
                initial_indent=start,
                subsequent_indent=" " * len(start),
                break_on_hyphens=False,
            )
    yield f"  {'about':<12}{' '.join(ABOUT)}"
    yield "'takeback COMMAND --help' shows a command's options and an example."


def _explain_topic(
    topic: str, sections: Mapping[str, Mapping[str, ListedCommand]], commands: Mapping[str, ListedCommand]
) -> str:
    from takeback.cli.program import EXAMPLES  # noqa: PLC0415 - it is there

    if topic in ABOUT:
        return ABOUT[topic]
    if topic in commands:
        return commands[topic].summary
    title = TOPICS.get(topic, "From other packages")
    names: Mapping[str, Any] = sections.get(title) or {
        name: command
        for name, command in commands.items()
        if not any(name in section for section in sections.values())
    }
    if topic not in {*TOPICS, MORE}:
        from takeback.language.suggestions import find_near_names  # noqa: PLC0415 - start-up

        near = find_near_names(topic, [*TOPICS, MORE, *ABOUT, *commands])
        hint = f"did you mean 'takeback help {near[0]}'?" if near else "'takeback help' lists topics and commands"
        expected = f"a command, or one of {', '.join([*TOPICS, MORE, *ABOUT])}"
        raise InputError("help", found=topic, expected=expected, hint=hint)
    wide = max(map(len, names), default=0) + 2
    rows = [
        textwrap.fill(listed.summary, WIDTH, initial_indent=f"  {name:<{wide}}", subsequent_indent=" " * (wide + 2))
        for name, listed in names.items()
    ]
    example = f"\nExample: {EXAMPLES[title]}" if title in EXAMPLES else ""
    return "\n".join([f"{title}:", *rows]) + example
