"""An agent may change its own harness only if the change can be taken back."""
