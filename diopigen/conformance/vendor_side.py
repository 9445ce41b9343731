"""The vendor's part of a run: declarations, conversions, exceptions. `vendor/side.py` reads it; this module imports
nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diopigen.chip.model import Peaks

if TYPE_CHECKING:
    from diopigen.chip.accuracy import Declaration
    from diopigen.config.model import ResolvedConfig
    from diopigen.conformance.model import Case
    from diopigen.ir.model import Interface


@dataclass(frozen=True, slots=True)
class VendorSide:
    """Declared accuracy and peaks of the chip's file, and conversions of the shims. `options` are the words of a
    command line that name the same files, for commands that repeat a case."""

    accuracy: Sequence[Declaration] = ()
    resolved: ResolvedConfig | None = None
    options: tuple[str, ...] = ()
    peaks: Peaks = field(default_factory=Peaks)

    def converted(self, cases: list[Case], interface: Interface) -> list[Case]:
        """The cases with what the shims do to them."""
        from diopigen.conformance.cases.conversions import with_conversions

        if self.resolved is None:
            return cases
        return with_conversions(cases, self.resolved.functions, self.resolved.implemented, interface)
