"""What `propose` and `evolve` share for a change in plain words: options, the model, the output."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import typer

from takeback.adapters.manifest import find_root
from takeback.agents.scratch_copy import SECONDS, check_on_copy, require_copyable_journal
from takeback.agents.text_proposal import LIMIT, MAX_TRIES, SMALLEST, TextProposer, propose_text, repair_masked
from takeback.canonical import write_compact
from takeback.cli.changes import changes_to_json, show_changes
from takeback.cli.context import find_key_file
from takeback.cli.context import open_harness as opened_workspace
from takeback.cli.display import show_verdict
from takeback.cli.outcomes import print_and_exit
from takeback.cli.output import out
from takeback.cli.repair import show_repair
from takeback.cli.secrets import mask_value
from takeback.cli.synthesizers import Opened, is_plain_replay, open_synthesizer
from takeback.errors import InputError
from takeback.evolve import ChangeCheck, Evolution, consider_change
from takeback.harness import Harness, Preview, Refused
from takeback.present.warnings import weigh_states
from takeback.repair.loop import Settings
from takeback.repair.synthesizer import parse_spec
from takeback.undo.record import run_and_record

LOCAL_LIMIT: Final = 4000
"""Characters of a harness that a local model is shown: its context is small."""
LOOSENS: Final = "it loosens permissions or removes a guard; nothing was changed"
TextArgument = typer.Argument(
    None, metavar="TEXT", help="What to change, in plain words, for the model.", show_default=False
)
CheckOption = typer.Option(
    "",
    "--check",
    metavar="CMD",
    help="A command that tests the change in a scratch copy; exit code 0 means it is good.",
)
CheckTimeoutOption = typer.Option(
    SECONDS, "--check-timeout", min=0.1, metavar="SECONDS", help="How long the check may take."
)
ContextOption = typer.Option(
    None,
    "--context",
    min=SMALLEST,
    max=1_000_000,
    metavar="N",
    help="The most characters of the harness that the model sees.",
    show_default=f"{LIMIT}; {LOCAL_LIMIT} for a local model",
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A change in plain words, and how it is asked for."""

    directory: Path
    text: str
    synthesizer: str
    settings: Settings
    record: Path | None = None
    threads: int = 1
    journal: str | None = None
    check: str = ""
    seconds: float = SECONDS
    context: int | None = None
    oracle: bool = True


@dataclass(frozen=True, slots=True)
class Considered:
    """What became of a wish before anything was changed."""

    harness: Harness
    asking: TextProposer
    done: Evolution
    head: str
    plan: Preview | Refused | None
    """What the change would do, where it can be taken back."""
    looser: tuple[str, ...]
    """What it would allow that is not allowed now, and which guards it would remove."""

    @property
    def name(self) -> str:
        """Who proposed, for the log."""
        return f"model {self.asking.model.name}"

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        plan = self.plan
        return {
            "request": self.asking.text,
            "model": self.asking.model.name,
            **self.done.to_json(),
            "admitted": self.done.good is not None,
            "changes": changes_to_json(plan.changes) if isinstance(plan, Preview) else [],
            "files": list(plan.paths) if isinstance(plan, Preview) else [],
            "looser": list(self.looser),
            "fell_short": [
                {"shortfall": attempt.shortfall, "detail": attempt.detail} for attempt in self.asking.fell_short
            ],
            "account": self.asking.account.to_json(),
        }


def require_text_or_task(directory: Path | None, text: str | None, task: str | None, command: str) -> None:
    """Refuse a command line that says neither what to change nor which task, or both."""
    if text is not None and task is not None:
        raise InputError(command, found="a text and --task", expected="one of them")
    if text is None and task is None:
        given = "neither a text nor --task" if directory is None else f"{directory}, and no text"
        words = ["takeback", command, str(directory or "DIR"), "ask before deleting files"]
        example = f"for example: {shlex.join([*words, '--synthesizer', 'openai:MODEL'])}"
        raise InputError(
            command, found=given, expected="a directory, and what to change in plain words", hint=example
        )
    if text is not None and not text.strip():
        raise InputError("TEXT", found="an empty text", expected="what to change, in plain words")


def make_copy_check(
    harness: Harness, directory: Path, journal: str | None, command: str, seconds: float
) -> ChangeCheck | None:
    """Return the check that a command line asks for; None if it asks for none."""
    if not command:
        return None
    root = find_root(directory)
    require_copyable_journal(root, journal)
    return check_on_copy(harness, root, command, seconds=seconds, keys=find_key_file())


@contextmanager
def consider_wish(wish: Wish, *, as_json: bool) -> Iterator[Considered]:
    """Open the harness and the model, and have the change proposed, judged, repaired and checked."""
    with (
        opened_workspace(wish.directory, wish.journal) as harness,
        open_synthesizer(_require_model(wish.synthesizer), wish.record, wish.threads) as opened,
    ):
        check = make_copy_check(harness, wish.directory, wish.journal, wish.check, wish.seconds)
        with harness.held() as state:
            if isinstance(state, Refused):
                print_and_exit(state, harness, as_json=as_json)
        asking = _make_proposer(harness, opened, wish)
        head = harness.ledger.head
        method = repair_masked(asking.model, oracle=wish.oracle)
        done = consider_change(harness, asking, method, settings=wish.settings, check=check)
        yield _add_preview(Considered(harness, asking, done, head, None, ()))


def _require_model(synthesizer: str) -> str:
    spec = parse_spec(synthesizer)
    behind = spec if spec.is_model else spec.behind
    given = f"{spec}, which has no model" if behind is None else "replay, which answers tasks of the lab only"
    if behind is None or is_plain_replay(behind):
        expected = "a model that proposes the change: openai:MODEL, local[:FILE.gguf] or replay:DIR"
        hint = "TAKEBACK_BASE_URL says where openai:MODEL is; 'takeback model fetch' gets a local one"
        raise InputError("--synthesizer", found=given, expected=expected, hint=hint)
    return synthesizer


def _make_proposer(harness: Harness, opened: Opened, wish: Wish) -> TextProposer:
    behind = opened.spec.behind or opened.spec
    limit = wish.context or (LOCAL_LIMIT if behind.kind == "local" else LIMIT)
    tries = min(wish.settings.budget, MAX_TRIES)
    if opened.model is None:
        raise InputError("--synthesizer", found=str(opened.spec), expected="a model")
    return propose_text(harness, wish.text, opened.model, sampling=wish.settings.sampling, tries=tries, limit=limit)


def _add_preview(considered: Considered) -> Considered:
    admitted = considered.done.recoverable
    if admitted is None:
        return considered
    before = considered.harness.state
    after = run_and_record(admitted.candidate.mutation, before).state
    plan = considered.harness.preview(admitted.candidate, evidence=admitted.verdict)
    return replace(considered, plan=plan, looser=tuple(weigh_states(considered.harness, before, after)))


def show_considered(considered: Considered) -> None:
    """Print what was proposed, what was found out about it, and what it would change."""
    done, spent = considered.done, considered.asking.account
    for attempt in considered.asking.fell_short[
        : len(considered.asking.fell_short) - (done.proposal.mutation is None)
    ]:
        out.print(f"sent back: {attempt.shortfall}: {attempt.detail}")
    if done.proposal.raw is not None:
        out.print(f"proposed: {write_compact(mask_value(done.proposal.raw))}")
    if done.proposal.rejected is not None:
        out.print(f"proposed: {done.proposal.rejected.shortfall}: {done.proposal.rejected.detail}", style="yellow")
    if done.verdict is not None:
        show_verdict(done.verdict, "as proposed")
    if done.repair is not None:
        show_repair(done.repair, "repaired")
    tokens = f"{spent.prompt_tokens} + {spent.completion_tokens} tokens"
    out.print(f"asked {considered.asking.model.name}: {spent.calls} call{'' if spent.calls == 1 else 's'}, {tokens}")
    if done.check is not None:
        out.print(f"check {done.check.words}", style="green" if done.check.passed else "red")
        if not done.check.passed and done.check.output:
            out.print("\n".join(f"  | {line}" for line in done.check.output.splitlines()))
    for reason in considered.looser:
        out.print(f"looser: {reason}", style="yellow")


def show_plan(considered: Considered) -> None:
    """Print what the change would do."""
    plan = considered.plan
    if isinstance(plan, Preview):
        out.print("it would change:", style="bold")
        show_changes(plan.changes, lambda: plan.before)
    elif isinstance(plan, Refused):
        out.print(f"refused: {plan.message}", style="red")


def why_not_made(done: Evolution) -> str:
    """Return why a change is not made, in one sentence."""
    if done.proposal.mutation is None:
        return "the model proposed nothing that can be used; nothing was changed"
    if done.recoverable is None:
        return "it cannot be taken back, and no recovery was found; nothing was changed"
    if done.check is not None and not done.check.passed:
        return "the check failed; nothing was changed"
    return "nothing was changed"
