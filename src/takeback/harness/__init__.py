"""Live harnesses: a state bound to real things, changed atomically, with changes made elsewhere noticed."""
