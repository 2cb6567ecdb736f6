"""Presentation of results: charts, pictures, tables, and the figures that the book shows."""
