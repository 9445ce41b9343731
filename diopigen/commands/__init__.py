"""The commands, one module for each part of the work. Heavy imports are inside the functions."""
