"""Mapping of the overloads of ATen to functions, from the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.diagnostics import Span
from diopigen.ir.clauses import Default


def release_number(release: str) -> tuple[int, ...]:
    """The numbers of a release such as 2.13.0, by which releases have an order."""
    return tuple(int(part) for part in release.split("."))


@dataclass(frozen=True, slots=True)
class StructuredGroup:
    """Overloads of ATen that share a meta function: the class `at::meta::structured_<meta>`."""

    meta: str
    out: str
    functional: str
    inplace: str | None
    iterator: bool
    alike: str = ""
    """The rule for the dtype of a result of operands of one shape and dtype; empty where there is none."""
    in_all_releases: bool = True


@dataclass(frozen=True, slots=True)
class Overload:
    """The name of an ATen overload with its place, and the parameters that it fixes: `upsample_bicubic2d` has no
    argument for the mode, which is bicubic."""

    name: str
    span: Span
    constants: Mapping[str, Default] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Parameters with the names of their arguments, where neither names nor order tell."""
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False)
    """Positions of the names of the parameters."""
    without: frozenset[str] = frozenset()
    """Parameters that it lacks, as a file of operators says: what shapes say already, and results that it keeps."""
    arguments: Mapping[str, Default] = field(default_factory=dict)
    """Arguments that no parameter has, with their values, as a file of operators says."""
    gradients: Mapping[str, str] = field(default_factory=dict)
    """Results that are gradients which autograd computes through it, with the operands that they belong to."""
    grad_outputs: tuple[str, ...] = ()
    """Operands that are the gradients of its results."""


@dataclass(frozen=True, slots=True)
class FusedOverload:
    """An ATen overload that a kernel of compiled graphs computes over the last dimensions, by its form there. Without a
    name it stands for all functional overloads of its function."""

    name: str
    form: str
    span: Span


@dataclass(frozen=True, slots=True)
class HandwrittenKernel:
    """An ATen overload that a handwritten C++ function serves, and the functions of the interface that it calls."""

    overload: str
    also: tuple[str, ...]
    """Overloads of other names that take the same."""
    function: str
    """The C++ function; empty where its name follows from the overload."""
    calls: tuple[str, ...]
    why: str
    """One of `TORCH_REASONS` of the grammar."""
    span: Span
    why_span: Span
    planned: bool = False
    """True if compiled graphs make its one call."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An ATen overload that the spec names and the glue does not serve."""

    overload: str
    why: str
    span: Span


@dataclass(frozen=True, slots=True)
class Aten:
    """Facts about releases of torch, and how their overloads are served."""

    releases: tuple[str, ...] = ()
    """In their order, as `major.minor.patch`."""
    schemas: Mapping[str, str] = field(default_factory=dict)
    """By overload; of several releases that differ, that of the last one."""
    earlier_schemas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Schemas that an overload has in other releases, where they differ."""
    releases_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The releases that have an overload, where not all do."""

    structured: tuple[StructuredGroup, ...] = ()
    needed: frozenset[str] = frozenset()
    handwritten: tuple[HandwrittenKernel, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    damaged: frozenset[str] = frozenset()
    """Overloads whose schema could not be read, which is reported."""

    @property
    def torch(self) -> str:
        """The releases as a message names them."""
        ends = dict.fromkeys((self.releases[:1] or ("",)) + self.releases[-1:])
        return f"torch {' to '.join(ends)}"
