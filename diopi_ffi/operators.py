"""The stub of a library for type checkers and editors: operators.pyi, which `diopigen generate` writes from the
spec."""

from __future__ import annotations


class Operators:
    """The operators of the interface."""
