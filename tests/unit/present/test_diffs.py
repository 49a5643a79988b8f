"""Diffs that people read: hunks that add up, context, escapes where lines would look alike, and counts."""

from __future__ import annotations

import json
import random
from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st

from takeback.errors import InputError
from takeback.harness.entry_log import diff_states
from takeback.present.changes import find_differences
from takeback.present.diffs import compare_sheets, count_changes, iter_unified_lines, make_sheet
from takeback.state import ABSENT, SURFACES, State
from takeback.state.slots import get_slot
from takeback.undo import FORGOTTEN_VALUE, SlotChange


def shown(before, after, slot=("prompts", "system")):
    return [
        text for found in find_differences([SlotChange(slot, before, after)]) for _, text in iter_unified_lines(found)
    ]


def file_slot(content, mode=0o644, path="d/x"):
    raw = {"content": content} if isinstance(content, str) else {"base64": b64encode(content).decode()}
    state = State.read({"files": {path: {**raw, "mode": f"{mode:04o}"}}})
    return get_slot(state, ("files", *path.split("/")))


FORTY = "".join(f"line {number}\n" for number in range(1, 41))


def test_a_change_in_line_33_of_40_shows_that_line_with_its_number_and_context():
    assert shown(FORTY, FORTY.replace("line 33\n", "another\n")) == [
        '--- prompts["system"]',
        '+++ prompts["system"]',
        "@@ -30,7 +30,7 @@",
        " line 30",
        " line 31",
        " line 32",
        "-line 33",
        "+another",
        " line 34",
        " line 35",
        " line 36",
    ]


def test_two_changes_far_apart_are_two_hunks_and_near_ones_share_one():
    far = FORTY.replace("line 3\n", "x\n").replace("line 33\n", "y\n")
    assert sum(line.startswith("@@") for line in shown(FORTY, far)) == 2
    near = FORTY.replace("line 30\n", "x\n").replace("line 33\n", "y\n")
    assert sum(line.startswith("@@") for line in shown(FORTY, near)) == 1


def test_values_of_one_line_are_shown_on_one_line_each_and_never_cut():
    long = "x" * 500
    assert shown(long + "a", long + "b") == [
        f'- prompts["system"] = "{long}a"',
        f'+ prompts["system"] = "{long}b"',
    ]
    assert shown(ABSENT, 5, ("config", "a", "b")) == ['+ config["a.b"] = 5']
    assert shown(None, ABSENT, ("routing", "m")) == ['- routing["m"] = null']


def test_lines_that_look_alike_are_shown_with_escapes():
    before, after = "one\ncaf\u00e9\nthree\n", "one\ncafe\u0301\nthree\n"
    assert '-"caf\\u00e9"' in shown(before, after)
    assert '+"cafe\\u0301"' in shown(before, after)
    assert '+"two "' in shown("one\ntwo\nthree\n", "one\ntwo \nthree\n")
    pair = shown("caf\u00e9", "cafe\u0301")
    assert len({line[2:] for line in pair}) == 2
    assert all(line.isascii() for line in pair)


def test_control_characters_in_lines_and_addresses_are_escaped():
    text = "\n".join(shown("a\nb\x1b[2J\n", "a\nb\x9b\n", ("prompts", "na\x1bme")))
    assert "-b\\x1b[2J" in text
    assert "+b\\x9b" in text
    assert "\x1b" not in text


def test_a_missing_newline_at_the_end_is_marked():
    lines = shown("a\nb\n", "a\nb")
    assert lines[-3:] == ["-b", "+b", "\\ No newline at the end"]


def test_files_are_shown_by_lines_with_changed_modes():
    lines = shown(file_slot("a\nb\nc\n"), file_slot("a\nB\nc\n", 0o755), ("files", "d", "x"))
    assert lines[2:] == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c", '  files["d/x"]: mode 0644 -> 0755']


def test_binary_content_is_shown_by_size_and_digest():
    (line,) = shown(ABSENT, file_slot(b"\xff\x00>"), ("files", "d", "x"))
    assert line.startswith('+ files["d/x"] = (3 bytes, not text, sha256 ')


def test_a_file_too_long_for_a_screen_is_one_line_about_its_bytes():
    (line,) = shown(ABSENT, file_slot("a line\n" * 700_000), ("files", "d", "x"))
    assert line.startswith('+ files["d/x"] = (4,900,000 bytes, too long to show, sha256 ')


def test_a_directory_is_shown_file_by_file():
    state = State.read({"files": {"d/x": {"content": "1\n"}, "d/e/y": {"content": "2\n"}}})
    found = list(find_differences([SlotChange(("files", "d"), ABSENT, get_slot(state, ("files", "d")))]))
    assert [one.address for one in found] == ['files["d/e/y"]', 'files["d/x"]']


def test_an_empty_directory_differs_from_a_setting_called_directory():
    state = State.read({"files": {"d": {"directory": True}}, "config": {"k": {"directory": {"x": 1}}}})
    for slot, told in ((("files", "d"), '{"directory": true}'), (("config", "k"), '{"directory": {"x": 1}}')):
        (line,) = shown(ABSENT, get_slot(state, slot), slot)
        assert line.endswith(f" = {told}")


def test_a_structured_value_is_shown_by_its_lines():
    before = {"handler": "h", "options": {f"option number {n}": n for n in range(5)}, "why": "two\nlines\n"}
    state = State.read({"config": {"k": before}})
    after = State.read({"config": {"k": {**before, "options": {**before["options"], "option number 3": 30}}}})
    lines = shown(get_slot(state, ("config", "k")), get_slot(after, ("config", "k")), ("config", "k"))
    assert [line for line in lines if line[0] in "-+"][2:] == [
        '-    "option number 3": 3,',
        '+    "option number 3": 30,',
    ]
    added = shown(ABSENT, get_slot(state, ("config", "k")), ("config", "k"))
    assert added[-5:] == ['+  "why": """', "+    two", "+    lines", '+  """', "+}"]


def test_a_small_value_stays_on_one_line():
    record = get_slot(State.read({"tools": {"k": {"id": "t"}}}), ("tools", "k"))
    (line,) = shown(ABSENT, record, ("tools", "k"))
    assert line == '+ tools["k"] = {"description": "", "id": "t", "implementation": "", "parameters": {}}'


def test_changed_lines_are_shown_in_their_text_where_it_is_known():
    plain = {"prompts": {"p": FORTY}, "files": {"d/x": {"content": FORTY}}}
    before, after = State.read(plain), State.read(json.loads(json.dumps(plain).replace("line 33", "another")))
    grown = State.of({name: SURFACES[name].transfer_places(after.part(name), before.part(name)) for name in SURFACES})
    changes = diff_states(before, grown)
    assert {len(change.slot) for change in changes} == {3, 4}, "the changes are not of parts"
    found = list(find_differences(changes, lambda: before))
    assert [one.address for one in found] == ['prompts["p"]', 'files["d/x"]']
    for one in found:
        lines = [text for _, text in iter_unified_lines(one)]
        assert lines[2:3] + lines[6:8] == ["@@ -30,7 +30,7 @@", "-line 33", "+another"]


def test_changed_lines_are_shown_alone_where_their_text_is_lost():
    def lost() -> State:
        raise InputError("entry", found="contents that were forgotten", expected="others")

    before = State.read({"prompts": {"p": FORTY}})
    after = State.read({"prompts": {"p": FORTY.replace("line 33", "another")}})
    surface = SURFACES["prompts"]
    grown = before.replace("prompts", surface.transfer_places(after.part("prompts"), before.part("prompts")))
    (found,) = find_differences(diff_states(before, grown), lost)
    assert [text.split(" = ")[1] for _, text in iter_unified_lines(found)] == ['"line 33\\n"', '"another\\n"']


def test_forgotten_values_are_marked():
    assert shown(FORGOTTEN_VALUE, "new") == ['- prompts["system"] = (forgotten)', '+ prompts["system"] = "new"']


def test_counts_match_the_shown_lines():
    change = SlotChange(("prompts", "system"), FORTY, FORTY.replace("line 33\n", "a\nb\n"))
    assert [tuple(stat) for stat in count_changes(find_differences([change]))] == [('prompts["system"]', 2, 1)]


LINES = st.lists(st.sampled_from("abcdef"), max_size=25).map(lambda found: "".join(f"{line}\n" for line in found))


@given(LINES, LINES)
def test_hunks_turn_the_old_text_into_the_new_one(before, after):
    (found,) = find_differences([SlotChange(("prompts", "p"), before, after)])
    old, new, at = before.splitlines(keepends=True), [], 0
    for hunk in found.hunks:
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        new += old[at:start]
        assert hunk.new_start == (len(new) + 1 if hunk.new_count else len(new))
        for line in hunk.lines:
            if line.mark != "+":
                assert old[line.old - 1] == line.text
            if line.mark != "-":
                new.append(line.text)
                assert len(new) == line.new
        at = start + hunk.old_count
    assert "".join(new + old[at:]) == after


def test_large_texts_are_compared_by_unique_lines_first():
    size = 20_000
    old = [f"{number}\n" for number in range(size)]
    new = list(old)
    rng = random.Random(0)
    for at in rng.sample(range(size), 50):
        new[at] = f"changed {at}\n"
    new[0] = new[-1] = "both ends differ\n"
    found = compare_sheets("files/a", make_sheet("".join(old)), make_sheet("".join(new)))
    assert found.added == found.removed == sum(one != two for one, two in zip(old, new, strict=True))
    same = compare_sheets("files/a", make_sheet("a\n" * 3000), make_sheet("b\n" + "a\n" * 2999 + "c\n"))
    assert (same.added, same.removed) == (2, 1)
