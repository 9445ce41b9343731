"""`convert_config.yaml`: what a chip cannot do, read and resolved to a table per function and tensor."""
