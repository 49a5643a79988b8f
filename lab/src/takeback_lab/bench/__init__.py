"""Benchmarks: ratios against a plain implementation or a peer, measured in the same run."""
