"""What every package may use: errors, paths, children, statistics. Imports no package of ours."""
