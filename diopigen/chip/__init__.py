"""What a chip can do: its YAML file, read and validated with positions, and the table that launches are held to."""
