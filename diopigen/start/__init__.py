"""Creates an operator from a similar one."""
