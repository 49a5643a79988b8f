"""Git: a history kept there as entries of the journal, and hooks that keep the two together."""
