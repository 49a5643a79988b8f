"""Task sets: what the lab asks of an agent's harness, with states, postconditions and references."""

from takeback.lab.tasks.library import get, load
from takeback.lab.tasks.model import DEFECTS, FAMILIES, SETS, Controlled, Task, capability

__all__ = ["DEFECTS", "FAMILIES", "SETS", "Controlled", "Task", "capability", "get", "load"]
