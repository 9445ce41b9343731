"""Reading spec files: YAML nodes with positions, the grammar as data, and the expression language."""
