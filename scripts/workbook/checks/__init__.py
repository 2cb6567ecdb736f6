"""The checks that `hotpath check` runs, and how their verdicts are reached."""
