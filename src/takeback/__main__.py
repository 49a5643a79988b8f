"""`python -m takeback`; nothing but the package itself is taken from the directory it is run in."""

import os
import sys

if sys.path and sys.path[0] in {"", os.getcwd()} and not sys.flags.safe_path:
    del sys.path[0]

from takeback.cli import main

main()
