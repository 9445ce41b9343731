"""Names of the functions of an interface, and their default return type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Naming:
    """The prefix that entries leave out of the names of functions, and the C type that a function returns by itself."""

    prefix: str = "diopi"
    status: str = "diopiError_t"

    def full(self, name: str) -> str:
        """The name in C of what an entry calls `name`."""
        return self.prefix + name

    def short(self, name: str) -> str:
        """The name in C without the prefix."""
        return name.removeprefix(self.prefix)


DIOPI = Naming()
