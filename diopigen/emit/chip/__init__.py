"""The table of a chip for the simulated device."""
