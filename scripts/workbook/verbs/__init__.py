"""The command line, and modules that only one verb needs."""
