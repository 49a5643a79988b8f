"""Commands on an overlay: what a command does to a project is held apart, shown, and kept or dropped."""
