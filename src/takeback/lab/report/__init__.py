"""Reports: tables (Markdown, CSV, LaTeX) and plots (PNG, SVG) from a results folder, the paper's beside.

An experiment only delivers its outcomes as the JSON described in `inputs`; everything shown is computed here.
"""

from takeback.lab.report.build import Report, build_report, plots_of, tables_of
from takeback.lab.report.inputs import EXPERIMENTS, read_input
from takeback.lab.report.table import Table, to_csv, to_latex, to_markdown

__all__ = [
    "EXPERIMENTS",
    "Report",
    "Table",
    "build_report",
    "plots_of",
    "read_input",
    "tables_of",
    "to_csv",
    "to_latex",
    "to_markdown",
]
