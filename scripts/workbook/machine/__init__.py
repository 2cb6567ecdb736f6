"""This machine: what it has, what it lacks, and how to get that."""
