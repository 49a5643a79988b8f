"""Reports: tables (Markdown, CSV, LaTeX) and plots (PNG, SVG) from a results folder, the paper's beside.

An experiment only delivers its outcomes as the JSON described in `inputs`; everything shown is computed here.
"""
