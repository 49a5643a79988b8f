"""Task sets: what the lab asks of an agent's harness, with states, postconditions and references."""

from takeback_lab.tasks.library import get, load
from takeback_lab.tasks.model import DEFECTS, FAMILIES, INSIDE_FAMILIES, SETS, DefectPair, Task, capability, families

__all__ = [
    "DEFECTS",
    "FAMILIES",
    "INSIDE_FAMILIES",
    "SETS",
    "DefectPair",
    "Task",
    "capability",
    "families",
    "get",
    "load",
]
