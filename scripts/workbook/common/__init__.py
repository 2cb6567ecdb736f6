"""What every package may use: errors, paths, children, statistics. Imports nothing of ours."""
