"""What every server must do, whatever it costs: one table of cases and what runs it."""
