"""`takeback verify`, `prove` and `schema`: candidates judged, proved or refuted, and their JSON Schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from takeback.cli.completion import RULES, offer_words
from takeback.cli.display import show_verdict
from takeback.cli.inputs import (
    CandidateFile,
    LanguageOption,
    StateOption,
    name_input,
    read_json,
    read_level,
    read_state,
)
from takeback.cli.output import JsonFlag, emit, finish
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError, LimitError
from takeback.language import candidate_schema, read_candidate
from takeback.verify import RULE_NAMES, Code, Grade, Verdict, VerifyOptions, verify_json
from takeback.verify import prove as prove_candidate
from takeback.verify.sampled import reject_candidate
from takeback.verify.verdict import Reason


def _register_verify(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    rule: str = typer.Option(
        "proof",
        "--rule",
        metavar="NAME",
        help=f"How to decide: {', '.join(RULE_NAMES)}.",
        autocompletion=offer_words(RULES),
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the counterfactual states."),
    dev: str = typer.Option("Q10", "--dev", metavar="SUITE", help="Dev suite: Q2, Q5, Q10, Q20 or Q10-narrow."),
    iid: int | None = typer.Option(
        None, "--iid", metavar="N", help="How many hidden iid states; the rule's own number if left out."
    ),
    ood: int | None = typer.Option(
        None, "--ood", metavar="N", help="How many hidden ood states; the rule's own number if left out."
    ),
    state: Path | None = StateOption,
    locked: str | None = typer.Option(
        None, "--locked", metavar="DIGEST", help="Reject a mutation with another digest than this."
    ),
    exact: bool = typer.Option(False, "--exact", help="Run only on the state given with --state, as it is."),
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Decide whether a candidate may be admitted. By proof for every state, or on samples with `--rule`.

    With proof the sample runs as well; its result is shown, but does not decide.

    Example: `takeback verify examples/candidates/unconditional-delete/candidate.json`
    """
    del reveal  # read by its callback
    level = read_level(language)
    if rule not in RULE_NAMES:
        raise InputError("--rule", found=rule, expected=f"one of {', '.join(RULE_NAMES)}")
    if exact and state is None:
        raise InputError("--exact", found="no --state", expected="the state to run on")
    beside = None
    if exact:
        options = VerifyOptions(rule="exact", level=level, locked=locked, nominal=read_state(state))
    else:
        options = VerifyOptions(
            rule="split-wald" if rule == "proof" else rule,
            level=level,
            locked=locked,
            nominal=read_state(state),
            seed=seed,
            dev=dev,
            iid=iid,
            ood=ood,
        )
        if rule == "proof":
            options, beside = VerifyOptions(level=level, locked=locked), options
    verdict = _decide_verdict(file, options, beside)
    if as_json:
        emit(verdict.to_json())
    else:
        show_verdict(verdict, name_input(file), str(file))
    unreadable = verdict.mutation_digest is None
    yes = not verdict.reasons if exact else verdict.admitted
    raise typer.Exit(2 if unreadable else 0 if yes else 1)


def _decide_verdict(file: Path, options: VerifyOptions, beside: VerifyOptions | None) -> Verdict:
    """Return the verdict on a file, with what a sample drawn `beside` the proof says."""
    try:
        raw = read_json(file)
    except InputError as fault:
        if not file.is_file():
            raise
        code = Code.LIMIT if isinstance(fault, LimitError) else Code.MALFORMED
        return reject_candidate([Reason(code, str(fault))], options.rule, options.language)
    verdict = verify_json(raw, name_input(file), options)
    if beside is None or verdict.grade is Grade.DECLARED:
        return verdict
    return replace(verdict, splits=verify_json(raw, name_input(file), beside).splits)


def _register_prove(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prove")(prove)


def prove(
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Prove that a recovery works on every state, or refute it with the smallest one.

    Example: `takeback prove examples/candidates/config/candidate.json --json`
    """
    del reveal  # read by its callback
    candidate = read_candidate(read_json(file), name_input(file))
    verdict = prove_candidate(candidate, level=read_level(language))
    if as_json:
        shown = verdict.to_json()
        emit({name: shown[name] for name in ("grade", "counterexample", "classes", "reasons")})
    else:
        show_verdict(verdict, name_input(file), str(file))
    finish(yes=verdict.admitted)


def _register_schema(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    language: str | None = LanguageOption,
    repair: bool = typer.Option(False, "--repair", help="Print the schema of a repair, which has no mutation."),
    as_json: bool = JsonFlag,
) -> None:
    """Print the JSON Schema of a candidate. It is JSON with and without `--json`.

    Example: `takeback schema --language L0 > candidate.schema.json`
    """
    del as_json
    emit(candidate_schema(read_level(language), mutation=not repair))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for add in (_register_verify, _register_prove, _register_schema):
        add(app)
