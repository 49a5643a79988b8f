"""Statistics of the lab, from statsmodels and scipy: bounds, paired tests, bootstrap, interaction, families.

Counts go in, frozen results come out. Nothing here knows an experiment, a file or the command line.
Each function is checked in the tests against a second, independent computation.
"""

from takeback_lab.statistics.bootstrap import (
    RESAMPLES,
    Bootstrap,
    Interaction,
    bootstrap_mean,
    exact_interval,
    interaction,
    paired_bootstrap,
)
from takeback_lab.statistics.bounds import Bound, clopper_pearson, wald, wilson
from takeback_lab.statistics.families import LeftOut, leave_one_family_out
from takeback_lab.statistics.paired import (
    Adjusted,
    McNemar,
    PairedCounts,
    Unpaired,
    holm,
    mcnemar,
    mcnemar_power,
    pair,
    unpaired,
)

__all__ = [
    "RESAMPLES",
    "Adjusted",
    "Bootstrap",
    "Bound",
    "Interaction",
    "LeftOut",
    "McNemar",
    "PairedCounts",
    "Unpaired",
    "bootstrap_mean",
    "clopper_pearson",
    "exact_interval",
    "holm",
    "interaction",
    "leave_one_family_out",
    "mcnemar",
    "mcnemar_power",
    "pair",
    "paired_bootstrap",
    "unpaired",
    "wald",
    "wilson",
]
