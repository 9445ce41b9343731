"""What `tools/trace_models.py` is made of: networks, the recorder of their ATen calls, and the mapping to functions."""
