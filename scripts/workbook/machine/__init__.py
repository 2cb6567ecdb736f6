"""The machine that we stand on: what it has, what it lacks, how to get it."""
