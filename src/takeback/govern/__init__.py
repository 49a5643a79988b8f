"""Who may, how long, and proof of it: retention, and signed heads."""
