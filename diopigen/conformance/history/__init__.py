"""Results of many runs in one file, and how they change."""
