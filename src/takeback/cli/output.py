"""The one way to the terminal: every line a command prints passes here, and so does every ending.

Nothing that is printed is obeyed: control characters and invisible ones are escaped, there is no markup, and
what an encoding cannot hold is escaped too. JSON goes out as one ASCII object. A pipe that closed is quiet,
and so is stderr. A device that cannot take the answer is an `OutputError`, unless the exit code was
committed: what was done stays done. Output longer than the terminal goes to `TAKEBACK_PAGER`, `PAGER`, or
less; an empty one means none.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal, NoReturn, TextIO

import typer

from takeback.canonical import find_value_end, write_pretty
from takeback.cli.hints import add_next_step, forget_command, localize_hints
from takeback.cli.line_breaks import measure_cells, wrap_lines
from takeback.cli.pulse import pulse
from takeback.cli.secrets import make_notice, mask_answer, mask_line
from takeback.errors import OutputError, TakebackError
from takeback.present.visible import escape_invisible

DEFAULT: Final = "less"
LESS: Final = "FRX"
"""Quit if it fits, show colours, leave the screen as it is: as git asks for."""


class Pager:
    """Holds lines back until they fill a screen; only then the pager is started."""

    def __init__(self, words: list[str], direct: Callable[[str], None], height: int) -> None:
        self._words = words
        self._direct = direct
        self._height = height
        self._held: list[str] = []
        self._lines = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @staticmethod
    def command(environment: Mapping[str, str]) -> list[str]:
        """Return the pager's words; none where the environment wants none, or there is none."""
        chosen = environment.get("TAKEBACK_PAGER", environment.get("PAGER", DEFAULT))
        try:
            words = shlex.split(chosen)
        except ValueError:
            return []
        if not words or words == ["cat"] or environment.get("TERM") == "dumb":
            return []
        return words if shutil.which(words[0]) else []

    def write(self, text: str) -> None:
        """Take text; once a screen is full, hand everything to the pager."""
        if self._closed:
            return
        if self._process is not None:
            self._send(text)
            return
        self._held.append(text)
        self._lines += text.count("\n")
        if self._lines >= self._height:
            self._start()

    def _start(self) -> None:
        environment = {"LESS": LESS, "LV": "-c", **os.environ}
        try:
            self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, env=environment)  # noqa: S603
        except OSError:
            self.close()
            return
        self._send("".join(self._held))
        self._held = []

    def _send(self, text: str) -> None:
        try:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(text.encode(errors="backslashreplace"))
        except OSError:
            self._closed = True

    def close(self) -> None:
        """Print what was held back, or wait until the reader is done."""
        self._closed = True
        if self._process is None:
            self._direct("".join(self._held))
            self._held = []
            return
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        while self._process.returncode is None:
            with suppress(KeyboardInterrupt):
                self._process.wait()


JsonFlag = typer.Option(False, "--json", help="Print one JSON object on stdout.")
JSON_VALUE: Final = "--json-value"
"""How a value given as JSON is told apart from the wish for JSON."""
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
INTERRUPTED: Final = 130
HELP_INSTEAD: Final = "NoArgsIsHelpError"
"""What click raises, and what typer's own copy of click raises, for a command that was given nothing."""
RESUME: Final = (
    "the next command, or 'takeback recover', finishes or undoes an unfinished change; you can run the same "
    "command again"
)


class Screen:
    """stdout or stderr, looked up anew at each line, because tests and redirections replace them."""

    def __init__(self, name: Literal["stdout", "stderr"]) -> None:
        self._name = name
        self._pager: Pager | None = None
        self._muted = False
        self.for_json = False
        """Whether one JSON object is the answer, and no line is."""

    @property
    def stream(self) -> TextIO | None:
        """Where it goes; None where a process was started without it."""
        stream: TextIO | None = getattr(sys, self._name)
        return stream

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self.stream is not None and not self.stream.closed and self.stream.isatty()

    @property
    def coloured(self) -> bool:
        """Whether styles show."""
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return self.is_terminal or bool(os.environ.get("FORCE_COLOR"))

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None where there is none, and so nothing to cut for."""
        return shutil.get_terminal_size().columns if self.is_terminal else None

    @property
    def draws(self) -> bool:
        """Whether it takes the characters that lines are drawn with."""
        try:
            "│●○↑…".encode((self.stream.encoding if self.stream is not None else None) or "utf-8")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def print(self, *pieces: object, style: str = "", whole: bool = False) -> None:
        """Print one line of pieces: texts, and texts with a style as pairs; `style` holds for those that have none.

        On a terminal a line that is too wide is broken between words, unless it is to stay `whole`.
        """
        if self.for_json:
            return
        text, width = self.style_pieces(*pieces, style=style), None if whole else self.width
        self._write((text if width is None else wrap_lines(text, width)) + "\n")

    def style_pieces(self, *pieces: object, style: str = "") -> str:
        """Return pieces as one safe text, with the styles that show here."""
        return "".join(self._style_piece(piece, style) for piece in pieces)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print columns, as wide as their widest cell."""
        shown = [[escape_invisible(mask_line(cell)) for cell in row] for row in (headings, *rows)]
        widths = [max(map(measure_cells, column)) for column in zip(*shown, strict=True)]
        for at, row in enumerate(shown):
            line = "  ".join(
                cell + " " * (width - measure_cells(cell)) for cell, width in zip(row, widths, strict=True)
            )
            self.print(line.rstrip(), style="" if at else "bold")

    def _style_piece(self, piece: object, style: str) -> str:
        text, own = piece if isinstance(piece, tuple) else (piece, style)
        shown = escape_invisible(mask_line(str(text)), lines=True)
        codes = ";".join(_STYLES[word] for word in own.split())
        return f"\x1b[{codes}m{shown}\x1b[0m" if codes and shown and self.coloured else shown

    def _write(self, text: str) -> None:
        if not self._muted:
            if self._pager is not None:
                self._make_room()
                self._pager.write(text)
            else:
                self.write(text)

    def write(self, text: str) -> None:
        """Write text that is safe already."""
        stream = self.stream
        if stream is None or stream.closed:
            return
        self._make_room()
        encoding = stream.encoding or "utf-8"
        try:
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        except OSError as fault:
            self._discard_output(fault)

    def _make_room(self) -> None:
        """Take the sign of life away: for good where the answer begins, for this line elsewhere."""
        if self._name == "stdout":
            pulse.end()
        else:
            pulse.hide()

    def flush(self) -> None:
        """Let everything go out now."""
        stream = self.stream
        if stream is None or stream.closed:
            return
        try:
            stream.flush()
        except OSError as fault:
            self._discard_output(fault)

    def _discard_output(self, fault: OSError) -> None:
        """Keep what is left in buffers from failing once more at exit; a reader that went away is no fault."""
        stream = self.stream
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno() if stream is not None else 1)
            os.close(nowhere)
        except (OSError, ValueError):
            self._muted = True
        if not isinstance(fault, BrokenPipeError) and self._name == "stdout":
            raise OutputError(f"{self._name} cannot be written: {fault.strerror or fault}") from fault

    @contextmanager
    def answer_json(self, wanted: bool) -> Iterator[None]:
        """Print no line meanwhile if the answer is one JSON object."""
        before, self.for_json = self.for_json, wanted
        try:
            yield
        finally:
            self.for_json = before

    @contextmanager
    def page_output(self, *, allowed: bool = True) -> Iterator[None]:
        """Show what is printed meanwhile in a pager, if that is longer than the terminal is high."""
        words = Pager.command(os.environ) if allowed and self.is_terminal and self._pager is None else []
        if not words:
            yield
            return
        self._pager = Pager(words, self.write, shutil.get_terminal_size().lines)
        try:
            yield
        finally:
            pager, self._pager = self._pager, None
            self.flush()
            pager.close()


out = Screen("stdout")
err = Screen("stderr")


class _Ending:
    """What is known about how the running command ends."""

    settled: int | None = None
    emitted = False
    as_json = False
    counting = False
    safe = RESUME
    commands: tuple[str, ...] = ()


def format_spread(times: Mapping[str, float]) -> str:
    """Return a median and its quartiles, as a person reads them."""
    return f"{times['median']} ({times['lower']}–{times['upper']})"


def emit(payload: dict[str, Any], *, exact: bool = False) -> None:
    """Print one JSON object on stdout: ASCII, whatever it holds; with `exact` nothing is added to it."""
    text = write_pretty(mask_answer(payload, exact=exact), ascii_only=True)
    _Ending.emitted = True
    out.write(text + "\n")


def answer(payload: dict[str, Any]) -> None:
    """Print one JSON object where that is asked for; the lines of a text are printed where it is not."""
    if out.for_json:
        emit(payload)


def mention(text: str, style: str = "") -> None:
    """Print on stderr what belongs to the lines of an answer, and is in its JSON too."""
    if not out.for_json:
        err.print(text, style=style)


def tell_masked() -> None:
    """Say on stderr that secrets were masked, and what shows or deletes them."""
    said = make_notice()
    if said:
        err.print(localize_hints(said), style="yellow")


def commit_exit_code(code: int) -> None:
    """Fix the exit code: the answer is given, and no trouble with printing changes it any more."""
    _Ending.settled = code


def finish(*, yes: bool) -> NoReturn:
    """End the command with 0 for yes, 1 for no."""
    raise typer.Exit(0 if yes else 1)


def has_json_flag(argv: Sequence[str]) -> bool:
    """Tell whether a command line asks for JSON."""
    if argv[1:2] in (["set"], ["add"]):
        return "--json" in separate_json_value(argv)
    return "--json" in (argv[: argv.index("--")] if "--" in argv else argv)


def separate_json_value(words: Sequence[str]) -> list[str]:
    """Return the words of a command that takes a JSON value; `--json` with JSON behind it becomes `--json-value`."""
    line: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return [*line, word, *left]
        if word.startswith("--json="):
            line += [JSON_VALUE, word.partition("=")[2]]
        elif word == "--json" and left and find_value_end(left[0].strip()) == len(left[0].strip()):
            line += [JSON_VALUE, left.pop(0)]
        else:
            line.append(word)
    return line


def begin(*, as_json: bool = False, commands: Iterable[str] = ()) -> None:
    """Start a run with no exit code committed; `commands` are those that a mistyped one may have meant."""
    forget_command()
    _Ending.commands = tuple(commands)
    _Ending.settled, _Ending.emitted, _Ending.as_json, _Ending.safe = None, False, as_json, RESUME


def can_show_progress() -> bool:
    """Return whether someone watches who wants to see how far a command is."""
    wanted = os.environ.get("TAKEBACK_PROGRESS") != "0" and not _Ending.as_json
    return wanted and err.is_terminal and os.environ.get("TERM") not in {None, "", "dumb"}


def count_seconds(command: str) -> None:
    """Show on a terminal, from two seconds on, how long the command has been running, and how far it is."""

    def write(text: str) -> None:
        if err.stream is not None and not err.stream.closed:
            err.stream.write(text)
            err.stream.flush()

    if can_show_progress():
        from takeback.progress import listener  # noqa: PLC0415 - start-up

        _Ending.counting = True
        listener.set(pulse.counting)
        pulse.begin(f"takeback {escape_invisible(command)}", write)


def _stop_counting() -> None:
    pulse.end()
    if _Ending.counting:
        from takeback.progress import listener  # noqa: PLC0415 - start-up

        _Ending.counting = False
        listener.set(None)


def set_interrupt_message(text: str) -> None:
    """Say what is safe, and how to go on, if the command is interrupted from now on."""
    _Ending.safe = text


def end(code: object, fault: Exception | None, *, as_json: bool) -> int:
    """Return the exit code of a run, and print what went wrong on stderr and, if JSON was asked for, on stdout."""
    ended = code if isinstance(code, int) else 0
    _stop_counting()
    try:
        if fault is not None:
            ended = _explain_fault(fault, as_json=as_json)
        elif ended == INTERRUPTED and _Ending.settled is not None:
            ended = _Ending.settled
        elif ended == INTERRUPTED:
            err.print(f"takeback: interrupted; {_Ending.safe}")
        out.flush()
    except OutputError as lost:
        ended = _explain_fault(lost, as_json=False)
    err.flush()
    return ended


def _explain_fault(fault: Exception, *, as_json: bool) -> int:
    message = localize_hints(_format_message(fault))
    if message and type(fault).__name__ != HELP_INSTEAD and not isinstance(fault, OutputError):
        message += localize_hints(add_next_step(message, fault, _Ending.commands).removeprefix(message))
    code = 2
    if _Ending.settled is not None:
        code = _Ending.settled
        message = f"the change was made, but the output is incomplete: {message}"
    elif as_json and message and not _Ending.emitted:
        emit({"error": mask_line(message)})
    if type(fault).__name__ == HELP_INSTEAD:
        err.print(message)
    elif message:
        err.print(f"takeback: {message}")
    return code


def _format_message(fault: Exception) -> str:
    usage = getattr(fault, "format_message", None)
    if usage is not None:
        return str(usage())
    if isinstance(fault, TakebackError):
        return str(fault)
    if isinstance(fault, OSError):
        return f"fault: {fault}"
    return f"fault: {type(fault).__name__}: {fault}\n  This is a mistake in Takeback: please report it."


Advance = Callable[[int, int], None]
"""Say how much is done, and of how much."""


@contextmanager
def show_bar(label: str, unit: Literal["units", "bytes"] = "units") -> Iterator[Advance]:
    """Show a bar while the block runs; where nobody would see it, nothing."""
    if not can_show_progress():
        yield lambda _done, _of: None
        return
    from rich.console import Console  # noqa: PLC0415 - start-up
    from rich.progress import (  # noqa: PLC0415 - start-up
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    pulse.end()
    count = MofNCompleteColumn() if unit == "units" else DownloadColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    console = Console(file=err.stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(label, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


@contextmanager
def end_at_first_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block at the first Ctrl-C, and hear no other until the process has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, before)


def _end(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
