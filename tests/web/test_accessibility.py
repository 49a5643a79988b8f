"""Every page for everybody: nothing serious or moderate for axe-core, targets to be hit, nothing over a diff."""

from __future__ import annotations

import pytest
from tests.web.conftest import served
from tests.web.stories import drift, guess, name_pages, tell_story
from tests.web.test_page import faults_of

SIZES = """() => Array.from(document.querySelectorAll('a, button, input:not([type=hidden]), select, summary'))
  .filter(one => one.checkVisibility() && !one.closest('.skip'))
  .map(one => [one, (one.closest('label.box, label.some') || one).getBoundingClientRect()])
  .filter(([one, box]) => box.height < 24 || box.width < 24)
  .map(([one, box]) => `${one.outerHTML.slice(0, 120)} ${box.width}x${box.height}`)"""
"""The targets that are smaller than 24 by 24 pixels."""
COVERED = """() => Array.from(document.querySelectorAll('.diff, pre, .state')).flatMap(one => {
  one.scrollIntoView({block: 'end'});
  const box = one.getBoundingClientRect();
  const at = [[box.left + 8, box.bottom - 4], [box.left + box.width / 2, box.bottom - 4]];
  return at.map(([x, y]) => document.elementFromPoint(x, y)).filter(top => top && !one.contains(top) && top !== one)
    .map(top => top.outerHTML.slice(0, 120));
})"""
"""What lies over the last line of a diff that was scrolled to."""


@pytest.fixture(scope="module")
def pages(chromium, tmp_path_factory):
    """A server of the story, after somebody was refused something and changed things by hand; its pages by name."""
    from takeback.web.shelf import HarnessShelf

    root = tmp_path_factory.mktemp("pages") / "parcel-tracker"
    made = tell_story(root)
    shelf = HarnessShelf.of([root])
    guess(shelf.all[0].harness)
    drift(root)
    with served(shelf=shelf) as link:
        opened = chromium.new_context()
        opened.new_page().goto(link)
        cookies = opened.cookies()
        opened.close()
        yield name_pages(link.partition("open")[0], made), cookies
    shelf.close()


@pytest.fixture
def look(chromium, pages):
    """Opens a page of the browser that has the session."""
    opened = []

    def looking(width, scheme):
        context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        context.add_cookies(pages[1])
        opened.append(context)
        return context.new_page()

    yield looking
    for context in opened:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_no_page_has_a_serious_or_moderate_fault_and_none_is_too_wide(pages, look, width, scheme):
    page, found = look(width, scheme), {}
    for name, address in pages[0].items():
        page.goto(address)
        wide = page.evaluate("document.scrollingElement.scrollWidth") > width
        found[name] = [*faults_of(page, "moderate"), *(["too wide"] if wide else [])]
    assert found == {name: [] for name in found}


@pytest.mark.parametrize("width", [1440, 390])
def test_every_target_is_large_enough_and_nothing_covers_a_diff(pages, look, width):
    page, small, covered = look(width, "light"), {}, {}
    for name, address in pages[0].items():
        page.goto(address)
        small[name] = page.evaluate(SIZES)
        covered[name] = page.evaluate(COVERED)
    assert small == {name: [] for name in small}
    assert covered == {name: [] for name in covered}


def test_the_expired_session_page_has_no_accessibility_fault(pages, chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(pages[0]["entry"])
    page.get_by_role("heading", name="This session has expired").wait_for()
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "640px"
    assert faults_of(page, "moderate") == []
    context.close()
