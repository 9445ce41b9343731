"""The suite of collectives: processes that call a library together, compared with NumPy."""
