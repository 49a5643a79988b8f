"""The paper's figures recomputed: what must agree, what is known not to, and that a change is noticed."""

import copy
from fractions import Fraction

import pytest

from takeback.errors import InputError
from takeback_lab.published import Paper, Printed, intervals, load_paper, recompute
from takeback_lab.published.check import rounds_to, same, within
from takeback_lab.published.interaction import interaction_scores
from takeback_lab.published.intervals import agrees
from takeback_lab.published.recompute import GROUPS

NO_CHECK_CAN_HOLD = {
    ("fresh.change_p", "printed", None): "not derivable",
    ("replication.truncation", "printed", None): "not derivable",
    ("replication.C1.holm", "printed", None): "only a ceiling is printed",
    ("replication.C2.holm", "printed", None): "only a ceiling is printed",
    ("fresh_families.Configuration.gap", "percent", 0): "0 of 0 has no value",
}


@pytest.fixture(scope="module")
def paper():
    return load_paper()


@pytest.fixture(scope="module")
def checks(paper):
    return {check.name: check for check in recompute(paper).checks}


def test_exceptions_are_the_known_ones_and_each_is_explained(checks):
    exceptions = {name: check.status.value for name, check in checks.items() if not check.equal}
    assert exceptions == {
        "responses.D1L0 in all": "differs",
        "responses.D1L0 on S0": "differs",
        "responses.D1L0 on S1": "differs",
        "percentage.fresh_families.Configuration.gap (0/0, 0.0 %)": "differs",
        "interaction: 95 % interval": "not derivable",
        "leave one family out.C1": "not derivable",
        "leave one family out.C3": "not derivable",
        "replication.C1: 95 % interval": "not derivable",
        "fresh.Q20 against Q2: p": "not derivable",
        "replication.truncation rate": "not derivable",
    }
    assert all(len(checks[name].note) > 40 for name in exceptions)
    assert not recompute().all_equal


def test_responses_implied_by_the_rescue_by_budget_are_counted_task_by_task(checks):
    turns = [1] * 24 + [2] * 11 + [3] * 2 + [4] + [4] * (197 - 38)
    assert checks["responses.D1L0 in all"].recomputed == sum(turns) == 692
    assert checks["responses.D1L0 on S0"].recomputed == sum(turns[:48]) == 96


def test_headline_figures_are_recomputed_from_counts(checks):
    expected = {
        "admission.Wald 19/20": 0.85448,
        "contrast.C1: exact McNemar p": 7.28e-12,
        "contrast.C2: Holm p": 1.08e-42,
        "contrast.C3: Holm p": 0.01171875,
        "interaction: estimate in points": -25.89,
        "efficiency.D0L1": 94.2,
        "accounting.yield": 461,
        "stability.evaluations": 1970,
    }
    for name, published in expected.items():
        assert checks[name].equal
        assert checks[name].published == published
        assert checks[name].recomputed == pytest.approx(published, rel=5e-3)


def test_discordant_counts_of_the_replications_third_contrast_have_one_solution(checks):
    assert checks["replication.C3: discordant counts"].recomputed == [[4, 1]]


def test_no_discordant_counts_give_the_printed_p_of_the_fresh_holdout_unadjusted(checks):
    assert "none of them" in checks["fresh.Q20 against Q2: p"].note
    assert "66/22" in checks["fresh.Q20 against Q2: p"].note


def test_interaction_totals_are_enumerated_like_a_brute_force_over_tasks():
    tasks, totals = 4, (2, 3, 2)
    outcomes = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    found = set()

    def place(left, picked):
        if left == 0:
            if tuple(sum(o[i] for o in picked) for i in range(3)) == totals:
                scores = [a - b - c for a, b, c in picked]
                found.add(tuple(scores.count(value) for value in (1, 0, -1, -2)))
            return
        for outcome in outcomes:
            place(left - 1, [*picked, outcome])

    place(tasks, [])
    assert set(interaction_scores(tasks, *totals)) == found


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (Fraction(625, 100), "6.2", True),
        (Fraction(625, 100), "6.3", True),
        (Fraction(635, 100), "6.4", True),
        (Fraction(635, 100), "6.3", False),
        (Fraction(-625, 100), "-6.3", True),
        (79.1666, "79.17", True),
        (79.1649, "79.17", False),
        (7.2759e-12, "7.28e-12", True),
        (7.2749e-12, "7.28e-12", False),
        (692, "691", False),
    ],
)
def test_rounding_rule_accepts_ties_up_or_to_even_and_nothing_else(value, text, expected):
    assert rounds_to(value, Printed(text, "")) is expected


def test_a_range_agrees_only_if_some_value_of_it_rounds_to_the_printed_one():
    printed = Printed("8.84", "")
    assert within("x", printed, 8.81, 8.836, "").equal
    assert not within("x", printed, 8.81, 8.834, "").equal
    assert same("x", Printed("6.2", ""), Fraction(25, 4)).note.startswith("An exact tie")


def test_an_interval_one_step_off_is_refused_where_the_level_is_clear():
    scores = {1: 38, 0: 10}
    step = 100 / 48
    ends = [Printed("66.67", ""), Printed("89.58", "")]
    assert agrees(scores, ends)
    assert not agrees(scores, [Printed(f"{66.67 - step:.2f}", ""), ends[1]])
    assert not agrees(scores, [ends[0], Printed(f"{89.58 + step:.2f}", "")])


class Recording(Paper):
    """A paper that remembers which entries were read."""

    def _field(self, name, field):
        self.__dict__.setdefault("seen", set()).add(name)
        return super()._field(name, field)


def numbers_of(entries):
    """Every number in the data: (entry, field, place in a list or None)."""
    for name, entry in entries.items():
        for field, value in entry.items():
            if field in ("where", "measured", "names"):
                continue
            places = range(len(value)) if isinstance(value, list) else [None]
            yield from ((name, field, place) for place in places)


def altered(entries, name, field, place, *, far):
    """The entries with one number moved: a count by 1, a figure by 6 last digits; `far` moves it more."""

    def move(value):
        if isinstance(value, int):
            return value + (150 if far else 1)
        mantissa, mark, exponent = value.partition("e")
        decimals = len(mantissa.partition(".")[2])
        moved = float(mantissa) + (40 if far else 6 * 10**-decimals)
        return f"{moved:.{decimals}f}{mark}{exponent}"

    changed = dict(entries)
    entry = changed[name] = copy.deepcopy(entries[name])
    if place is None:
        entry[field] = move(entry[field])
    else:
        entry[field][place] = move(entry[field][place])
    return changed


def statuses(group, paper):
    """The status of each check, or the fault that a broken count leads to."""
    try:
        return [check.status for check in group(paper)]
    except (InputError, ValueError, ZeroDivisionError) as fault:
        return [type(fault)]


def test_every_number_of_the_paper_is_held_by_a_check_that_goes_red_when_it_is_changed(paper, monkeypatch):
    monkeypatch.setattr("gc.collect", lambda *_: 0)  # statsmodels collects garbage in every Holm adjustment
    monkeypatch.setattr(intervals, "our_interval", lambda _: [0.0, 0.0])  # shown, decides nothing
    readers = {}
    for group in GROUPS:
        recording = Recording(paper.entries)
        list(group(recording))
        for name in recording.__dict__["seen"]:
            readers.setdefault(name, []).append(group)
    before = {group: statuses(group, paper) for group in GROUPS}

    def noticed(name, field, place, *, far):
        changed = Paper(altered(paper.entries, name, field, place, far=far))
        return any(statuses(group, changed) != before[group] for group in readers.get(name, []))

    unnoticed = {spot for spot in numbers_of(paper.entries) if not noticed(*spot, far=False)}
    loose = {spot for spot in unnoticed if noticed(*spot, far=True)}
    assert unnoticed - loose == set(NO_CHECK_CAN_HOLD)
    ranged = {name.split(".")[0] for name, _, _ in loose}
    assert ranged == {"thresholds", "hidden_size"}
