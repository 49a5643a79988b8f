"""One commit taken out of the middle of a real history: Takeback beside `git revert`."""
