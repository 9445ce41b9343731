"""The commands, one module for each part of the work. Heavy imports stand inside the functions."""
