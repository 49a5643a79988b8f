"""What the runs that need statistics say about themselves, in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from takeback_lab.experiment import FEW
from takeback_lab.report.controlled_tables import read_controlled
from takeback_lab.report.counting import (
    PARTS,
    Contrast,
    cells_of,
    contrasts,
    costs,
    factorial_interaction,
    modes_contrast,
    rescue,
    sensitivity,
    suites_contrast,
)
from takeback_lab.report.discordant import discordant
from takeback_lab.report.inputs import FreshData, read_factorial, read_input
from takeback_lab.report.power import pairs_needed, power_of


def factorial_summary(raw: Mapping[str, Any], experiment: str) -> dict[str, Any]:
    """Rescues by cell and stratum, contrasts, interaction, gate, discordant cases, cost."""
    data = read_factorial(experiment, raw)
    cells = {
        cell: {
            part: [rescue(data, cell, part, data.budget).k, rescue(data, cell, part, data.budget).n] for part in PARTS
        }
        for cell in cells_of(data)
    }
    both = factorial_interaction(data) if data.tasks else None
    strata = [task.stratum for task in data.tasks]
    keys = ("id", "family", "stratum", "turns", "calls")
    return {
        "model": data.model,
        "prompts": data.prompts,
        "rule": data.rule,
        "cases": len(data.tasks),
        "tasks": len(data.tasks),
        "s0": strata.count("S0"),
        "s1": strata.count("S1"),
        "strata": {part: strata.count(part) for part in ("S0", "S1", "residual")},
        "locked": data.locked,
        "bank": data.bank,
        "budget": data.budget,
        "cells": cells,
        "contrasts": {contrast.name: said(contrast) for contrast in contrasts(data)} if data.tasks else {},
        "interaction": None if both is None else both.estimate,
        "gate": list(raw["gate"]),
        "discordant": [asdict(one) for one in discordant(data)],
        "outcomes": [{key: task[key] for key in keys} for task in raw["tasks"]],
        "account": raw["account"],
    }


def said(contrast: Contrast) -> dict[str, Any]:
    """Return a contrast as JSON; `few` is set if there are too few cases for one."""
    counts = contrast.counts
    return {
        "n": counts.pairs,
        "few": counts.pairs < FEW,
        "difference": counts.difference,
        "interval": [contrast.interval.lower, contrast.interval.upper],
        "only_new": counts.only_new,
        "only_old": counts.only_old,
        "p": contrast.p_value,
        "p_holm": contrast.p_holm,
        "power": power_of(contrast),
        "needed": pairs_needed(contrast.name),
    }


def controlled_contrasts(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Typed feedback against D1 on the same candidates, where both were run."""
    found = modes_contrast(read_controlled(raw)) if raw["candidates"] else None
    return {} if found is None else {found.name: said(found)}


def fresh_summary(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Each suite's counts and costs, and Q20 against Q2 on the same tasks."""
    data = read_input("fresh", raw, "fresh")
    assert isinstance(data, FreshData)  # noqa: S101  (the name decides the model)
    fields = ("dev", "false_positive", "rescue", "hidden", "gap")
    suites: dict[str, Any] = {}
    for suite in data.suites:
        seen = sensitivity(suite.tasks, data.threshold)
        suites[suite.name] = {field: [getattr(seen, field).k, getattr(seen, field).n] for field in fields}
        suites[suite.name]["cost"] = asdict(costs(suite))
    paired = suites_contrast(data)
    return {
        "model": data.model,
        "prompts": data.prompts,
        "tasks": len(data.suites[0].tasks),
        "locked": data.locked,
        "hidden_states": len(data.suites[0].tasks[0].hidden),
        "states": data.states,
        "suites": suites,
        "Q20_against_Q2": None if paired is None else said(paired),
        "account": raw["account"],
    }
