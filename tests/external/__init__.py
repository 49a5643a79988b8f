"""Bindings on real servers, which `make test-external` installs and starts."""
