"""Gates for evolvers: whether a step of theirs can be taken back, asked before it is run or kept."""
