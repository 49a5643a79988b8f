"""The benchmark of edits: its histories, its truth, its peers, and what it says about several readings."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from takeback_lab.bench import edits
from takeback_lab.bench.edit_growth import measure_growth
from takeback_lab.bench.edit_peers import LIST_PEERS, TEXT_PEERS, Peer
from takeback_lab.bench.edits import compare, readings
from takeback_lab.bench.histories import CLASSES, EDITS, TAKEN_OUT, histories
from takeback_lab.bench.list_histories import LIST_CLASSES, list_histories, sorted_histories
from takeback_lab.bench.place_histories import place_histories

FRESH = 7_301
TEXTS = histories(6, FRESH)
LISTS = list_histories(6, FRESH)


def edited(text, change):
    before, found, after = text.partition(change.old)
    assert found
    assert change.old not in after
    return before + change.new + after


@pytest.mark.parametrize("history", TEXTS, ids=lambda history: history.kind)
def test_the_changes_of_a_history_of_a_text_make_its_versions(history):
    text = history.versions[0]
    assert len(history.changes) == EDITS
    for changes, version in zip(history.changes, history.versions[1:], strict=True):
        for change in changes:
            text = edited(text, change)
        assert text == version


@pytest.mark.parametrize("history", LISTS, ids=lambda history: history.kind)
def test_the_operations_of_a_history_of_a_list_make_its_versions(history):
    items = list(history.versions[0])
    for op, version in zip(history.operations, history.versions[1:], strict=True):
        if op["op_type"] == "remove_config_item":
            items.remove(op["value"])
        elif "after" in op:
            items.insert(items.index(op["after"]) + 1, op["value"])
        else:
            items.insert(items.index(op["before"]) if "before" in op else len(items), op["value"])
        assert tuple(items) == version


def test_the_expected_text_reverses_the_third_change():
    for history in histories(8, FRESH):
        if history.kind == CLASSES[0]:
            (change,) = history.changes[TAKEN_OUT - 1]
            back = replace(change, old=change.new, new=change.old)
            if history.versions[-1].count(back.old) == 1:
                assert edited(history.versions[-1], back) == history.right


def test_histories_are_the_same_for_the_same_seed_and_others_for_another():
    assert histories(2, 1) == histories(2, 1) != histories(2, 2)
    assert list_histories(2, 1) == list_histories(2, 1) != list_histories(2, 2)
    assert {history.kind for history in TEXTS} == set(CLASSES)
    assert {history.kind for history in LISTS} == set(LIST_CLASSES)


def test_readings_are_counted_by_trying_every_place():
    assert readings(("a", "b", "b", "c"), ("a", "b", "c")) == 2
    assert readings(("a", "b", "c"), ("a", "c")) == 1
    assert readings(("a", "c"), ("a", "a", "c")) == 2
    assert readings(("a", "b", "a", "b"), ("a", "b")) == 3
    assert readings(("a", "b"), ("a", "c")) == 1
    assert readings(("a",), ()) == 1


@pytest.fixture(scope="module")
def texts():
    return compare([edits._of_text(history) for history in TEXTS], TEXT_PEERS)


@pytest.fixture(scope="module")
def lists():
    return compare([edits._of_list(history) for history in LISTS], LIST_PEERS)


def test_with_known_spans_every_third_edit_comes_out_right(texts, lists):
    assert texts["right_known"] == texts["histories"] == len(TEXTS)
    assert lists["right_known"] == lists["histories"] == len(LISTS)


def test_adopted_versions_are_mostly_right_and_report_ambiguity(texts, lists):
    assert texts["right_adopted"] >= 0.92 * len(TEXTS)
    assert lists["right_adopted"] >= 0.92 * len(LISTS)
    for found in (texts, lists):
        assert found["ambiguous"]["said"] == found["ambiguous"]["several"] > 0
        assert found["ambiguous"]["said_needlessly"] == 0


@pytest.mark.parametrize("seed", [FRESH + 1, FRESH + 2])
def test_few_adopted_texts_are_wrong_and_none_silently(seed):
    texts = compare([edits._of_text(one) for one in (*histories(20, seed), *place_histories(10, seed))], ())
    lists = compare([edits._of_list(one) for one in (*list_histories(20, seed), *sorted_histories(10, seed))], ())
    for found in (texts, lists):
        assert found["silently_wrong"] == 0
        assert found["right_adopted"] >= 0.98 * found["histories"]


def test_an_item_inserted_where_one_was_removed_is_marked_open():
    told = [history for history in list_histories(30, FRESH) if any(history.open)]
    assert told
    for history in told:
        edit = history.open.index(True)
        before, after = history.versions[edit], history.versions[edit + 1]
        at = next(at for at in range(len(after)) if before[at : at + 1] != after[at : at + 1])
        assert 0 < at < len(before)
        assert any("remove" in one["op_type"] for one in history.operations[:edit])


def test_every_peer_is_counted_on_every_history(texts, lists):
    for found, peers in ((texts, TEXT_PEERS), (lists, LIST_PEERS)):
        assert {*found["peers"], *found["missing"]} == {peer.name for peer in peers}
        for row in found["peers"].values():
            assert row["right"] + row["refused"] + row["wrong"] == found["histories"]


def test_peers_show_their_known_strengths_and_faults(texts):
    peers = texts["peers"]
    if "git revert" in peers:
        assert peers["git revert"]["wrong"] == 0
        assert peers["git revert"]["by_class"]["far apart"]["refused"] == 0
        assert peers["git revert"]["by_class"]["dependent"]["refused"] > 0
    for name in ("diff-match-patch", "Yjs text", "Yjs array of lines"):
        if name in peers:
            assert peers[name]["by_class"]["far apart"]["right"] == 6
            assert peers[name]["wrong"] > 0


def test_a_peer_that_is_not_installed_is_reported_missing():
    def answers(_):
        raise AssertionError("asked")

    found = compare([edits._of_text(TEXTS[0])], [Peer("nobody", "no_such_module", answers)])
    assert found["missing"] == ["nobody"]
    assert found["peers"] == {}


def test_wrong_answers_and_refusals_do_not_count_as_right():
    case = edits._of_text(TEXTS[0])
    liars = [Peer("refuses", "json", lambda all_: [None] * len(all_)), Peer("lies", "json", lambda all_: [("x",)])]
    found = compare([case], liars)["peers"]
    assert (found["refuses"]["refused"], found["lies"]["wrong"]) == (1, 1)
    wrong = compare([replace(case, right=("x",))], ())
    assert (wrong["right_known"], wrong["right_adopted"]) == (0, 0)


def test_growth_is_measured_for_texts_lists_and_chains():
    found = measure_growth((10, 20), rounds=2)
    assert {"growth_text", "growth_list", "growth_chain"} <= set(found)
    for rows, size in itertools.product(found["growth_us"].values(), (10, 20)):
        assert set(rows[size]) == {"edit_us", "undo_us", "first_edit_us", "first_undo_us"}
