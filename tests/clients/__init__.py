"""Tests on the real clients, installed from npm by `make test-clients`; left out by the everyday suite."""
