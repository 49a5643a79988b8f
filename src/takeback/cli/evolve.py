"""`takeback evolve` and `propose`: a change that a model proposes in plain words, judged, repaired and checked."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
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
from takeback.cli.completion import RULES, offer_words
from takeback.cli.context import JournalOption, NoteOption, find_key_file, open_harness
from takeback.cli.display import show_verdict
from takeback.cli.inputs import LanguageOption, read_json
from takeback.cli.options import argument, flag, refuse_several, setting
from takeback.cli.outcomes import LOOSENS, UNCHANGED, print_and_exit, show_loosening, show_outcome
from takeback.cli.output import commit_exit_code, emit, finish, out
from takeback.cli.repair import Opened, RepairOptions, SynthesizerOption, is_plain_replay, show_repair
from takeback.cli.secrets import mask_value
from takeback.errors import InputError
from takeback.evolve import ChangeCheck, Evolution, Propose, carry_out, consider_change
from takeback.evolve import evolve as run
from takeback.harness import Harness, Preview, Refused
from takeback.plugins import load_tasks
from takeback.present.warnings import weigh_states
from takeback.repair.attempt import build_attempt
from takeback.repair.loop import Settings
from takeback.repair.models import ChatModel, Sampling
from takeback.repair.synthesizer import parse_spec
from takeback.secret_mask import mask_text_secrets
from takeback.undo.record import run_and_record
from takeback.verify import RULE_NAMES

LOCAL_LIMIT: Final = 4000
"""Characters of a harness that a local model is shown: its context is small."""
TextArgument = argument("TEXT", "What to change, in plain words, for the model.", None)


@dataclass(frozen=True)
class WishOptions(RepairOptions):
    """How a change is asked for and checked, and the journal of the workspace."""

    check: str = setting(
        "--check", "CMD", "A command that tests the change in a scratch copy; exit code 0 means it is good."
    )
    check_timeout: float = setting("--check-timeout", "SECONDS", "How long the check may take.", SECONDS, min=0.1)
    context: int | None = setting(
        "--context",
        "N",
        "The most characters of the harness that the model sees.",
        None,
        min=SMALLEST,
        max=1_000_000,
        show_default=f"{LIMIT}; {LOCAL_LIMIT} for a local model",
    )
    journal: str | None = JournalOption

    def make_check(self, harness: Harness, directory: Path) -> ChangeCheck | None:
        """Return the check that the options ask for; None if they ask for none."""
        if not self.check:
            return None
        root = find_root(directory)
        require_copyable_journal(root, self.journal)
        return check_on_copy(harness, root, self.check, seconds=self.check_timeout, keys=find_key_file())


@dataclass(frozen=True, slots=True)
class Wish:
    """A change in plain words, and how it is asked for."""

    directory: Path
    text: str
    synthesizer: str
    options: WishOptions
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


def evolve(
    options: WishOptions,
    directory: Path = argument("DIR", "The workspace."),
    text: str | None = TextArgument,
    task: str | None = setting("--task", "FILE|ID", "A candidate or mutation; with takeback-lab, a task's id.", None),
    synthesizer: str = SynthesizerOption,
    loosen: bool = flag(
        "--loosen", "With a TEXT: make the change even if it loosens permissions or removes a guard."
    ),
    note: str = NoteOption,
) -> None:
    """Let an agent change its harness if the change can be undone.

    One change per call: propose, verify, diagnose, repair, check, admit, record, apply. With a TEXT, a model proposes
    the change; it sees the harness with secrets masked. If its recovery falls short, the oracle or the model repairs
    it.

    Example: `takeback evolve . "ask before deleting files" --synthesizer openai:MODEL --check ./health.sh`,
    `takeback evolve agent --task change.json --synthesizer oracle`
    """
    _require_text_or_task(directory, text, task, "evolve")
    settings = options.read_settings()
    if text is not None:
        _evolve_text(Wish(directory, text, synthesizer, options), note, loosen=loosen)
        return
    with options.open(synthesizer) as opened, open_harness(directory, options.journal) as harness:
        propose, title = _choose_proposer(task or "", opened, settings.sampling)
        checking = options.make_check(harness, directory)
        done = run(harness, propose, opened.method, settings=settings, check=checking, note=note or title)
        if done.applied:
            commit_exit_code(0)
        if options.as_json:
            emit(done.to_json())
        else:
            _show(done, task or "", harness)
    finish(yes=done.applied or done.unchanged)


def _evolve_text(wish: Wish, note: str, *, loosen: bool) -> None:
    with _consider_wish(wish) as considered:
        done = considered.done
        if not considered.looser or loosen:
            note = note or mask_text_secrets(considered.asking.text)
            done = carry_out(considered.harness, done, head=considered.head, note=note, by=considered.name)
        if done.applied:
            commit_exit_code(0)
        if wish.options.as_json:
            asked = done.good is not None and done.result is None and not done.unchanged
            stopped = {"refused": LOOSENS} if asked else {}
            emit({**considered.to_json(), **done.to_json(), **stopped})
        else:
            _show_considered(considered)
            _conclude_text(considered, done)
    finish(yes=done.applied or done.unchanged)


def _conclude_text(considered: Considered, done: Evolution) -> None:
    if done.unchanged:
        out.print(UNCHANGED)
    elif done.result is not None:
        show_outcome(done.result, considered.harness, name="the change")
    elif done.good is not None:
        show_loosening()
    else:
        out.print(_why_not_made(done), style="yellow")


def _choose_proposer(task: str, opened: Opened, sampling: Sampling) -> tuple[Propose, str]:
    """Return who proposes the change, and a line for the log: a file as it is, or for a task of the lab the
    model behind the synthesizer, or without one the task's reference.
    """
    path = Path(task)
    if path.suffix == ".json" or path.exists():
        raw = read_json(path)
        if not isinstance(raw, dict):
            raise InputError(task, found=raw, expected="a candidate, or a mapping with a mutation")
        attempt = build_attempt(raw)
        return lambda _: attempt, path.name
    proposer_for_task: Callable[[str, ChatModel | None, Sampling], tuple[Propose, str]] = (
        load_tasks().proposer_for_task
    )
    return proposer_for_task(task, opened.model, sampling)


def _show(done: Evolution, name: str, harness: Harness) -> None:
    if done.proposal.rejected is not None:
        out.print(f"proposed: {done.proposal.rejected.shortfall}: {done.proposal.rejected.detail}")
    if done.verdict is not None:
        show_verdict(done.verdict, f"{name} (as proposed)")
    if done.repair is not None:
        show_repair(done.repair, name)
    if done.check is not None:
        out.print(f"check {done.check.words}", style="green" if done.check.passed else "red")
    if done.unchanged:
        out.print(UNCHANGED)
    elif done.result is not None:
        show_outcome(done.result, harness, name=name)
    else:
        out.print("nothing was changed")


def propose(
    options: WishOptions,
    directory: Path | None = argument("DIR", "The workspace.", None),
    text: str | None = TextArgument,
    task_id: str | None = setting(
        "--task", "ID", "With takeback-lab: a task of the lab instead, such as nat_mw_001.", None
    ),
    synthesizer: str = setting("--synthesizer", "NAME", "The model: openai:MODEL, local or replay[:DIR].", "replay"),
    proposals: int = setting(
        "--joint", "N", "Of a task: how many proposals to choose the best from.", 1, min=1, max=64
    ),
    language: str | None = LanguageOption,
    rule: str | None = setting(
        "--rule",
        "NAME",
        f"The rule that judges: {', '.join(RULE_NAMES)}.",
        None,
        show_default="proof; split-wald for a task",
        autocompletion=offer_words(RULES),
    ),
    oracle: bool = typer.Option(True, "--oracle/--no-oracle", help="Repair with the oracle before asking again."),
) -> None:
    """Ask a model for a change, and repair it if it cannot be undone. Nothing is changed.

    The model sees the harness with secrets masked. The output shows its candidate, the verdict, the check and the
    changes it would make. For a task of the lab, the best of several proposals that can be undone is chosen; plain
    `replay` answers in L1 and with the first prompts, as it was recorded.

    Example: `takeback propose . "ask before deleting files" --synthesizer openai:MODEL`,
    `takeback propose --task nat_cfg_001 --synthesizer replay`
    """
    _require_text_or_task(directory, text, task_id, "propose")
    settings = options.read_settings()
    if text is not None and directory is not None:
        of_tasks = {"--joint": proposals != 1, "--language": language, "--rule": rule not in {None, "proof"}}
        for name in (name for name, is_given in of_tasks.items() if is_given):
            raise InputError(name, found="a text", expected="a task of the lab: --task ID")
        _propose_text(Wish(directory, text, synthesizer, options, oracle))
    else:
        for name in (name for name, is_given in {"DIR": directory, "--check": options.check}.items() if is_given):
            raise InputError(name, found="--task", expected="what to change in DIR, in plain words")
        load_tasks().search_task(
            task_id or "",
            synthesizer,
            settings,
            proposals=proposals,
            language=language,
            rule=rule or "split-wald",
            record=options.record,
            threads=options.threads,
            oracle=oracle,
            as_json=options.as_json,
        )


def _propose_text(wish: Wish) -> None:
    with _consider_wish(wish) as considered:
        good = considered.done.good is not None and not isinstance(considered.plan, Refused)
        if wish.options.as_json:
            emit(considered.to_json())
        else:
            _show_considered(considered)
            show_plan(considered)
            out.print("it may be made; nothing was changed" if good else _why_not_made(considered.done), style="bold")
    finish(yes=good)


def _require_text_or_task(directory: Path | None, text: str | None, task: str | None, command: str) -> None:
    """Refuse a command line that says neither what to change nor which task, or both."""
    refuse_several(command, {"a text": text is not None, "--task": task is not None})
    if text is None and task is None:
        given = "neither a text nor --task" if directory is None else f"{directory}, and no text"
        words = ["takeback", command, str(directory or "DIR"), "ask before deleting files"]
        example = f"for example: {shlex.join([*words, '--synthesizer', 'openai:MODEL'])}"
        raise InputError(
            command, found=given, expected="a directory, and what to change in plain words", hint=example
        )
    if text is not None and not text.strip():
        raise InputError("TEXT", found="an empty text", expected="what to change, in plain words")


@contextmanager
def _consider_wish(wish: Wish) -> Iterator[Considered]:
    """Open the harness and the model, and have the change proposed, judged, repaired and checked."""
    options, settings = wish.options, wish.options.read_settings()
    with (
        open_harness(wish.directory, options.journal) as harness,
        options.open(_require_model(wish.synthesizer)) as opened,
    ):
        check = options.make_check(harness, wish.directory)
        with harness.held() as state:
            if isinstance(state, Refused):
                print_and_exit(state, harness)
        asking = _make_proposer(harness, opened, wish, settings)
        head = harness.ledger.head
        method = repair_masked(asking.model, oracle=wish.oracle)
        done = consider_change(harness, asking, method, settings=settings, check=check)
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


def _make_proposer(harness: Harness, opened: Opened, wish: Wish, settings: Settings) -> TextProposer:
    behind = opened.spec.behind or opened.spec
    limit = wish.options.context or (LOCAL_LIMIT if behind.kind == "local" else LIMIT)
    tries = min(settings.budget, MAX_TRIES)
    if opened.model is None:
        raise InputError("--synthesizer", found=str(opened.spec), expected="a model")
    return propose_text(harness, wish.text, opened.model, sampling=settings.sampling, tries=tries, limit=limit)


def _add_preview(considered: Considered) -> Considered:
    admitted = considered.done.recoverable
    if admitted is None:
        return considered
    before = considered.harness.state
    after = run_and_record(admitted.candidate.mutation, before).state
    plan = considered.harness.preview(admitted.candidate, evidence=admitted.verdict)
    return replace(considered, plan=plan, looser=tuple(weigh_states(considered.harness, before, after)))


def _show_considered(considered: Considered) -> None:
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


def _why_not_made(done: Evolution) -> str:
    if done.proposal.mutation is None:
        return "the model proposed nothing that can be used; nothing was changed"
    if done.recoverable is None:
        return "it cannot be taken back, and no recovery was found; nothing was changed"
    if done.check is not None and not done.check.passed:
        return "the check failed; nothing was changed"
    return "nothing was changed"
