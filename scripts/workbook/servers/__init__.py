"""Programs under test: building them, running them, talking to them."""
