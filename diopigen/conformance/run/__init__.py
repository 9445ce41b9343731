"""Runs cases against a library in processes of their own."""
