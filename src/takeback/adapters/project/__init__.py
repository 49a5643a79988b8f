"""A project whose own files are tracked: they are captured by hooks, settled into the journal, and taken back."""
