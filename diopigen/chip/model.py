"""A chip as values: what its file says, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.chip.accuracy import Declaration
from diopigen.diagnostics import Span

LARGEST_ALIGNMENT = 512
MOST_DIMENSIONS = 64
"""As the interface's libraries take."""
"""Alignment of allocations of the simulated device, the largest that a chip may require."""


@dataclass(frozen=True, slots=True)
class NativeOperator:
    """An operator that the chip has a kernel for, by its C name. Empty and None stand for what the chip says."""

    name: str
    dtypes: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    max_rank: int | None = None
    contiguous: bool | None = None
    alignment: int | None = None
    span: Span = field(default=Span(""), compare=False)
    """Position in the file."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """The limits of the speed of one device: 10^9 bytes a second, bytes of the last-level cache, and 10^9 operations a
    second by dtype. None or absent if the file does not specify it."""

    bandwidth: int | None = None
    cache: int | None = None
    operations: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chip:
    """Supported dtypes and layouts of a chip. `alignment` and `memory` are in bytes; `operators` are sorted by name,
    each there once.

    `memory` is None where the file does not say how much there is. `file` is the file as the user names it.
    """

    name: str
    doc: str
    dtypes: tuple[str, ...]
    max_rank: int
    alignment: int
    memory: int | None
    operators: tuple[NativeOperator, ...]
    file: str
    contiguous: bool = False
    accuracy: tuple[Declaration, ...] = ()
    """Declared accuracy, in the order of the file."""
    peaks: Peaks = field(default_factory=Peaks)

    def dtypes_of(self, operator: NativeOperator) -> tuple[str, ...]:
        """The dtypes that the kernel of an operator takes."""
        return operator.dtypes or self.dtypes

    def rank_of(self, operator: NativeOperator) -> int:
        """The most dimensions that the kernel of an operator takes."""
        return operator.max_rank or self.max_rank

    def alignment_of(self, operator: NativeOperator) -> int:
        """Bytes that the start of every buffer of the kernel of an operator is a multiple of."""
        return operator.alignment or self.alignment

    def is_contiguous(self, operator: NativeOperator) -> bool:
        """Returns whether the kernel of an operator takes contiguous tensors alone."""
        return self.contiguous if operator.contiguous is None else operator.contiguous
