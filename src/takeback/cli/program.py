"""The program: the table of commands, the groups that read it, and what becomes of an error.

A command is a function of a module, called as the command is unless the table says otherwise; the module is
imported when the command is run, not when the program starts. A `register` adds its commands to a typer group
itself, as those of other packages do. A test holds every summary equal to the first sentence of the command's
own help. Every command takes `--json` (one JSON object on stdout, talk on stderr) and exits
0 for yes or done, 1 for no (rejected, blocked, falls short), 2 for bad input or a fault, 130 when
interrupted.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from takeback import __version__
from takeback.cli import output
from takeback.cli.hints import begin_command, find_examples
from takeback.cli.hook_answer import choose_trust_folder
from takeback.cli.options import expand_groups
from takeback.cli.output import JSON_VALUE, separate_json_value, tell_masked
from takeback.cli.plain_values import use_plain_values
from takeback.cli.secrets import begin_masking
from takeback.errors import DeniedError, InputError
from takeback.plugins import LAB_COMMANDS, ListedCommand, find_extra_commands, make_missing_package_error

OFFERED_WIDTH: Final = 75
COLLECT_AFTER: Final = 100_000
"""So many more objects than before, and rings of them are looked for: a project has many, hardly ever in rings."""
Listed = ListedCommand


class Offered(NamedTuple):
    """A command as completion offers it, with the fields that typer's own items have."""

    value: str
    help: str
    type: str = "plain"


SECTIONS: Final[Mapping[str, Mapping[str, ListedCommand]]] = {
    "daily": {
        "init": Listed("init", "Start tracking a directory: a client's project as it is, or a new workspace."),
        "apply": Listed("apply", "Make a change, if it can be undone."),
        "status": Listed("status", "Show the status of a workspace."),
        "log": Listed("log", "List entries, newest first.", "show_entries"),
        "show": Listed("show", "Show one entry: what it changed, its candidate and its evidence."),
        "diff": Listed("show", "Show what changed."),
        "undo": Listed("undo", "Undo entries, whatever came after them."),
        "redo": Listed("undo", "Bring back entries that were undone."),
        "restore": Listed("undo", "Go back, or forward again, to the state after an entry or at a time."),
        "discard": Listed("drift", "Restore files that were changed outside Takeback, including unreadable files."),
        "adopt": Listed("drift", "Record changes made outside Takeback as an entry."),
        "watch": Listed(
            "serve", "Watch the harness's files, and record each change made outside Takeback as an entry."
        ),
        "run": Listed(
            "run", "Run a command in an overlay of the project, then keep or drop its changes.", "register"
        ),
        "web": Listed("serve", "Show workspaces in the browser: timeline, diffs, undo with a preview."),
    },
    "sharing": {
        "export": Listed("share", "Print the state right after an entry."),
        "share": Listed(
            "share", "Write one entry to an HTML file that you can send: prompt, diff, evidence, how to undo it."
        ),
        "report": Listed(
            "share", "Write a range of entries to an HTML file that you can send: a list, then each entry in full."
        ),
    },
    "changes": {
        "set": Listed("apply", "Set one thing to a value, or change one item of a list.", "set_value"),
        "add": Listed("apply", "Add one thing that does not exist yet."),
        "remove": Listed("apply", "Remove one thing, or one item of it."),
        "edit": Listed("apply", "Edit a text in one place."),
        "move": Listed("apply", "Move one thing without changing it."),
    },
    "trouble": {
        "doctor": Listed("recover", "Check everything: manifest, journal, files, leftovers."),
        "backup": Listed("recover", "Copy the journal to a file, even while it is in use, and check the copy."),
        "restore-journal": Listed("recover", "Replace the journal with a backup, or accept the journal as it is."),
        "trust": Listed("init", "Trust a harness that came from elsewhere: a clone, a copy, a backup."),
        "recover": Listed("recover", "Finish a change that a killed process left, and retry open compensations."),
        "resolve": Listed("recover", "Say whether a call in doubt was made."),
        "bisect": Listed(
            "bisect",
            "Find the entry that broke the agent, or the smallest set of entries, by leaving entries out.",
            "find",
        ),
    },
    "rules": {
        "forget": Listed("forget", "Delete the contents that entries captured, such as secrets, permanently."),
        "compact": Listed("govern", "Make the journal smaller by removing what the policy does not keep."),
        "grants": Listed("govern", "Grant the roles of a PostgreSQL journal the rights that the policy gives them."),
        "retain": Listed("govern", "Forget captured contents that are older than the policy keeps them."),
        "hold": Listed("govern", "Keep the contents of an entry or a subject, whatever retention says."),
        "label": Listed("govern", "Say whom contents are about, so that they can be forgotten or held together."),
        "audit": Listed("govern", "List who read which contents, oldest first, if the policy records reads."),
        "head": Listed(
            "govern", "Print a signed head of the journal: the number of its records and their root hash."
        ),
        "witness": Listed(
            "govern", "Keep the last signed head of each journal, and refuse a head that does not continue it."
        ),
        "bind": Listed("bind", "Declare records of another system, and measure how it guards others' writes."),
        "probe": Listed("bind", "Measure how a binding guards others' writes, with eight checks and a race."),
    },
    "candidates": {
        "verify": Listed("candidates", "Decide whether a candidate may be admitted."),
        "prove": Listed(
            "candidates", "Prove that a recovery works on every state, or refute it with the smallest one."
        ),
        "check-proof": Listed(
            "candidates", "Check a proof's certificate with code that shares nothing with the prover."
        ),
        "oracle": Listed("repair", "Write a recovery for a candidate's mutation."),
        "repair": Listed("repair", "Repair a candidate's recovery, turn by turn."),
        "schema": Listed("candidates", "Print the JSON Schema of a candidate."),
    },
    "agents": {
        "evolve": Listed("evolve", "Let an agent change its harness if the change can be undone."),
        "propose": Listed("evolve", "Ask a model for a change, and repair it if it cannot be undone."),
        "gate": Listed(
            "gate", "Decide whether the step from one directory to another can be undone, and by which recovery."
        ),
        "hook": Listed(
            "install", "Answer a client's hook: guard harness files before an edit, record the change after it."
        ),
        "install": Listed("install", "Add Takeback's hooks to a settings file that only you have, as one change."),
        "uninstall": Listed(
            "install", "Remove Takeback's hooks, server and skill from a client's files, local and shared."
        ),
        "leave": Listed(
            "leave",
            "Remove Takeback from a project: hooks, server, skill, plugin, git hooks, .takeback and takeback.toml.",
        ),
        "git-hook": Listed(
            "install",
            "Record harness files before each git commit, and add the journal's head to its message.",
            "register",
        ),
        "serve": Listed("serve", "Serve the harness to agents over MCP."),
    },
    "trying": {
        "demo": Listed("demo", "Show the whole story on a small Claude Code project."),
        "help": Listed("help", "Show every command on one screen, or explain one topic or command.", "show_help"),
    },
}
TOPICS: Final = {
    "daily": ("Every day", "takeback undo 3f2a91 --plan"),
    "sharing": ("Showing others", "takeback share 62 --out entry.html"),
    "changes": ("One-line changes", "takeback set config permissions.allow+ 'Bash(npm test:*)'"),
    "trouble": ("When something is wrong", "takeback bisect --test 'make check'"),
    "rules": ("Rules and other systems", "takeback forget --value hunter2 --yes"),
    "candidates": ("Candidates", "takeback verify change.json"),
    "agents": ("Agents and models", "takeback install claude-code"),
    "trying": ("Trying it out", "takeback demo"),
    "more": ("From other packages", ""),
}
"""The title of each section, and a line to try."""
COMMANDS: Final = {name: listed for section in SECTIONS.values() for name, listed in section.items()}


class _Quick:
    """A command whose plain values need no conversion."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; called whenever words are read."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        use_plain_values(parameters)
        return parameters


class _Helpful:
    """Help that ends with examples, on lines that can be copied."""

    help: str | None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description without its example."""
        del ctx
        text, _, _ = (self.help or "").partition("Example:")
        for paragraph in text.replace("`", "").strip().split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(" ".join(paragraph.split()))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage, without typer's braces around what is required."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        del ctx
        lines = find_examples(self.help)
        if lines:
            with formatter.section("Example" if len(lines) == 1 else "Examples"):
                for line in lines:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class Command(_Quick, _Helpful, TyperCommand):
    """One command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; where a value may be JSON, `--json` means both the value and the wish for JSON."""
        begin_command(_list_words(ctx), self.help)
        begin_masking()
        ctx.call_on_close(tell_masked)
        if not any(JSON_VALUE in parameter.opts for parameter in self.params):
            return super().parse_args(ctx, args)
        words = separate_json_value(args)
        if words.count(JSON_VALUE) > 1:
            raise InputError("--json", found="a value twice", expected="one value")
        return super().parse_args(ctx, words)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each with one sentence."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                rows["Arguments"].append((parameter.metavar or parameter.name, getattr(parameter, "help", "") or ""))
            else:
                rows["Options"].append(record)
        for title, options in rows.items():
            if options:
                with formatter.section(title):
                    formatter.write_dl(options)


class Group(_Quick, _Helpful, TyperGroup):
    """Commands below a name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words, and remember which group they are for."""
        begin_command(_list_words(ctx), self.help, self.commands)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its first sentence, whole."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, take_first_sentence(command.help)) for name, command in self.commands.items()])


class Commands(_Quick, TyperGroup):
    """The commands of the table, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the table."""
        del ctx
        return list(list_all_commands())

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Offer the names of commands with what they do; nothing is imported for that."""
        named = [
            Offered(name, _shorten(listed.summary))
            for name, listed in list_all_commands().items()
            if name.startswith(incomplete)
        ]
        return named if incomplete[:1].isalnum() or not incomplete else super().shell_complete(ctx, incomplete)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with a name, or None."""
        del ctx
        if cmd_name not in self.commands:
            if cmd_name in COMMANDS or cmd_name in find_extra_commands():
                self.commands[cmd_name] = load_command(cmd_name)
            elif cmd_name in LAB_COMMANDS:
                raise make_missing_package_error(f"takeback {cmd_name}")
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the screen that has every command; nothing is imported for that."""
        from takeback.cli.help import list_lines  # noqa: PLC0415 - start-up

        del ctx
        formatter.write("\n".join(list_lines(list_sections())) + "\n")


def print_command_help(name: str) -> None:
    """Print a command's own help, with its options and examples."""
    context = typer.main.get_command(app).make_context("takeback", [name, "--help"], resilient_parsing=True)
    command = context.command.get_command(context, name)  # type: ignore[attr-defined]
    with command.make_context(name, [], parent=context, resilient_parsing=True) as inner:
        output.out.print(inner.get_help())


def list_sections() -> dict[str, Mapping[str, ListedCommand]]:
    """Return the commands by topic, those of other packages last."""
    return {
        **SECTIONS,
        "more": {name: listed for name, listed in find_extra_commands().items() if name not in COMMANDS},
    }


def list_all_commands() -> dict[str, ListedCommand]:
    """Return every command by name, those of other packages last."""
    return {**COMMANDS, **find_extra_commands()}


def _shorten(summary: str) -> str:
    return summary if len(summary) <= OFFERED_WIDTH else f"{summary[: OFFERED_WIDTH - 1]}…"


def _list_words(ctx: Any) -> list[str]:
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return words


def take_first_sentence(text: str | None) -> str:
    """Return the first sentence of a command's help."""
    plain = " ".join((text or "").split("\n\n")[0].split()).replace("`", "")
    sentence, stop, _ = plain.partition(". ")
    return f"{sentence}." if stop else plain


def load_command(name: str) -> Any:
    """Return the command with a name of the table."""
    listed = COMMANDS.get(name) or find_extra_commands()[name]
    outside = "." in listed.module
    function = listed.function or ("register" if outside else name.replace("-", "_"))
    command = getattr(import_module(listed.module if outside else f"takeback.cli.{listed.module}"), function)
    app = typer.Typer(rich_markup_mode=None)
    if function == "register":
        command(app)
    else:
        app.command(name)(command)
    _dress(app)
    return typer.main.get_group(app).commands[name]


def _dress(group: typer.Typer) -> None:
    for command in group.registered_commands:
        command.cls = Command
        if command.callback is not None:
            command.callback = expand_groups(command.callback)
    for inner in group.registered_groups:
        inner.cls = Group
        if inner.typer_instance is not None:
            _dress(inner.typer_instance)


def register_all(package: str, path: Iterable[str], group: typer.Typer) -> None:
    """Add the commands of every module of a package to `group`, in the order of the modules' names."""
    for info in sorted(iter_modules(path), key=lambda info: info.name):
        register = getattr(import_module(f"{package}.{info.name}"), "register", None)
        if register is not None:
            register(group)


SERVING: Final = frozenset({"serve", "web", "watch", "model", "run", "witness"})
"""Commands that run until they are ended, or have the terminal to themselves."""

app = typer.Typer(
    name="takeback",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        output.out.print(f"takeback {__version__}")
        raise typer.Exit(0)


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Let an agent change its own harness only if the change can be undone."""
    del version
    choose_trust_folder()


def main() -> None:
    """Run the command line; an error becomes a clear message and exit code 2, never the answer no."""
    gc.set_threshold(COLLECT_AFTER, 20, 100)
    atexit.register(gc.freeze)  # the system takes back what the process holds
    as_json = output.has_json_flag(sys.argv)
    output.begin(as_json=as_json, commands=COMMANDS)
    if sys.argv[1:2] and sys.argv[1] not in SERVING and "_TAKEBACK_COMPLETE" not in os.environ:
        output.count_seconds(sys.argv[1])
    try:
        code = app(prog_name="takeback", standalone_mode=False)
    except SystemExit as ended:
        closed = isinstance(ended.__context__, BrokenPipeError)
        sys.exit(output.end(0 if closed else ended.code, None, as_json=as_json))
    except DeniedError as fault:  # the policy's answer is no
        sys.exit(output.end(1, fault, as_json=as_json))
    except Exception as fault:  # noqa: BLE001 - whatever happens, the exit code must mean what it says
        sys.exit(output.end(2, _explain_missing_directory(fault), as_json=as_json))
    sys.exit(output.end(code, None, as_json=as_json))


def _explain_missing_directory(fault: Exception) -> Exception:
    """Return a fault; where it comes of a working directory that was deleted, an error that says so."""
    cause: BaseException | None = fault
    while cause is not None and not isinstance(cause, FileNotFoundError):
        cause = cause.__context__
    if cause is None or os.path.isabs(cause.filename or ""):
        return fault
    try:
        os.getcwd()
    except FileNotFoundError:
        return InputError(
            "the working directory",
            found="that it was deleted",
            expected="one that exists",
            hint="change into one with 'cd', or name the harness: 'takeback status -C DIR'",
        )
    return fault
