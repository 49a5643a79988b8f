"""The ten ways a counterfactual state departs from the nominal one (the paper's taxonomy)."""

from enum import StrEnum


class Strategy(StrEnum):
    """Five for states like those seen (iid), five for structural shifts (ood)."""

    BOUNDARY = "boundary"
    PRIOR_EXISTENCE = "prior_existence"
    COMBINATORIAL = "combinatorial"
    DEPENDENCY = "dependency"
    NOISE = "noise"
    NESTED_KEYS = "nested_keys"
    SOCKET_CONFLICT = "socket_conflict"
    PRIORITY_MIDDLEWARE = "priority_middleware"
    DEEP_DIRECTORIES = "deep_directories"
    INVERTED_ROUTING = "inverted_routing"


IID = (Strategy.BOUNDARY, Strategy.PRIOR_EXISTENCE, Strategy.COMBINATORIAL, Strategy.DEPENDENCY, Strategy.NOISE)
OOD = (
    Strategy.NESTED_KEYS,
    Strategy.SOCKET_CONFLICT,
    Strategy.PRIORITY_MIDDLEWARE,
    Strategy.DEEP_DIRECTORIES,
    Strategy.INVERTED_ROUTING,
)
EXISTENCE = frozenset({Strategy.BOUNDARY, Strategy.PRIOR_EXISTENCE, Strategy.COMBINATORIAL})
"""Strategies that change whether, and as what, the touched addresses exist."""
