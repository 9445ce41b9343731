"""How the overloads of ATen are served, as the spec says."""

from __future__ import annotations

from dataclasses import dataclass

from diopigen.diagnostics import Span


@dataclass(frozen=True, slots=True)
class StructuredGroup:
    """Overloads of ATen that share a meta function: the class `at::meta::structured_<meta>`."""

    meta: str
    out: str
    functional: str
    inplace: str | None
    iterator: bool


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
    """Whether compiled graphs make its one call."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An ATen overload that the spec names and the glue does not serve."""

    overload: str
    why: str
    span: Span


@dataclass(frozen=True, slots=True)
class Aten:
    """What is known of a release of torch beyond its schemas, and how its overloads are served."""

    structured: tuple[StructuredGroup, ...] = ()
    needed: frozenset[str] = frozenset()
    handwritten: tuple[HandwrittenKernel, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
