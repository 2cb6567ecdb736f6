"""Measurements of what a server costs and how fast it is, without judging them."""
