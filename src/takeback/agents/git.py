"""Git in one directory, running no program of the repository; and hooks that keep journal and commits together.

The file system monitor and hooks are switched off, and git's variables are left out: they name another repository, or
settings. Filters and merge drivers of the repository's own config are emptied where a call would run them. Before a
commit, changed harness files that are not recorded are adopted; then the journal's head goes into the commit message
as a trailer. A hook that is there already is kept beside ours and runs first; taking ours out gives it back.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from takeback.adapters.opener import load_manifest, open_workspace
from takeback.adapters.roots import find_manifest_path, find_root_above
from takeback.adapters.trust import require_trusted
from takeback.errors import HarnessError, InputError, TakebackError
from takeback.harness import Adopted, Refused
from takeback.track.git import NO_PROGRAMS, keep_environment

SECONDS: Final = 300
KEPT: Final = ("GIT_AUTHOR",)
"""What git's own variables that are kept begin with; others name another repository, settings or a program."""
PROGRAMS: Final = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|gpg\..*program)$"
"""Settings of a repository that name programs, and what makes a missing one an error."""
EXCLUDE: Final = '"$(git rev-parse --git-path info/exclude)"'
HOOKS: Final = ("pre-commit", "pre-merge-commit", "commit-msg")
EARLIER: Final = ".before-takeback"
"""What the name of a hook that was there ends with while ours is in its place."""
TRAILER: Final = "Takeback-Head"
MARK: Final = "# Takeback's git hook; 'takeback git-hook uninstall' takes it out."
MADE: Final = "# The folder was made for it."
OWN_NAME: Final = re.compile(rb"basename\b[^\n]*\$\{?0|\$\{0##|argv\[0\]|__file__")
"""How hooks look at the name they are called by: one that is called by another would do something else."""
SCISSORS: Final = re.compile(rb"^.{1,4}-{8,} >8 -{8,}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one directory, with these variables."""

    place: Path
    env: Mapping[str, str]
    settings: tuple[str, ...] = NO_PROGRAMS

    def at(self, place: Path, **more: str) -> Git:
        """Return git in another directory, with more variables."""
        return Git(place, {**self.env, **more}, self.settings)

    def with_hooks_path(self) -> Git:
        """Return git that knows where hooks are; only for asking that."""
        return Git(self.place, self.env, NO_PROGRAMS[:2])

    def without_programs(self) -> Git:
        """Return git for which the programs that the repository's own config names are emptied."""
        asked = ("config", "--local", "--includes", "--null", "--name-only", "--get-regexp", PROGRAMS)
        _, printed, _ = self.attempt(*asked)
        names = [name for name in printed.decode("utf-8", "surrogateescape").split("\0") if name]
        emptied = (f"{name}={'false' if name.endswith('.required') else ''}" for name in dict.fromkeys(names))
        return Git(self.place, self.env, (*self.settings, *(word for setting in emptied for word in ("-c", setting))))

    def attempt(self, *words: str, given: bytes = b"") -> tuple[int, bytes, str]:
        """Return the exit code, the output and the error output of a command."""
        try:
            done = subprocess.run(  # noqa: S603 - words of our own, and names checked by git
                ["git", *self.settings, *words],  # noqa: S607 - whichever git the user has
                cwd=self.place,
                env=self.env,
                input=given,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise HarnessError("git is not installed") from None
        except subprocess.TimeoutExpired:
            raise HarnessError(f"git {words[0]} took longer than {SECONDS} s") from None
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()

    def run(self, *words: str, given: bytes = b"") -> bytes:
        """Return the output of a command; raise an error if it fails."""
        code, printed, complaint = self.attempt(*words, given=given)
        if code:
            raise HarnessError(f"git {words[0]} failed: {complaint.splitlines()[-1] if complaint else code}")
        return printed

    def line(self, *words: str) -> str:
        """Return the output of a command as one line."""
        return self.run(*words).decode("utf-8", "surrogateescape").rstrip("\n")

    def require_repository(self) -> None:
        """Refuse a directory that is in no working tree of git."""
        code, printed, _ = self.attempt("rev-parse", "--is-inside-work-tree")
        if code or printed.strip() != b"true":
            raise InputError(str(self.place), found="no working tree of git", expected="a directory in one")


def open_git(place: Path, environment: Mapping[str, str]) -> Git:
    """Return git in a directory, for the repository that the directory is in."""
    return Git(place, keep_environment(environment, KEPT))


def why_shared(git: Git, place: str) -> str | None:
    """Say why others get a file, by its path in the directory that git is asked in; None if git does not have it.

    Where git is there and does not say, the file counts as shared.
    """
    if _find_top(git.place) is None:
        return None
    try:
        code, printed, complaint = git.attempt("ls-files", "--stage", "--", place)
    except HarnessError as fault:
        return f"cannot tell whether others get {place}: {fault.message}"
    if code:
        return f"cannot tell whether others get {place}: {complaint.splitlines()[0] if complaint else 'git failed'}"
    return f"git tracks {place}, so others get it" if printed else None


def name_exclusion(git: Git, place: str) -> str | None:
    """Name the command that keeps a file out of commits; None where nothing would take it in."""
    top = _find_top(git.place)
    if top is None:
        return None
    try:
        code, _, _ = git.attempt("check-ignore", "--quiet", "--", place)
    except HarnessError:
        return None
    inside = os.path.relpath(git.place / place, top)
    return None if code == 0 else f"echo /{inside} >> {EXCLUDE}"


def _find_top(root: Path) -> Path | None:
    """Return the top of the working tree that a directory is in."""
    start = Path(os.path.realpath(root))
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


@dataclass(frozen=True, slots=True)
class PlacedHook:
    """What became of one hook."""

    path: Path
    earlier: bool
    """Whether one was there already, which runs first."""


def install_hooks(git: Git, root: Path, program: Sequence[str], *, block: bool) -> tuple[PlacedHook, ...]:
    """Put the hooks in: all of them, or none."""
    git.require_repository()
    folder = _find_hooks_folder(git)
    texts = {
        name: _build_script(name, program, _find_inside(git, root), block=block, made=not folder.exists())
        for name in HOOKS
    }
    for name in HOOKS:
        _require_room(folder / name, program, _find_inside(git, root))
    done: list[PlacedHook] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            done.append(_put_hook(folder / name, text))
    except OSError as fault:
        for hook in done:
            _take_out_hook(hook.path)
        raise HarnessError(f"the git hooks cannot be written: {fault}; nothing was changed") from fault
    return tuple(done)


def _put_hook(place: Path, text: str) -> PlacedHook:
    """Put one hook in; move one that is already there aside."""
    earlier = os.path.lexists(place)
    if earlier:
        place.rename(_name_earlier(place))
    try:
        place.write_text(text, encoding="utf-8")
        place.chmod(0o755)
    except OSError:
        _take_out_hook(place)
        raise
    return PlacedHook(place, earlier)


def _take_out_hook(place: Path) -> PlacedHook:
    """Take one hook out and bring back what was there before."""
    earlier = os.path.lexists(_name_earlier(place))
    if earlier:
        _name_earlier(place).rename(place)
    else:
        place.unlink(missing_ok=True)
    return PlacedHook(place, earlier)


def find_placed(git: Git) -> list[Path]:
    """Return where hooks of ours are; nothing where there is no repository, or none that is this one's alone."""
    try:
        git.require_repository()
        folder = _find_hooks_folder(git)
    except TakebackError:
        return []
    return [folder / name for name in HOOKS if _is_ours(folder / name)]


def uninstall_hooks(git: Git) -> tuple[PlacedHook, ...]:
    """Take the hooks out, and give back what was there."""
    git.require_repository()
    folder = _find_hooks_folder(git)
    ours = [folder / name for name in HOOKS if _is_ours(folder / name)]
    if not ours:
        raise InputError(str(folder), found="none of Takeback's git hooks", expected="hooks to remove")
    made = any(MADE in place.read_text(encoding="utf-8") for place in ours)
    done = tuple(_take_out_hook(place) for place in ours)
    if made:
        with suppress(OSError):
            folder.rmdir()
    return done


def adopt_before_commit(git: Git, start: Path) -> str:
    """Adopt what changed in the harness a directory lies in; says what was done, nothing where there is none."""
    root = find_root_above(start)
    if root is None or find_manifest_path(root) is None:
        return ""
    require_trusted(root, load_manifest(root))
    _, printed, _ = git.attempt("var", "GIT_AUTHOR_IDENT")
    author = printed.decode("utf-8", "replace").rpartition(">")[0]
    with closing(open_workspace(root, hold=False)) as harness:
        outcome = harness.adopt(
            "changed before a commit", by=f"{author}>" if author else "git", origin={"client": "git"}
        )
        if isinstance(outcome, Refused):
            raise HarnessError(outcome.message, hint="the commit's harness files are not in the journal")
        return f"recorded as #{outcome.entry.entry}" if isinstance(outcome, Adopted) else ""


def sign_message(git: Git, start: Path, message: Path) -> None:
    """Put the journal's head into a commit message; an empty one, by which a commit is given up, is left alone."""
    root = find_root_above(start)
    if root is None or find_manifest_path(root) is None:
        return
    require_trusted(root, load_manifest(root))
    whole = message.read_bytes()
    written = SCISSORS.split(whole, maxsplit=1)[0]
    if not git.run("stripspace", "--strip-comments", given=written).strip():
        return
    with closing(open_workspace(root, hold=False)) as harness:
        head = harness.ledger.head
    if not whole.endswith(b"\n"):
        message.write_bytes(whole + b"\n")  # without it git puts the trailer into the last line's paragraph
    words = ("interpret-trailers", "--in-place", "--if-exists", "replace", "--trailer", f"{TRAILER}: {head}")
    _, comment, _ = git.attempt("config", "--get", "core.commentChar")
    char = comment.decode("utf-8", "replace").strip()
    with TemporaryDirectory(prefix="takeback-git-") as apart:  # a repository's config may name a program for trailers
        outside = git.at(Path(apart), GIT_CEILING_DIRECTORIES=str(Path(apart).resolve().parent))
        outside.run(*(("-c", f"core.commentChar={char}") if char else ()), *words, str(message.absolute()))


def _find_hooks_folder(git: Git) -> Path:
    """Return the folder where git looks for hooks; refuse one that other repositories may share."""
    folder = (git.place / git.with_hooks_path().line("rev-parse", "--git-path", "hooks")).resolve()
    common = (git.place / git.line("rev-parse", "--git-common-dir")).resolve()
    top = Path(git.line("rev-parse", "--show-toplevel")).resolve()
    if not folder.is_relative_to(common) and not folder.is_relative_to(top):
        raise InputError(
            "core.hooksPath",
            found=f"{folder}, outside of this repository",
            expected="hooks that belong to this repository alone",
            hint=f"add 'takeback git-hook run pre-commit' and 'takeback git-hook run commit-msg \"$1\"' to {folder}, "
            "or set core.hooksPath for this repository",
        )
    return folder


def _find_inside(git: Git, root: Path) -> str:
    """Return the harness's path in its working tree, which is the same in every other one."""
    top = Path(git.line("rev-parse", "--show-toplevel")).resolve()
    return os.path.relpath(root.resolve(), top)


def _name_earlier(place: Path) -> Path:
    return place.with_name(place.name + EARLIER)


def _is_ours(place: Path) -> bool:
    try:
        return not place.is_symlink() and MARK in place.read_text(encoding="utf-8").splitlines()[1:2]
    except (OSError, UnicodeDecodeError):
        return False


def _require_room(place: Path, program: Sequence[str], inside: str) -> None:
    """Refuse where our hook is already in place, and where a hook is there that another cannot call."""
    if _is_ours(place):
        raise InputError(
            str(place),
            found="Takeback's hook already",
            expected="none of it yet",
            hint="'takeback git-hook uninstall' first, to put it in differently",
        )
    if not os.path.lexists(place):
        return
    by_hand = f"add this line to it: {' '.join(_build_call(place.name, program, inside))} || true"
    if os.path.lexists(_name_earlier(place)):
        raise InputError(str(_name_earlier(place)), found="a file", expected="nothing there", hint=by_hand)
    if place.is_symlink() or not place.is_file() or OWN_NAME.search(place.read_bytes()):
        raise InputError(
            str(place),
            found="a hook that depends on the name or place it is called by",
            expected="none, or one that another hook can call",
            hint=by_hand,
        )


def _build_call(name: str, program: Sequence[str], inside: str) -> list[str]:
    words = [*program, "git-hook", "run", name, *(("--dir", inside) if inside != "." else ())]
    return [shlex.join(words), *(('"$1"',) if name == "commit-msg" else ())]


def _build_script(name: str, program: Sequence[str], inside: str, *, block: bool, made: bool) -> str:
    call = " ".join(_build_call(name, program, inside))
    absent = "{ echo 'the commit waits for takeback, which is not there' >&2; exit 1; }" if block else "exit 0"
    lines = (
        "#!/bin/sh",
        MARK,
        *((MADE,) if made else ()),
        f'if [ -x "$0{EARLIER}" ]; then "$0{EARLIER}" "$@" || exit $?; fi',
        f"command -v {shlex.quote(program[0])} > /dev/null 2>&1 || {absent}",
        f"{call} || exit {'1' if block else '0'}",
    )
    return "\n".join(lines) + "\n"
