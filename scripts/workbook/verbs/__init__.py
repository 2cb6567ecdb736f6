"""The command line, and what only one of its verbs needs."""
