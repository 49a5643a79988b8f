"""`python -m takeback`."""

from takeback.cli import main

main()
