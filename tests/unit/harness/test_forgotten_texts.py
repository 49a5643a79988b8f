"""What a forgotten text is known to be made of, as its parts are written since."""

from takeback.harness.missing_values import update_missing_value
from takeback.state import ABSENT
from takeback.state.address import make_part_name
from takeback.state.forgotten import Forgotten
from takeback.state.text import Text


def test_a_line_removed_from_a_forgotten_text_is_no_longer_part_of_it():
    form = Text.of("one\ntwo\nthree\n")
    gone = Forgotten(None, None, form)
    left = update_missing_value(gone, ("prompts", "p", make_part_name("1")), ABSENT)
    assert [link.id for link in left.form.links()] == ["0", "2"]
