"""`takeback help`: every command on one screen, and a topic or a command at a time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from takeback.cli.options import argument
from takeback.cli.output import answer, out
from takeback.errors import InputError

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
    from takeback.cli.program import TOPICS, list_all_commands, list_sections, print_command_help  # noqa: PLC0415

    commands = list_all_commands()
    if topic in commands and not out.for_json:
        print_command_help(topic)
        return
    text = _explain_topic(topic) if topic else "\n".join(list_lines(list_sections()))
    answer({"topic": topic, "text": text, "topics": [*TOPICS, *ABOUT], "commands": list(commands)})
    out.print(text.rstrip("\n"))


def list_lines(sections: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the screen: what most people need first, then every command by topic."""
    yield "Usage: takeback COMMAND [OPTIONS]    (or: --version, --install-completion)"
    yield "Let an agent change its own harness only if the change can be undone."
    yield from (f"  {name:<10} {what}" for name, what in FIRST.items())
    yield ""
    yield "Every command by topic; 'takeback help TOPIC' says what each one does:"
    for topic, names in sections.items():
        yield from _wrap(" ".join(names), f"  {topic:<12}") if names else ()
    yield f"  {'about':<12}{' '.join(ABOUT)}"
    yield "'takeback COMMAND --help' shows a command's options and an example."


def _wrap(text: str, start: str) -> list[str]:
    indent = " " * len(start)
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False)


def _explain_topic(topic: str) -> str:
    from takeback.cli.program import TOPICS, list_all_commands, list_sections  # noqa: PLC0415 - it is there

    commands = list_all_commands()
    if topic in ABOUT:
        return ABOUT[topic]
    if topic in commands:
        return commands[topic].summary
    if topic not in TOPICS:
        from takeback.language.suggestions import find_near_names  # noqa: PLC0415 - start-up

        near = find_near_names(topic, [*TOPICS, *ABOUT, *commands])
        hint = f"did you mean 'takeback help {near[0]}'?" if near else "'takeback help' lists topics and commands"
        expected = f"a command, or one of {', '.join([*TOPICS, *ABOUT])}"
        raise InputError("help", found=topic, expected=expected, hint=hint)
    (title, example), names = TOPICS[topic], list_sections()[topic]
    wide = max(map(len, names), default=0) + 2
    rows = [row for name, listed in names.items() for row in _wrap(listed.summary, f"  {name:<{wide}}")]
    return "\n".join([f"{title}:", *rows, *([f"Example: {example}"] if example else [])])
