"""Three harnesses per client, each as odd as its formats allow in its own way, and edits by hand of them."""
