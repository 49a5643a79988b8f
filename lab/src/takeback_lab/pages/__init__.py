"""The lab's pages in the browser, opened by the entry point `takeback.pages`."""

from __future__ import annotations

from pathlib import Path

from takeback.plugins import ExtraPages
from takeback_lab.commands.lab.extra import lab_extra


def open_pages(folder: Path) -> ExtraPages:
    """Open the reports on a folder of results, with what they need to be worked out."""
    from starlette.routing import Route  # noqa: PLC0415 - an extra of the product

    with lab_extra():
        from takeback_lab.pages.lab import Lab, paper, run, runs  # noqa: PLC0415 - loads statistics
        from takeback_lab.report import charts  # noqa: F401, PLC0415 - likewise
    routes = (Route("/lab", runs), Route("/lab/paper", paper), Route("/lab/run/{name:path}", run))
    return ExtraPages("Lab", "/lab", routes, "takeback_lab.pages", Lab(folder))
