"""What came of a run, and what the cases cover."""
