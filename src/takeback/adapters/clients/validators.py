"""What a real client says of its own documents, where it is installed: its validator, run on a scratch copy.

The copy lies in a temporary directory with a home of its own, so that nothing of the user's is read or written; the
commands were seen to start no hooks and no servers. It is asked for its words when a change is refused anyway; before
every change where the manifest has `ask_client = "always"`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

SECONDS: Final = 30
MOST: Final = 3
"""How many of a client's complaints are quoted."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
Said = Callable[[int, str], list[str]]
"""The complaints in what a client printed, by its exit code."""


@dataclass(frozen=True, slots=True)
class Validator:
    """A client's command that reads all of its settings and says what is wrong with them."""

    title: str
    program: str
    words: tuple[str, ...]
    said: Said
    environment: Mapping[str, str]
    user_folder: str
    trusting: Callable[[str], tuple[str, str]] | None = None
    """A file below the home, and its text, by which the client trusts a project."""


def list_complaints(
    client: str, documents: Mapping[str, bytes], *, user: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Return the client's title and its complaints about documents; none where it cannot be run."""
    validator = VALIDATORS.get(client)
    program = None if validator is None else shutil.which(validator.program)
    if validator is None or program is None:
        return "", ()
    with TemporaryDirectory(prefix="takeback-check-") as made:
        scratch = Path(made).resolve()
        project, home = scratch / "project", scratch / "home"
        for place in (project, home, scratch / "tmp"):
            place.mkdir()
        _write_documents(home / validator.user_folder if user else project, documents)
        if validator.trusting is not None and not user:
            path, text = validator.trusting(str(project))
            _write_documents(home, {path: text.encode()})
        code, text = _run_validator(
            [program, *validator.words], project, _build_environment(validator, program, scratch)
        )
    complaints = [_COLOUR.sub("", line).replace(f"{scratch}/project/", "") for line in validator.said(code, text)]
    return validator.title, tuple(dict.fromkeys(line.replace(str(scratch), "~") for line in complaints))


def describe_complaints(title: str, complaints: tuple[str, ...]) -> str:
    """Return complaints in one sentence; empty if there are none."""
    more = f" (and {len(complaints) - MOST} more)" if len(complaints) > MOST else ""
    return f"{title} itself says: {'; '.join(complaints[:MOST])}{more}" if complaints else ""


def _write_documents(below: Path, documents: Mapping[str, bytes]) -> None:
    for path, data in documents.items():
        place = below / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _build_environment(validator: Validator, program: str, scratch: Path) -> dict[str, str]:
    """Return an environment that has nothing of the user's but the folders of the needed programs."""
    folders = [os.path.dirname(place) for place in (program, shutil.which("node")) if place is not None]
    own = {"HOME": str(scratch / "home"), "TMPDIR": str(scratch / "tmp"), "LANG": "C.UTF-8", "NO_COLOR": "1"}
    return {"PATH": os.pathsep.join((*folders, os.defpath)), **own, **validator.environment}


def _run_validator(command: list[str], place: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Return exit code and output; 0 and nothing if the command could not be run or took too long."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the client's own program, with fixed words
            command,
            cwd=place,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return 0, ""
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 0, ""
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return process.returncode, printed.decode("utf-8", "replace")


def _parse_claude_code(code: int, text: str) -> list[str]:
    """Return the complaints that `doctor` lists in a section of its own; it always ends with 0."""
    del code
    _, _, section = text.partition("Invalid settings\n")
    lines = section.partition("\n\n")[0].splitlines()
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def _parse_codex(code: int, text: str) -> list[str]:
    """Return the indented cause; any command ends with 1 where a document cannot be loaded."""
    cause = text.partition("Caused by:\n")[2] or text.partition("Error: ")[2]
    return [" ".join(cause.split())] if code and cause.strip() else []


def _parse_opencode(code: int, text: str) -> list[str]:
    """Return the lines with an arrow, or else the first line, as for a document that is not JSON."""
    lines = [line.strip() for line in _COLOUR.sub("", text).splitlines() if line.strip()]
    complaints = [line.removeprefix("↳").strip() for line in lines if line.startswith("↳")]
    return (complaints or lines[:1]) if code else []


def _parse_gemini(code: int, text: str) -> list[str]:
    """Return complaints, in pairs of lines about values, or in one with exit code 52 for broken JSON."""
    pairs = re.findall(r"^Error in: (.+)\n +(.+)$", text, re.MULTILINE)
    if pairs:
        return [f"{place}: {what}" for place, what in pairs]
    return [text.strip().splitlines()[0]] if code and text.strip() else []


VALIDATORS: Final = {
    "claude-code": Validator(
        "Claude Code",
        "claude",
        ("doctor",),
        _parse_claude_code,
        {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        ".claude",
    ),
    "codex": Validator(
        "Codex",
        "codex",
        ("mcp", "list", "--json"),
        _parse_codex,
        {},
        ".codex",
        lambda project: (".codex/config.toml", f'[projects."{project}"]\ntrust_level = "trusted"\n'),
    ),
    "opencode": Validator(
        "opencode",
        "opencode",
        ("debug", "config"),
        _parse_opencode,
        {"OPENCODE_PURE": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        ".config/opencode",
    ),
    "gemini": Validator(
        "Gemini CLI",
        "gemini",
        ("extensions", "list"),
        _parse_gemini,
        {},
        ".gemini",
        lambda project: (".gemini/trustedFolders.json", f'{{"{project}": "TRUST_FOLDER"}}'),
    ),
}
