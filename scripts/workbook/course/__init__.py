"""What the reader works through: chapters, starters, planted mistakes, progress."""
