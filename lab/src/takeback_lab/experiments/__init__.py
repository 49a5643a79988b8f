"""The experiments of the lab, one module each; a module's `protocol` says what its lock freezes."""
