"""Where trust records are, if TAKEBACK_TRUST says so. A hook imports this, and so little else."""

from __future__ import annotations

import os

from takeback.adapters.trust_record import use_trust_folder


def choose_trust_folder() -> None:
    """Keep and look for trust records where the environment says."""
    chosen = os.environ.get("TAKEBACK_TRUST")
    if chosen:
        use_trust_folder(os.path.abspath(os.path.expanduser(chosen)))
