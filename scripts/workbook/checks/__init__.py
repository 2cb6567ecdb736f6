"""What `check` judges, and how."""
