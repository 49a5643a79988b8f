"""Mutation runs: small changes planted in the code, one at a time, to see whether the tests notice."""
