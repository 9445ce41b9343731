"""Parts of `tools/trace_models.py`: networks, the recorder of their ATen calls, and the mapping to functions."""
