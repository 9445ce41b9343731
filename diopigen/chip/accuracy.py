"""Accuracy that a chip declares, resolved for one function and dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from diopigen.contract.dtypes import MANTISSA, real_of
from diopigen.contract.tolerance import ACCUMULATING, ELEMENTWISE, MULTIPLYING
from diopigen.diagnostics import Span
from diopigen.ir.model import Function
from diopigen.spec.expression import Binary, Call, Expression, Unary


@dataclass(frozen=True, slots=True)
class Declaration:
    """An entry of `accuracy`. It is about `functions` (C names), about `elementary` functions of kernel expressions,
    about tolerance `classes`, or with none of the three about all results; in `dtypes`, or all where it is empty.

    `ulp` is the largest error in units in the last place; `accumulate` the dtype of sums; `product_bits` the bits of
    the significand, the hidden one included, that operands of products are rounded to. With `batch_invariant` the
    result of a row has the same bytes whichever rows are computed with it.
    """

    functions: tuple[str, ...] = ()
    elementary: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    ulp: float | None = None
    accumulate: str | None = None
    product_bits: int | None = None
    flush_denormals: bool | None = None
    batch_invariant: bool | None = None
    span: Span = field(default=Span(""), compare=False)

    @property
    def where(self) -> str:
        """The entry as file:line."""
        return f"{self.span.file}:{self.span.line}"

    def __str__(self) -> str:
        named = ", ".join((*self.functions, *self.elementary, *self.classes)) or "all results"
        within = f" in {', '.join(self.dtypes)}" if self.dtypes else ""
        flush = bool(self.flush_denormals)
        claims = [str(Accuracy(self.ulp, 0.0, self.accumulate, self.product_bits, flush))]
        claims.append("batch invariant" if self.batch_invariant else "")
        return f"{named}{within}: {', '.join(filter(None, claims)) or 'denormals kept'}"

    def rank(self, function: Function) -> int | None:
        """Specificity of the entry for a function: 2 by name, 1 by class, 0 for all; None if it does not apply."""
        if function.name in self.functions:
            return 2
        if function.tolerance in self.classes:
            return 1
        return None if self.functions or self.elementary or self.classes else 0

    def has(self, dtype: str) -> bool:
        """Returns whether the entry is about results of a floating dtype."""
        return not self.dtypes or dtype in self.dtypes


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Declared accuracy of one function in one dtype. None and False: nothing. `elementary` is the sum of the errors of
    the elementary functions that its kernel calls, in ULP; `sources` are the entries as file:line."""

    ulp: float | None = None
    elementary: float = 0.0
    accumulate: str | None = None
    product_bits: int | None = None
    flush: bool = False
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self._words())

    def _words(self) -> Iterator[str]:
        if self.ulp is not None:
            yield f"{self.ulp:g} ULP"
        if self.elementary:
            yield f"{self.elementary:g} ULP in elementary functions"
        if self.accumulate is not None:
            yield f"sums in {self.accumulate}"
        if self.product_bits is not None:
            yield f"products of {self.product_bits} bits"
        if self.flush:
            yield "denormals flushed"


def accuracy_of(declarations: Sequence[Declaration], function: Function, dtype: str) -> Accuracy | None:
    """Resolves the declarations for a function in a floating or complex dtype: for each key the most specific entry.
    None where nothing is declared, and for results that have no error to declare."""
    real = real_of(dtype)
    about = [one for one in declarations if one.has(real)]
    selected: dict[str, Declaration] = {}
    for key in ("ulp", "accumulate", "product_bits", "flush_denormals"):
        if key != "flush_denormals" and not matters(key, function.tolerance):
            continue
        speaking = [
            (rank, one) for one in about if getattr(one, key) is not None and (rank := one.rank(function)) is not None
        ]
        if speaking:
            selected[key] = max(speaking, key=lambda pair: pair[0])[1]
    own = selected.get("ulp")
    elementary = {} if own is not None and function.name in own.functions else _elementary(about, function)
    if elementary:
        selected.pop("ulp", None)
    if not selected and not elementary:
        return None
    sources = [one.where for one in (*selected.values(), *(entry for entry, _ in elementary.values()))]
    ulp, accumulate = selected.get("ulp"), selected.get("accumulate")
    bits, flush = selected.get("product_bits"), selected.get("flush_denormals")
    return Accuracy(
        ulp=None if ulp is None else ulp.ulp,
        elementary=sum((entry.ulp or 0.0) * calls for entry, calls in elementary.values()),
        accumulate=None if accumulate is None else accumulate.accumulate,
        product_bits=None if bits is None else bits.product_bits,
        flush=flush is not None and bool(flush.flush_denormals),
        sources=tuple(dict.fromkeys(sources)),
    )


def invariance_of(declarations: Sequence[Declaration], function: Function, dtype: str) -> Declaration | None:
    """The entry that declares the rows of a function independent of the batch in a dtype; None where there is none."""
    speaking = [
        (rank, one)
        for one in declarations
        if one.has(dtype) and one.batch_invariant is not None and (rank := one.rank(function)) is not None
    ]
    selected = max(speaking, key=lambda pair: pair[0])[1] if speaking else None
    return selected if selected is not None and selected.batch_invariant else None


def covered(selected: Declaration, all_: Sequence[Declaration], functions: Iterable[Function]) -> tuple[str, ...]:
    """The functions, by C name, whose results in some dtype are held to an entry of `accuracy`."""
    return tuple(
        function.name
        for function in functions
        if any(
            ((found := accuracy_of(all_, function, dtype)) is not None and selected.where in found.sources)
            or (selected.batch_invariant is not None and selected.rank(function) is not None)
            for dtype in selected.dtypes or MANTISSA
        )
    )


def matters(key: str, tolerance: str | None) -> bool:
    """Returns whether a key of a declaration changes the bound of a tolerance class."""
    classes = {"ulp": ELEMENTWISE | ACCUMULATING, "accumulate": ACCUMULATING, "product_bits": MULTIPLYING}
    return key in ("flush_denormals", "batch_invariant") or tolerance in classes[key]


def _elementary(about: Iterable[Declaration], function: Function) -> dict[str, tuple[Declaration, int]]:
    """The elementary functions that a kernel calls and that have an entry, with the number of calls."""
    if function.tolerance not in ELEMENTWISE:
        return {}
    calls = elementary_calls(function)
    found: dict[str, tuple[Declaration, int]] = {}
    for entry in about:
        for name in entry.elementary:
            if calls[name] and entry.ulp is not None:
                found.setdefault(name, (entry, calls[name]))
    return found


def elementary_calls(function: Function) -> Counter[str]:
    """Number of calls of each function of kernel expressions in the kernel of a function."""
    kernel = function.kernel
    counts: Counter[str] = Counter()
    if kernel is not None:
        for _, formula in (*kernel.lets, *kernel.results):
            counts.update(_calls(formula.expression))
    return counts


def _calls(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Call):
        yield expression.function
        for argument in expression.arguments:
            yield from _calls(argument)
    elif isinstance(expression, Unary):
        yield from _calls(expression.operand)
    elif isinstance(expression, Binary):
        yield from _calls(expression.left)
        yield from _calls(expression.right)
