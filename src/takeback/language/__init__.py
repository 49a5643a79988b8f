"""Operations, programs, candidates, language levels and their gate, JSON Schema."""

from takeback.language.gate import NoInverse, OutOfLanguage, gate, widest_level
from takeback.language.program import (
    Candidate,
    Program,
    infer_contract,
    load_json,
    program_digest,
    read_candidate,
    read_operation,
    read_program,
    settle_candidate,
)
from takeback.language.schema import candidate_schema

__all__ = [
    "Candidate",
    "NoInverse",
    "OutOfLanguage",
    "Program",
    "candidate_schema",
    "gate",
    "infer_contract",
    "load_json",
    "program_digest",
    "read_candidate",
    "read_operation",
    "read_program",
    "settle_candidate",
    "widest_level",
]
