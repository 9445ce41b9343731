"""What type checkers and editors know of a library: operators.pyi, which `diopigen generate` writes from the spec."""

from __future__ import annotations


class Operators:
    """The operators of the interface."""
