"""Compiled graphs on droplet, compared with its own eager mode, and with PyTorch's CPU and its backend inductor."""
