"""`python -m takeback`; nothing but the package itself is taken from the directory it is run in."""

import os
import sys

try:
    current = {"", os.getcwd()}
except FileNotFoundError:  # the directory was deleted
    current = {""}
if sys.path and sys.path[0] in current and not sys.flags.safe_path:
    del sys.path[0]

from takeback.cli import main

main()
