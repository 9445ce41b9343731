"""Lifetimes of the temporary tensors of a compiled graph. The library places them in an arena for each tuple of
sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Lifetime:
    """A storage of the graph: its bytes, and the steps that first and last use it."""

    size: Any
    first: int
    last: int

    def document(self) -> dict[str, Any]:
        """As a plan has it."""
        return {"bytes": self.size, "first": self.first, "last": self.last}
