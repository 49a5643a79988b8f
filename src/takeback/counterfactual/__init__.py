"""Counterfactual states: strategies, suites, hidden pools."""

from takeback.counterfactual.nominal import nominal_state
from takeback.counterfactual.suites import SUITES, Suites, dev_states, generate, hidden_states, suites
from takeback.state.strategy import IID, OOD, Strategy

__all__ = [
    "IID",
    "OOD",
    "SUITES",
    "Strategy",
    "Suites",
    "dev_states",
    "generate",
    "hidden_states",
    "nominal_state",
    "suites",
]
