"""Likely causes of failures: what the results of one function have in common, matched with the table of causes.

A cause by contrast explains failures that all have a property, which hardly any call that passes has. A cause by value
explains how results differ. Kinds of faults come last. Nothing here decides whether a library passes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from diopigen.conformance.cases.values import POISON
from diopigen.conformance.dtypes import STORAGE, decode
from diopigen.conformance.model import (
    ABSENT,
    FAILURES,
    SUCCESS,
    Case,
    CaseResult,
    Fault,
    Number,
    Operand,
    Value,
    operands_of,
)
from diopigen.conformance.report.cause_table import CAUSE_OF, Cause
from diopigen.contract.dtypes import kind

_MOST = 3
_COVERED = 0.9
"""Share of the failures that have to have what they have in common: a second fault may be among them."""
_MOSTLY = 0.75
"""Share of the failures whose values have to show the same: one fault has several effects."""
_STRONG = 0.6
"""Share of the calls with a property that have to fail."""
_PASSES = 2
"""Calls without a property that have to pass."""
_STRIDED = frozenset({"strided", "transposed", "channels-last", "distant", "expanded"})
_SMALL = 16
"""Elements of operands that are small for every kernel."""

_OF_CALLS = frozenset({"values", "guard", "crash", "hang"})
"""Kinds of faults that depend on the call: others have a cause of their own."""

Has = Callable[[Case], bool]


def likely_causes(results: Sequence[CaseResult], failing: CaseResult) -> list[Cause]:
    """The most likely causes of a failure, most likely first, at most three. `results` are those of its function that
    passed, and those that failed as it does."""
    failures = [one for one in results if one.outcome in FAILURES | ABSENT]
    passes = [one for one in results if one.outcome not in FAILURES | ABSENT]
    legal = [one for one in failures if one.case.expect == SUCCESS]
    causes: list[Cause] = []
    passing = [one.case for one in passes if one.case.expect == SUCCESS]
    fault = failing.faults[0].kind if failing.faults else ""
    if fault == "status" and failing.case.expect == SUCCESS:
        causes += _rejected([one.case for one in legal], passing)
    elif fault in _OF_CALLS and failing.case.expect == SUCCESS:
        values = list(_by_value(legal))
        contrasts = _by_contrast([one.case for one in legal], passing)
        causes = [*values, *contrasts]
        if contrasts and contrasts[0].code in ("tail", "ignored-argument", "strides", "stride-0", "in-place"):
            causes = [*contrasts, *values]  # results are then those of another call, and their values show nothing
    causes += _by_kind(failing, results)
    return list({cause.code: cause for cause in causes}.values())[:_MOST]


# ---- contrast: calls that fail, and calls that pass ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Contrast:
    cause: Cause
    strength: float
    """Share of the calls with the property that fail."""


def _by_contrast(failing: Sequence[Case], passing: Sequence[Case]) -> list[Cause]:
    """The causes whose property the failures share, strongest first; of equal ones in the order of the table."""
    if not failing or not passing:
        return []
    if not any(map(_is_empty, failing)):
        passing = [case for case in passing if not _is_empty(case)]  # in which there is nothing to be wrong
    if not passing:
        return []
    matches = []
    usual = len(failing) / (len(failing) + len(passing))
    needed = max(_STRONG, (1 + usual) / 2)
    for cause, has in _properties(failing, passing):
        failing_with = sum(map(has, failing))
        passing_with = sum(map(has, passing))
        strength = failing_with / (failing_with + passing_with) if failing_with else 0.0
        without = len(passing) - passing_with
        covers = failing_with >= _COVERED * len(failing)
        if covers and strength >= needed and without >= max(_PASSES, 3 * (len(failing) - failing_with)):
            matches.append(_Contrast(cause, strength))
    order = list(CAUSE_OF)
    matches.sort(key=lambda one: (-round(one.strength, 1), order.index(one.cause.code)))
    return [one.cause for one in matches]


def _properties(failing: Sequence[Case], passing: Sequence[Case]) -> Iterator[tuple[Cause, Has]]:
    """The properties that calls may share."""
    fixed: dict[str, Has] = {
        "stride-0": lambda case: any(one.layout == "expanded" for one in _operands(case)),
        "alignment": lambda case: any(one.layout == "offset" for one in _operands(case)),
        "broadcast": lambda case: case.axis == "broadcast",
        "empty": _is_empty,
        "0-d": lambda case: any(one.shape == () for one in _operands(case)),
        "size-1": lambda case: case.axis == "size-1",
        "in-place": lambda case: any(one.alias for one in _operands(case)),
        "half": lambda case: case.dtype in ("float16", "bfloat16"),
        "mixed-dtypes": lambda case: case.axis in ("mixed", "cast"),
        "negative-dim": lambda case: case.axis == "negative-dim",
        "special": lambda case: case.axis == "special",
    }
    for code, has in fixed.items():
        yield CAUSE_OF[code], has
    yield _named("strides", "an operand"), lambda case: any(map(_is_strided, _operands(case)))
    for name in failing[0].arguments:
        yield _named("strides", f"`{name}`"), _Strides(name)
    for size in (64, 32, 16, 8, 4):
        yield _named("tail", size), _Rest(size)
    yield from _dtypes(failing)
    yield from _arguments(failing, passing)
    smallest = min(map(_elements, failing))
    if smallest > _SMALL:
        yield _named("large", smallest), lambda case: _elements(case) >= smallest


@dataclass(frozen=True, slots=True)
class _Rest:
    """True of calls whose largest operand has elements behind the last whole block."""

    size: int

    def __call__(self, case: Case) -> bool:
        return _elements(case) % self.size != 0


@dataclass(frozen=True, slots=True)
class _Strides:
    """True of calls in which a parameter is not contiguous."""

    name: str

    def __call__(self, case: Case) -> bool:
        return any(map(_is_strided, operands_of([case.arguments.get(self.name)])))


def _dtypes(failing: Sequence[Case]) -> Iterator[tuple[Cause, Has]]:
    for name in sorted(set.intersection(*map(_dtypes_in, failing))):
        yield _named("dtype", name), partial(_has_dtype, name)


def _arguments(failing: Sequence[Case], passing: Sequence[Case]) -> Iterator[tuple[Cause, Has]]:
    """Parameters whose value tells failures from passes."""
    for name in failing[0].arguments:
        values = [case.arguments.get(name) for case in (*failing, *passing)]
        if any(isinstance(value, (Operand, tuple)) and _operands_in(value) for value in values):
            if any(value is None for value in values):
                yield _named("null", name), partial(_is_null, name)
                yield _named("ignored-tensor", name), partial(_is_there, name)
            continue
        usual = Counter(_plain(case, name) for case in passing).most_common(1)[0][0]
        yield _named("ignored-argument", name), partial(_is_unusual, name, usual)


def _dtypes_in(case: Case) -> set[str]:
    return {one.dtype for one in _operands(case)}


def _is_empty(case: Case) -> bool:
    return any(0 in one.shape for one in _operands(case))


def _plain(case: Case, name: str) -> object:
    value = case.arguments.get(name)
    return value.value if isinstance(value, Number) else value


def _operands(case: Case) -> Iterable[Operand]:
    return operands_of(case.arguments.values())


def _operands_in(value: Value) -> bool:
    return any(True for _ in operands_of([value]))


def _has_dtype(name: str, case: Case) -> bool:
    return name in _dtypes_in(case)


def _is_null(name: str, case: Case) -> bool:
    return case.arguments.get(name) is None


def _is_there(name: str, case: Case) -> bool:
    return case.arguments.get(name) is not None


def _is_unusual(name: str, usual: object, case: Case) -> bool:
    return _plain(case, name) != usual


def _is_strided(operand: Operand) -> bool:
    return operand.layout in _STRIDED or operand.layout.startswith("by ")


def _elements(case: Case) -> int:
    return max((math.prod(one.shape) for one in _operands(case)), default=0)


def _named(code: str, name: object) -> Cause:
    cause = CAUSE_OF[code]
    return replace(cause, sign=cause.sign.format(name), text=cause.text.format(name))


def _rejected(failing: Sequence[Case], passing: Sequence[Case]) -> list[Cause]:
    """Causes of legal calls that are rejected: dtypes of which no call passes, or a property that they share."""
    for dtypes in ({case.dtype for case in failing}, set.intersection(*map(_dtypes_in, failing))):
        if dtypes and passing and not any(dtypes & {case.dtype, *_dtypes_in(case)} for case in passing):
            return [_named("unsupported-dtype", ", ".join(sorted(dtypes)))]
    signs = [cause.sign for cause in _by_contrast(failing, passing)]
    return [_named("rejects-legal", signs[0] if signs else "look at the calls")]


# ---- values: expected and actual -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """Expected and actual value of the worst element of a result."""

    case: Case
    expected: float
    actual: float
    expected_text: str
    text: str

    @property
    def ratio(self) -> float:
        return self.actual / self.expected if self.expected and math.isfinite(self.expected) else math.nan


def _by_value(failures: Sequence[CaseResult]) -> Iterator[Cause]:
    """The causes that the values of the worst elements show."""
    pairs = [pair for one in failures for fault in one.faults[:1] if (pair := _pair(one.case, fault)) is not None]
    if not pairs or len(pairs) < _MOSTLY * len(failures):
        return

    def shared(has: Callable[[_Pair], bool]) -> bool:
        return sum(map(has, pairs)) >= _MOSTLY * len(pairs)

    if shared(_is_unwritten):
        yield CAUSE_OF["unwritten"]
    if shared(lambda one: math.isnan(one.expected) and not math.isnan(one.actual)):
        yield CAUSE_OF["nan-lost"]
    if shared(lambda one: math.isnan(one.actual) and not math.isnan(one.expected)):
        yield CAUSE_OF["nan-created"]
    if shared(lambda one: math.isinf(one.expected) and math.isfinite(one.actual)):
        yield CAUSE_OF["infinity-lost"]
    if shared(lambda one: math.isinf(one.actual) and math.isfinite(one.expected)):
        yield CAUSE_OF["overflow"]
    if shared(lambda one: one.actual == 0 != one.expected and math.isfinite(one.expected)):
        yield CAUSE_OF["all-zero"]
    if shared(lambda one: one.actual == -one.expected != 0):
        yield CAUSE_OF["wrong-sign"]
    if shared(_is_close_integer):
        yield CAUSE_OF["integers-through-floats"]
    if len(pairs) >= _PASSES and shared(_is_unbiased):
        yield CAUSE_OF["unbiased"]
    yield from _factor(pairs)
    if shared(lambda one: one.case.dtype not in _INTEGRAL and 0 < abs(one.ratio - 1) < 2e-2):
        yield CAUSE_OF["low-precision"]


_INTEGRAL = frozenset(name for name in STORAGE if kind(name) in ("int", "bool"))
_NUMBER = re.compile(r"^[-+]?(?:nan|inf|[0-9.]+(?:e[-+]?[0-9]+)?)$")
_WHOLE = re.compile(r"^-?[0-9]+$")


def _pair(case: Case, fault: Fault) -> _Pair | None:
    texts = [{"True": "1", "False": "0"}.get(text, text) for text in (fault.expected, fault.actual)]
    if fault.kind != "values" or not all(map(_NUMBER.match, texts)):
        return None
    return _Pair(case, float(texts[0]), float(texts[1]), fault.expected, fault.actual)


def _is_unwritten(pair: _Pair) -> bool:
    dtypes = {one.dtype for one in _operands(pair.case)}
    return any(pair.text == text for dtype in dtypes for text in _poison(dtype))


def _poison(dtype: str) -> tuple[str, ...]:
    stored = np.full(STORAGE[dtype].itemsize, POISON, dtype=np.uint8).view(STORAGE[dtype])
    with np.errstate(all="ignore"):
        value = decode(stored, dtype)[0]
    return str(value), repr(value.item()), repr(float(value)) if np.isrealobj(value) else str(value)


def _is_close_integer(pair: _Pair) -> bool:
    if not (_WHOLE.match(pair.expected_text) and _WHOLE.match(pair.text)):
        return False
    expected, actual = int(pair.expected_text), int(pair.text)
    return abs(expected) >= 1 << 8 and 0 < abs(actual - expected) <= abs(expected) >> 8


def _is_unbiased(pair: _Pair) -> bool:
    sizes = {size for one in _operands(pair.case) for size in one.shape}
    sizes |= {math.prod(one.shape) for one in _operands(pair.case)}
    ratios = [(n / (n - 1)) ** power for n in sizes if n > 1 for power in (1, -1, 0.5, -0.5)]
    return abs(pair.ratio - 1) > 5e-3 and any(math.isclose(pair.ratio, ratio, rel_tol=1e-3) for ratio in ratios)


def _factor(pairs: Sequence[_Pair]) -> Iterator[Cause]:
    ratios = [pair.ratio for pair in pairs if math.isfinite(pair.ratio)]
    if len(ratios) < max(3, _MOSTLY * len(pairs)):
        return
    middle = sorted(ratios)[len(ratios) // 2]
    is_shared = sum(math.isclose(ratio, middle, rel_tol=1e-2) for ratio in ratios) >= _MOSTLY * len(pairs)
    if is_shared and middle not in (0, 1, -1) and abs(middle - 1) > 2e-2:
        yield _named("constant-factor", f"{middle:.3g}")


# ---- kinds of faults -------------------------------------------------------------------------------------------------

_OF_KIND = {
    "guard": "out-of-bounds",
    "input changed": "input-written",
    "output of a failure": "writes-before-checks",
    "bool byte": "bool-byte",
    "dtype": "allocated-output",
    "shape": "allocated-output",
    "missing output": "allocated-output",
    "distribution": "distribution",
    "reproducibility": "generator",
    "nondeterminism": "race",
    "crash": "crash",
    "hang": "hang",
    "values": "formula",
}


def _by_kind(failing: CaseResult, results: Sequence[CaseResult]) -> Iterator[Cause]:
    if failing.outcome in ABSENT:
        yield CAUSE_OF["unimplemented" if failing.outcome == "unimplemented" else "not-exported"]
    for fault in failing.faults[:1]:
        if fault.kind == "status" and failing.case.expect != SUCCESS:
            yield CAUSE_OF[_of_status(failing, fault, results)]
        if fault.kind in _OF_KIND:
            yield CAUSE_OF[_OF_KIND[fault.kind]]


def _of_status(failing: CaseResult, fault: Fault, results: Sequence[CaseResult]) -> str:
    if fault.actual != SUCCESS:
        return "wrong-status"
    illegal = [one for one in results if one.case.expect != SUCCESS]
    return "accepts-illegal" if any(one.outcome not in FAILURES for one in illegal) else "no-checks"
