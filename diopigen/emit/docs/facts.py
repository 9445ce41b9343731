"""Facts for the pages in addition to the interface. The caller collects it; no file is read here, and no case run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

from diopigen.diagnostics import Diagnostic
from diopigen.ir.models import Model


@dataclass(frozen=True, slots=True)
class SampleTensor:
    """A tensor of an example. `values` are the elements in row-major order, empty where the operator writes all of
    them; `pattern` replaces them by evenly spread numbers of an interval where they are too many to be printed."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[int | float | complex, ...] = ()
    pattern: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class SampleNumber:
    """A scalar of an example with its own dtype: float64, int64 or bool."""

    value: int | float
    dtype: str


SampleValue = Union[SampleTensor, SampleNumber, tuple["SampleValue", ...], int, float, str, None]
Sample = Mapping[str, SampleValue]
"""The arguments of a call that the contract accepts, by parameter."""


@dataclass(frozen=True, slots=True)
class VendorStates:
    """Implementation of each function for a vendor: the states of a coverage report, by the C name."""

    vendor: str
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file: its path relative to the root of the project, and its text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The findings of a comparison with another version, which `against` names."""

    against: str
    findings: Sequence[Diagnostic]


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. `samples` and `oracles` are by C name, `cases` the numbers of conformance cases by axis; None where
    the caller did not count them. `states` are the words of coverage reports with what each means."""

    rules: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[Model] = ()
    samples: Mapping[str, Sample] = field(default_factory=dict)
    oracles: Mapping[str, str] = field(default_factory=dict)
    cases: Mapping[str, Mapping[str, int]] | None = None
    vendors: Sequence[VendorStates] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    documents: Sequence[Document] = ()
    changes: Changes | None = None
