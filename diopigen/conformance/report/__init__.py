"""Results of a run, and coverage of the cases."""
