"""The calls of the published conformance suite, out of the table in tests/data/published_calls.

A line of the table is a case in several dtypes: `dtypes` lists them, `calls` are the calls in order, each with its
arguments by parameter. A tensor is a text: the number of its dtype among those of the case, its sizes, `@` and its
strides where it is not contiguous, and the rule that its elements are drawn by with the number of its seed. Without a
rule it is an output. `&0.out` is the parameter `out` of call 0, as that call left it. Numbers are `{real: ...}` or
`{whole: ...}` where C has a scalar. tools/record_published_calls.py writes the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "data/published_calls"
_TENSOR = re.compile(r"#(\d+)\[([^\]]*)\](?:@\[([^\]]*)\])?( sparse)?(?: (.*))?")
_RULE = re.compile(
    r"(\w+)(?:\(([^)]*)\))?(?: density\(([^)]*)\))?( turned)? (\d+)(?: from (\w+))?(?: of \[([\d,]*)\])?"
)


@dataclass(frozen=True)
class Line:
    """A case: its calls, and the dtypes that `#0`, `#1` and so on stand for."""

    name: str
    dtypes: tuple[str, ...]
    calls: Sequence[tuple[str, Mapping[str, Any]]]

    @property
    def function(self) -> str:
        """The function that is called first, with diopi."""
        return f"diopi{self.calls[0][0]}"


def lines(family: str | None = None) -> Iterator[Line]:
    """All cases of a family, or of all."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        if family is None or path.stem == family:
            for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                row = json.loads(text)
                for dtypes in row["dtypes"]:
                    name = f"{path.stem}:{number} {row['calls'][0][0]} {' '.join(dtypes)}"
                    yield Line(name, tuple(dtypes), row["calls"])


def elements(line: Line) -> int:
    """Total number of elements of the tensors of a case."""
    text = json.dumps(line.calls)
    return sum(
        int(np.prod([int(size) for size in sizes.split(",") if size]))
        for sizes in re.findall(r"#\d+\[([\d,]*)\]", text)
    )


# ---- operands -------------------------------------------------------------------------------------------------------


def _normal(source: np.random.RandomState, shape: tuple[int, ...], _: list[float]) -> Any:
    return np.array(source.randn(*shape))


def _complex(source: np.random.RandomState, shape: tuple[int, ...], _: list[float]) -> Any:
    return np.array(source.randn(*shape) + 1j * source.randn(*shape))


def _logarithms(source: np.random.RandomState, shape: tuple[int, ...], numbers: list[float]) -> Any:
    real, _ = source.randn(*shape), source.randn(*shape)
    moved = real - real.max(axis=int(numbers[0]), keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=int(numbers[0]), keepdims=True))


_RULES: Mapping[str, Callable[[np.random.RandomState, tuple[int, ...], list[float]], Any]] = {
    "normal": _normal,
    "unit": lambda source, shape, _: np.array(source.rand(*shape)),
    "uniform": lambda source, shape, ends: source.uniform(ends[0], ends[1], shape),
    "integers": lambda source, shape, ends: source.randint(int(ends[0]), int(ends[1]), shape),
    "ones": lambda source, shape, _: np.ones(shape),
    "zeros": lambda source, shape, _: np.zeros(shape),
    "bits": lambda source, shape, _: source.randint(0, 2, shape),
    "positive": lambda source, shape, _: np.abs(source.randn(*shape)),
    "complex": _complex,
    "logarithms": _logarithms,
}


def _drawn(rule: str, shape: tuple[int, ...], dtype: str) -> Any:
    """The elements that a rule draws. A seed of its own makes those of a tensor the same whatever else is drawn."""
    if rule in ("ones", "zeros"):
        return np.full(shape, rule == "ones", dtype=dtype)
    matched = _RULE.fullmatch(rule)
    assert matched is not None, rule
    name, numbers, density, rotated, seed, source_dtype, source_shape = matched.groups()
    if source_shape is not None:  # repeated until it fills the shape
        return np.resize(_drawn(rule.partition(" of ")[0], _integers(source_shape), dtype), shape)
    if source_dtype:  # drawn in one dtype, then cast
        return _drawn(rule.partition(" from ")[0], shape, source_dtype).astype(dtype)
    source = np.random.RandomState(int(seed))
    shape = shape[::-1] if rotated else shape
    ends = [float(number) for number in numbers.split(",")] if numbers else []
    if name == "integers" and dtype == "uint8":
        ends[0] = 0
    if name == "symmetric":
        root = source.randn(*shape).astype(dtype)
        return root @ np.swapaxes(root, -1, -2) + np.asarray(1e-3, dtype=dtype)
    with np.errstate(invalid="ignore"):
        array = np.asarray(_RULES[name](source, shape, ends)).astype(dtype)
    if density:
        array = array * (source.rand(*shape) < float(density))
    return array.T if rotated else array


def _laid(array: Any, strides: Sequence[int]) -> Any:
    count = 1 + sum((size - 1) * step for size, step in zip(array.shape, strides, strict=True))
    room = np.zeros(max(count, 1), array.dtype)
    laid = np.lib.stride_tricks.as_strided(room, array.shape, [step * array.itemsize for step in strides])
    laid[...] = array
    return laid


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


class Values:
    """The tensors of a case, by the call and the parameter that named them first."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.known: dict[str, Any] = {}

    def arguments(self, number: int) -> dict[str, Any]:
        """The arguments of a call: arrays, numbers, lists, texts, None."""
        return {
            name: self._value(value, f"{number}.{name}")
            for name, value in self.line.calls[number][1].items()
            if value not in ("new", "made")
        }

    def _value(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return value.get("real", value.get("whole"))
        if isinstance(value, list) and any(isinstance(item, str) or item is None for item in value):
            return [self._value(item, f"{name}.{at}") for at, item in enumerate(value)]
        if isinstance(value, str) and value.startswith("&"):
            return self.known[value[1:]]
        matched = _TENSOR.fullmatch(value) if isinstance(value, str) else None
        if matched is None:
            return value
        dtype, sizes, strides, _, rule = matched.groups()
        self.known[name] = self._tensor(self.line.dtypes[int(dtype)], sizes, strides, rule or "zeros")
        return self.known[name]

    def _tensor(self, dtype: str, sizes: str, strides: str | None, rule: str) -> Any:
        shape = self.known[sizes[1:]].shape if sizes.startswith("&") else _integers(sizes)
        if rule == "above":
            array = np.broadcast_to(np.triu(np.ones(shape[-2:]), 1), shape).astype(dtype)
        elif rule.startswith("= "):
            array = np.array(json.loads(rule[2:]), dtype=dtype).reshape(shape)
        else:
            array = _drawn(rule, shape, dtype)
        return _laid(array, _integers(strides)) if strides else array

    def keep(self, number: int, results: Mapping[str, Any]) -> None:
        """Takes over what a call wrote, under the names that its tensors have."""
        provided = self.line.calls[number][1]
        for name, result in results.items():
            if isinstance(result, list):
                for at, item in enumerate(result):
                    listed = provided.get(name)
                    own = listed[at] if isinstance(listed, list) and at < len(listed) else None
                    self._keep(own, f"{number}.{name}.{at}", item)
            else:
                self._keep(provided.get(name), f"{number}.{name}", result)

    def _keep(self, provided: Any, name: str, result: Any) -> None:
        if isinstance(result, np.ndarray):
            self.known[provided[1:] if isinstance(provided, str) and provided.startswith("&") else name] = result
