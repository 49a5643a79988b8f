"""The documentation's site: every page has its place in the navigation, and every link in the pages leads somewhere.

`make site` builds the site with mkdocs, whose strict mode checks the same links; this holds without mkdocs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
LINK = re.compile(r"\]\(([^()\s]+)\)")
AT_THE_ROOT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "lab/README.md")


def _list_pages(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for part in inner for page in _list_pages(part)]


def _list_anchors(page: Path) -> set[str]:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(_list_pages(SITE["nav"])) == [page.name for page in PAGES]


def test_the_navigation_has_the_four_kinds_of_documentation() -> None:
    kinds = [title for part in SITE["nav"] for title in part]
    assert kinds == ["Home", "Tutorial", "How-to guides", "Reference", "Explanation"]


def test_the_site_loads_nothing_from_elsewhere() -> None:
    assert SITE["strict"] is True
    assert SITE["theme"]["font"] is False
    assert not {"extra_css", "extra_javascript"} & set(SITE)


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / name for name in AT_THE_ROOT)], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", prose)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        aim = (page.parent / name).resolve() if name else page
        assert aim.exists(), target
        if page in PAGES:
            assert aim.is_relative_to(ROOT / "docs"), f"{target} is outside the site"
        if anchor:
            assert anchor in _list_anchors(aim), target
