"""Changes and entries as people read them, without a terminal or a page in mind: texts, lines, hunks, counts."""
