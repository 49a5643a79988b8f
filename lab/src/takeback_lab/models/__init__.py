"""A real model on this machine: its weights, and the server that runs it."""
