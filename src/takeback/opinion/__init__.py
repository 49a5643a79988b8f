"""A second opinion on proofs: certificates checked, and candidates put to a solver, with nothing of the prover."""
