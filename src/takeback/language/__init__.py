"""Operations, programs, candidates, language levels and their gate, JSON Schema."""

from takeback.language.gate import NoInverse, OutOfLanguage, find_widest_level, gate
from takeback.language.program import (
    Candidate,
    Program,
    candidate_schema,
    digest_program,
    infer_contract,
    load_json,
    read_candidate,
    read_operation,
    read_program,
    reread_candidate,
)

__all__ = [
    "Candidate",
    "NoInverse",
    "OutOfLanguage",
    "Program",
    "candidate_schema",
    "digest_program",
    "find_widest_level",
    "gate",
    "infer_contract",
    "load_json",
    "read_candidate",
    "read_operation",
    "read_program",
    "reread_candidate",
]
