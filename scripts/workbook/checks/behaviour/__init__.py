"""What every server must do, whatever its costs: one table of cases and the code that runs it."""
