"""`takeback bench web`: the page with ten thousand entries."""

from __future__ import annotations

import typer

from takeback.cli.output import JsonFlag, emit, err, out
from takeback.cli.serve import require_web_extra


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("web")(web)


def web(
    entries: int = typer.Option(10_000, "--entries", min=100, metavar="N", help="How many entries the journal has."),
    as_json: bool = JsonFlag,
) -> None:
    """Measure the timeline of the page: first view, searches, scrolling, requests per second, memory.

    Example: `takeback bench web --json`
    """
    with require_web_extra():
        from takeback_lab.bench.web import measure  # noqa: PLC0415 - the command line starts without the page

    err.print(f"measuring (most of it is making {entries:,} entries)")
    result = measure(entries)
    if as_json:
        emit(result)
        return
    out.print(
        f"first view of {entries:,} entries: {result['first_view_bytes']:,} bytes, {result['first_view_ms']} ms"
    )
    row = result["browser_first_row_ms"]
    out.print(f"  first row in Chromium: {f'{row} ms' if row is not None else result['browser_missing']}")
    if (scroll := result["browser_scroll"]) is not None:
        often, longest = scroll["frame_ms_95"], scroll["frame_ms_longest"]
        out.print(f"  {scroll['rows']} rows scrolled to: 95% of frames within {often} ms, the longest {longest} ms")
    here, further = result["requests_per_second"], result["requests_per_second_further_down"]
    out.print(f"  {here} requests per second, {further} further down")
    out.print(f"  first search through all entries: {result['first_search_ms']} ms")
    half, longest = result["search_ms_median"], result["search_ms_longest"]
    out.print(f"  searches after that: {half} ms in the middle, the longest {longest} ms")
    memory = result["memory_mb"]
    out.print(f"  memory at most: {memory['harness']} MB with the harness, {memory['served']} MB served")
