"""Harness states: values, surfaces, addresses, canonical form, diff."""

from takeback.state import surfaces as _surfaces
from takeback.state.address import Address
from takeback.state.contract import Contract
from takeback.state.harness_state import State, diff
from takeback.state.operation import Captured, Kind, Level, Operation, Position, Requirement, Stage
from takeback.state.pmap import ABSENT, PMap
from takeback.state.surface import (
    KINDS,
    SURFACES,
    Change,
    Component,
    Provable,
    Slotted,
    Surface,
    register,
    unregister,
)

__all__ = [
    "ABSENT",
    "KINDS",
    "SURFACES",
    "Address",
    "Captured",
    "Change",
    "Component",
    "Contract",
    "Kind",
    "Level",
    "Operation",
    "PMap",
    "Position",
    "Provable",
    "Requirement",
    "Slotted",
    "Stage",
    "State",
    "Surface",
    "diff",
    "register",
    "unregister",
]

del _surfaces
