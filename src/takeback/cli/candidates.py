"""`takeback verify`, `prove`, `check-proof` and `schema`: candidates judged and proved, proofs checked, a schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import typer

from takeback.canonical import encode, parse, write_compact
from takeback.cli.completion import RULES, offer_words
from takeback.cli.display import show_verdict
from takeback.cli.inputs import (
    CandidateFile,
    LanguageOption,
    StateOption,
    name_input,
    read_bytes,
    read_json,
    read_level,
    read_state,
)
from takeback.cli.options import RevealOptions, argument, flag, setting
from takeback.cli.output import answer, emit, finish, out
from takeback.cli.secrets import mask_value
from takeback.errors import InputError, LimitError
from takeback.language import Candidate, candidate_schema, read_candidate
from takeback.opinion.checker import check_certificate
from takeback.opinion.interpreter import RejectedError
from takeback.opinion.solver import Opinion, ask_z3
from takeback.verify import RULE_NAMES, Code, Grade, Verdict, VerifyOptions, verify_json
from takeback.verify import prove as prove_candidate
from takeback.verify.sampled import reject_candidate
from takeback.verify.verdict import Reason

MAX_CERTIFICATE: Final = 200_000_000
"""Bytes of a certificate, which may be larger than candidates."""


def verify(
    options: RevealOptions,
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    rule: str = setting(
        "--rule", "NAME", f"How to decide: {', '.join(RULE_NAMES)}.", "proof", autocompletion=offer_words(RULES)
    ),
    seed: int = setting("--seed", "N", "Seed of the counterfactual states.", 0),
    dev: str = setting("--dev", "SUITE", "Dev suite: Q2, Q5, Q10, Q20 or Q10-narrow.", "Q10"),
    iid: int | None = setting("--iid", "N", "How many hidden iid states; the rule's own number if left out.", None),
    ood: int | None = setting("--ood", "N", "How many hidden ood states; the rule's own number if left out.", None),
    state: Path | None = StateOption,
    locked: str | None = setting("--locked", "DIGEST", "Reject a mutation with another digest than this.", None),
    exact: bool = flag("--exact", "Run only on the state given with --state, as it is."),
) -> None:
    """Decide whether a candidate may be admitted. By proof for every state, or on samples with `--rule`.

    With proof the sample runs as well; its result is shown, but does not decide.

    Example: `takeback verify examples/candidates/unconditional-delete/candidate.json`
    """
    level = read_level(language)
    if rule not in RULE_NAMES:
        raise InputError("--rule", found=rule, expected=f"one of {', '.join(RULE_NAMES)}")
    if exact and state is None:
        raise InputError("--exact", found="no --state", expected="the state to run on")
    sampling = VerifyOptions(level=level, locked=locked, nominal=read_state(state))
    beside = None
    if exact:
        how = replace(sampling, rule="exact")
    else:
        drawn = "split-wald" if rule == "proof" else rule
        how = replace(sampling, rule=drawn, seed=seed, dev=dev, iid=iid, ood=ood)
        if rule == "proof":
            how, beside = VerifyOptions(level=level, locked=locked), how
    verdict = _decide_verdict(file, how, beside)
    if options.as_json:
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


def prove(
    options: RevealOptions,
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    certificate: Path | None = setting(
        "--certificate", "FILE", "Write the proof's certificate to this file, for 'takeback check-proof'.", None
    ),
    second_opinion: str | None = setting("--second-opinion", "NAME", "Also ask an independent solver: z3.", None),
) -> None:
    """Prove that a recovery works on every state, or refute it with the smallest one.

    With `--second-opinion` the solver must not contradict the proof; it says what it cannot decide.

    Example: `takeback prove examples/candidates/config/candidate.json --json`
    """
    if second_opinion not in (None, "z3"):
        raise InputError("--second-opinion", found=second_opinion, expected="z3")
    candidate = read_candidate(read_json(file), name_input(file))
    verdict = prove_candidate(candidate, level=read_level(language))
    opinion = ask_z3(candidate.to_json()) if second_opinion else None
    written = certificate is not None and verdict.certificate is not None
    if certificate is not None and verdict.certificate is not None:
        _save(certificate, verdict.certificate.to_json())
    if options.as_json:
        shown = verdict.to_json()
        proof = {name: shown[name] for name in ("grade", "class", "stays", "counterexample", "classes", "reasons")}
        proof |= {"certificate": str(certificate) if written else None} if certificate is not None else {}
        emit(proof | ({"second_opinion": opinion.to_json()} if opinion is not None else {}))
    else:
        show_verdict(verdict, name_input(file), str(file))
        _tell_more(certificate, opinion, written=written)
    finish(yes=verdict.admitted and (opinion is None or opinion.answer != "breaks"))


def _save(file: Path, plain: dict[str, Any]) -> None:
    try:
        file.write_text(write_compact(plain) + "\n", encoding="utf-8")
    except OSError as fault:
        raise InputError(
            str(file), found=fault.strerror or str(fault), expected="a file that can be written"
        ) from None


def _tell_more(certificate: Path | None, opinion: Opinion | None, *, written: bool) -> None:
    if opinion is not None:
        because = f": {opinion.why}" if opinion.why else ""
        answer = {"holds": "it holds on every state", "breaks": "refuted by a state", "unsure": "it cannot tell"}
        out.print(f"  z3: {answer[opinion.answer]}{because}")
        if opinion.state is not None:
            shown = mask_value({name: part for name, part in opinion.state.items() if part})
            out.print(f"    {encode(shown)}")
    if certificate is not None:
        done = f"written to {certificate}" if written else "none, because only a proof has one"
        out.print(f"  certificate: {done}")


def check_proof(
    file: Path | None = argument("FILE", "A certificate, written by 'takeback prove --certificate'.", None),
    candidate: Path | None = setting(
        "--candidate",
        "FILE",
        "The candidate that the certificate must be about; without FILE, it is proved first.",
        None,
    ),
) -> None:
    """Check a proof's certificate with code that shares nothing with the prover.

    It reads the candidate, works out which states must be covered, runs them all in its own interpreter, and
    compares.

    Example: `takeback check-proof --candidate examples/candidates/config/candidate.json`
    """
    wanted = None if candidate is None else read_candidate(read_json(candidate), name_input(candidate))
    try:
        if file is not None:
            certificate = parse(read_bytes(file, MAX_CERTIFICATE), name_input(file))
        else:
            certificate = _prove_anew(wanted)
        report = check_certificate(certificate, None if wanted is None else wanted.digest())
    except RejectedError as fault:
        judged = {"accepted": False, "reason": fault.reason, "detail": fault.detail}
        said = f"rejected: {fault}"
    else:
        judged = {"accepted": True, **report._asdict()}
        said = f"accepted: {report.classes} states as claimed, {report.beside} more of the checker's own"
    answer(judged)
    out.print(said)
    finish(yes=bool(judged["accepted"]))


def _prove_anew(candidate: Candidate | None) -> dict[str, Any]:
    if candidate is None:
        raise InputError("check-proof", found="neither FILE nor --candidate", expected="a certificate or a candidate")
    verdict = prove_candidate(candidate)
    if verdict.certificate is None:
        raise RejectedError("not proved", f"the candidate is {verdict.grade.value}, so it has no certificate")
    return verdict.certificate.to_json()


def schema(
    language: str | None = LanguageOption,
    repair: bool = flag("--repair", "Print the schema of a repair, which has no mutation."),
) -> None:
    """Print the JSON Schema of a candidate. It is JSON with and without `--json`.

    Example: `takeback schema --language L0 > candidate.schema.json`
    """
    emit(candidate_schema(read_level(language), mutation=not repair))
