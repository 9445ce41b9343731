"""Capabilities of a chip: its YAML file, read and validated with positions, and the table that launches are checked
against."""
