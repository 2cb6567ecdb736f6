"""Results as something to look at: charts, pictures, tables, the book's records."""
