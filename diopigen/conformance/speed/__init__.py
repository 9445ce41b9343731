"""Speed of a library: the work of a call, its time by the clock of the checker, and the fraction of a chip's limits."""
