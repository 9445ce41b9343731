"""The resolved conversion table: what a shim does to each tensor, and which line of the config says so."""

from __future__ import annotations

from dataclasses import dataclass

from diopigen.diagnostics import Span

LAYOUTS = ("NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC", "ND")
"""The layouts that a config can name. ND leaves a tensor as it is."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A dtype that the operator cannot take, and the one it gets instead."""

    source: str
    target: str
    span: Span


@dataclass(frozen=True, slots=True)
class TensorRule:
    """Resolved settings of one tensor parameter.

    `layouts` are the allowed layouts in order of preference, empty where nothing is demanded; `layouts_span` is the
    place that said so. A rank that no layout of the list covers keeps what `common_layouts` says for it. What outer
    levels add to either is at `common_spans`. ND demands nothing: all are empty then, but for the span.
    """

    param: str
    casts: tuple[Cast, ...] = ()
    layouts: tuple[str, ...] = ()
    layouts_span: Span | None = None
    common_layouts: tuple[str, ...] = ()
    common_spans: tuple[Span, ...] = ()
    contiguous: bool = False
    contiguous_span: Span | None = None
    max_rank: int | None = None
    """The most dimensions that a kernel takes; calls with more go to the fallback. None for any number."""
    alignment: int = 1
    """Bytes that the first element has to be at a multiple of; what is not is copied."""


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """Resolved settings of one function."""

    function: str
    tensors: tuple[TensorRule, ...]

    @property
    def converts(self) -> bool:
        """Returns whether a shim has anything to do but to pass the call on."""
        return any(rule.casts or rule.layouts or rule.contiguous for rule in self.tensors)


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """The table of a vendor, for every function of the interface that has tensors, in its order."""

    vendor: str
    file: str
    functions: tuple[FunctionRule, ...]
    implemented: frozenset[str]
