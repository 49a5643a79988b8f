"""The lab: task sets, experiments, statistics, protocol locks, results and reports.

Everything here can be run by anyone with the `lab` extra installed; only the pages that show its reports import it.
"""
