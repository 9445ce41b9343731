"""Elementwise operators, reductions, copies, lookups over tensors of many layouts: `layout_program.py RUNTIME LIBRARY
SHARE`, which makes one call in SHARE.

Prints what differs from NumPy. Sizes are such that vectors, their rests, parts of rows and tiles occur; the cases of
the suite are smaller. A program of its own, since a process holds one library.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from random_program import ROOT, AnyLibrary, Array

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from cpu_library import BFLOAT16, DTYPES, SUCCESS, size_of
from sampling import picked

from diopigen.console import Session

FLOAT, DOUBLE, HALF = np.dtype("float32"), np.dtype("float64"), np.dtype("float16")
INTEGERS = tuple(np.dtype(name) for name in ("int8", "int32", "int64"))
GUARD = 7
"""Bytes between the elements of a tensor, which must not change."""


def owner(array: Array) -> Array:
    """The array whose memory another shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class LayoutLibrary(AnyLibrary):
    """Tensors get the strides and the offset that arrays have in the memory that they show."""

    def wrap(self, array: Array, keep: list[Any], device: int = 1) -> ctypes.c_void_p:
        handle, full = ctypes.c_void_p(), owner(array)
        strides = size_of([stride // array.itemsize for stride in array.strides], keep)
        offset = (array.ctypes.data - full.ctypes.data) // array.itemsize
        base, shape, all_of = ctypes.c_void_p(), size_of(array.shape, keep), size_of([full.size], keep)
        runtime, dtype = self.runtime, DTYPES[array.dtype]
        created = runtime.diopiHostCreateTensor(
            self.context, ctypes.byref(base), ctypes.byref(all_of), None, ctypes.c_int64(0), dtype, device
        )
        assert created == SUCCESS
        created = runtime.diopiHostCreateView(
            ctypes.byref(handle), base, ctypes.byref(shape), ctypes.byref(strides), ctypes.c_int64(offset), dtype
        )
        assert created == SUCCESS
        assert runtime.diopiHostDestroyTensor(base) == SUCCESS
        self.copy("diopiHostCopyToStorage", handle, array)
        return handle

    def copy(self, function: str, handle: ctypes.c_void_p, array: Array) -> None:
        super().copy(function, handle, owner(array))


def laid(values: Array, layout: str) -> Array:
    """A copy of an array that is laid out in memory as `layout` says."""
    shape, rank = values.shape, values.ndim
    if layout == "rows":
        view = np.full(values.size, GUARD, values.dtype).reshape(shape)
    elif layout == "offset":
        view = np.full(values.size + 1, GUARD, values.dtype)[1:].reshape(shape)
    elif layout == "columns":
        view = np.full(values.size, GUARD, values.dtype).reshape(shape[::-1]).transpose(range(rank)[::-1])
    elif layout == "gaps":
        size = (*shape[:-1], 2 * shape[-1])
        view = np.full(2 * values.size, GUARD, values.dtype).reshape(size)[..., ::2]
    else:  # the last two dimensions exchanged, and room behind each row
        size = (*shape[:-2], shape[-1], shape[-2] + 3) if rank > 1 else (shape[0] + 3,)
        view = np.full(int(np.prod(size)), GUARD, values.dtype).reshape(size)[
            ..., : shape[-2] if rank > 1 else shape[0]
        ]
        view = np.swapaxes(view, -1, -2) if rank > 1 else view
    view[...] = values
    return np.asarray(view)


LAYOUTS = ("rows", "offset", "columns", "gaps", "exchanged")


def sampled(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int = 0) -> Array:
    """Numbers of both signs; integers small enough for all dtypes, and for complex products without rounding."""
    numbers = np.random.default_rng([seed, *shape])
    if dtype == np.dtype(bool):
        return numbers.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return numbers.integers(-9, 9, shape).astype(dtype)
    values = numbers.standard_normal(shape)
    return (np.round(4 * (values + 1j * values[::-1])) if dtype.kind == "c" else values).astype(dtype)


class Checker:
    """Calls, and what was wrong with their results."""

    def __init__(self, library: LayoutLibrary, fraction: int) -> None:
        self.library = library
        self.share = fraction
        self.wrong: list[str] = []
        self.calls = 0

    def elements(self) -> None:
        """Two operands broadcast together, each in several layouts; every rounding is that of NumPy."""
        pairs = (((5, 33), (33,)), ((5, 33), (5, 1)), ((4, 3, 18), (3, 1)), ((7, 64), (7, 64)), ((3, 257), (1,)),
                 ((2, 3, 4, 5), (3, 1, 5)), ((1, 1), (1, 1)), ((64, 40), (64, 40)), ((300,), (300,)))  # fmt: skip
        alike = (("rows", "rows", "rows"), ("columns", "columns", "columns"), ("rows", "gaps", "columns"),
                 ("offset", "rows", "exchanged"), ("gaps", "offset", "rows"))  # fmt: skip
        for dtype in (FLOAT, HALF, BFLOAT16, DOUBLE, np.dtype("complex64"), *INTEGERS):
            accumulate_dtype = FLOAT if dtype in (HALF, BFLOAT16) else dtype
            for left, right in pairs:
                a, b = sampled(left, dtype), sampled(right, dtype, 1)
                expected = (a.astype(accumulate_dtype) * b.astype(accumulate_dtype)).astype(dtype)
                for layouts in alike:
                    self.same("Mul", expected, layouts, [a, b])
            a, b = sampled((9, 70), dtype), sampled((9, 70), dtype, 1)
            if dtype.kind != "c":
                for layout in LAYOUTS:
                    self.same("Lt", a < b, ("rows", layout, layout), [a, b])
                    truth = sampled((9, 1), np.dtype(bool))
                    self.same("Where", np.where(truth, a, b), (layout, "rows", layout, "rows"), [truth, a, b])
        for dtype in (FLOAT, HALF, np.dtype("int8")):  # enough that operands which lie otherwise are copied by tiles
            for shape in ((300, 257), (5, 130, 120)):
                a, b = sampled(shape, dtype), sampled(shape, dtype, 1)
                for layouts in (("rows", "columns", "exchanged"), ("exchanged", "rows", "columns")):
                    accumulate_dtype = a.astype(np.float32) * b.astype(np.float32)
                    self.same("Mul", accumulate_dtype.astype(dtype), layouts, [a, b])
        for layout in LAYOUTS:  # mixed dtypes, and positions within the result
            a, b = sampled((9, 70), FLOAT), sampled((70,), HALF)
            self.same("Mul", a * b.astype(FLOAT), (layout, layout, "rows"), [a, b])
            self.same("Triu", np.triu(a, 3), (layout, layout), [a], 3)

    def same(self, name: str, expected: Array, layouts: tuple[str, ...], inputs: list[Array], *rest: Any) -> None:
        """Calls with an output and inputs in these layouts; the output must be what is expected, bit for bit."""
        label = f"{name} {expected.dtype} {[a.shape for a in inputs]} {layouts}"
        if not picked(label, self.share):
            return
        out = laid(np.full(expected.shape, GUARD, expected.dtype), layouts[0])
        self.library.call(f"diopi{name}", out, *map(laid, inputs, layouts[1:]), *rest)
        self.check(label, out, expected, np.zeros(expected.shape))

    def check(self, label: str, out: Array, expected: Array, allowed: Array) -> None:
        self.calls += 1
        accumulate_dtype = np.complex128 if out.dtype.kind == "c" else np.float64
        distance = np.abs(out.astype(accumulate_dtype) - expected.astype(accumulate_dtype))
        if not np.all(distance <= allowed):
            self.wrong.append(f"{label}: {np.sum(~(distance <= allowed))} of {out.size} elements, by {distance.max()}")
        elif np.sum(owner(out) != np.array(GUARD).astype(out.dtype)) > np.sum(out != np.array(GUARD).astype(out.dtype)):
            self.wrong.append(f"{label}: writes outside of the output")

    def reductions(self) -> None:
        shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
            ((100003,), ()), ((3, 70001), (1,)), ((50001, 3), (0,)), ((20001, 40), (0,)), ((37, 129), ()),
            ((6, 50, 20), (1,)), ((6, 50, 20), (0, 2)), ((6, 50, 20), (0, 1)), ((9, 4, 2), (1,)), ((500, 2), (1,)),
            ((130, 5, 9), (1, 2)), ((4, 1200), (1,)), ((3, 11, 8, 16), (0, 2, 3)), ((0, 4), (0,)), ((65, 1), (0,)),
            ((40, 300), (0,)),
        )  # fmt: skip
        for shape, dims in shapes:
            for layout in LAYOUTS:
                axes = dims or tuple(range(len(shape)))
                if not picked(f"{shape} {axes} {layout}", self.share):
                    continue
                for dtype in (FLOAT, HALF, BFLOAT16, DOUBLE):
                    self.sums(sampled(shape, dtype), axes, layout)
                if np.prod(shape) > 0:
                    self.extremes(shape, axes, layout)

    def running_sums(self) -> None:
        """Whole numbers, which are exact: rows and columns, few and long or many and short, from either end."""
        for shape, dim in (
            ((100003,), 0),
            ((3, 20011), 1),
            ((5003, 16), 0),
            ((2, 300, 17), 1),
            ((7, 9), 1),
            ((40, 2, 3), 0),
        ):
            for dtype in (FLOAT, np.dtype("int32"), DOUBLE):
                values = sampled(shape, np.dtype("int64")).astype(dtype)
                for layout in LAYOUTS:
                    expected = values.cumsum(dim).astype(np.int64 if dtype.kind == "i" else dtype)
                    self.same("Cumsum", expected, ("rows", layout), [values], dim)
                    if dtype.kind == "f":
                        expected = np.flip(np.flip(values, dim).cumsum(dim), dim)
                        self.same("CumsumBackward", expected, (layout, layout), [values], dim)

    def sums(self, values: Array, axes: tuple[int, ...], layout: str) -> None:
        exact = values.astype(np.longdouble)
        own = {FLOAT: 2.0**-23, DOUBLE: 2.0**-50, HALF: 2.0**-10, BFLOAT16: 2.0**-7}[values.dtype]
        digits = 2.0**-50 if values.dtype == DOUBLE else 2.0**-23  # of sums on the way
        total, sizes = exact.sum(axes), np.abs(exact).sum(axes)
        norm, label = np.sqrt((exact**2).sum(axes)), f"{values.dtype} {values.shape} over {axes}, {layout}"
        provided = laid(values, layout)
        results: list[tuple[str, Array, Array, tuple[Any, ...]]] = [
            ("Sum", total, digits * sizes, (axes,)),
            ("Norm", norm, digits * norm, (2.0, axes)),
        ]
        count = int(np.prod([values.shape[axis] for axis in axes]))
        if count > 1:
            # A mean far from zero must not cost the digits of the deviation.
            shifted = (values.astype(np.float64) + 100).astype(values.dtype)
            spread = shifted.astype(np.float64).std(axes, ddof=1)
            results.append(("Mean", total / count, digits * sizes / count, (axes,)))
            out = np.zeros(spread.shape, values.dtype)
            self.library.call("diopiStd", out, laid(shifted, layout), axes, 1)
            self.check(f"Std {label}", out, spread, own * spread + 1e-12)
        for name, expected, allowed, rest in results:
            out = np.zeros(expected.shape, values.dtype)
            self.library.call(f"diopi{name}", out, provided, *rest)
            self.check(f"{name} {label}", out, expected, own * np.abs(expected) + allowed)

    def extremes(self, shape: tuple[int, ...], axes: tuple[int, ...], layout: str) -> None:
        """The first of equal elements counts; integers are added up exactly."""
        dtypes: tuple[np.dtype[Any], ...] = (FLOAT, HALF, *INTEGERS)
        for dtype in dtypes:
            values = np.round(sampled(shape, dtype).astype(np.float64)).astype(dtype)
            label = f"{dtype} {shape} over {axes}, {layout}"
            provided = laid(values, layout)
            if len(axes) == 1:
                best, at = np.zeros_like(values.max(axes)), np.zeros(values.max(axes).shape, np.int64)
                self.library.call("diopiMax", best, at, provided, axes[0])
                self.check(f"Max {label}", best, values.max(axes), np.zeros(best.shape))
                self.check(f"places of Max {label}", at, values.argmax(axes[0]), np.zeros(best.shape))
            if dtype.kind == "i":
                total = np.zeros(values.sum(axes).shape, np.int64)
                self.library.call("diopiSum", total, provided, axes)
                self.check(f"Sum {label}", total, values.sum(axes, dtype=np.int64), np.zeros(total.shape))
        if len(axes) == 1:
            truth = sampled(shape, np.dtype(bool))
            out = np.zeros(truth.all(axes).shape, bool)
            self.library.call("diopiAll", out, laid(truth, layout), axes[0])
            self.check(f"All {shape} over {axes}, {layout}", out, np.asarray(truth.all(axes)), np.zeros(out.shape))

    def copies(self) -> None:
        """From every layout to every other, as it is and with a cast."""
        dtypes: tuple[np.dtype[Any], ...] = (
            FLOAT,
            HALF,
            BFLOAT16,
            np.dtype("int8"),
            np.dtype("int64"),
            np.dtype("complex128"),
            np.dtype(bool),
        )
        casts: tuple[tuple[np.dtype[Any], np.dtype[Any]], ...] = (
            (FLOAT, HALF), (HALF, FLOAT), (FLOAT, BFLOAT16), (FLOAT, np.dtype("int32")), (np.dtype("int64"), FLOAT),
            (DOUBLE, HALF),
        )  # fmt: skip
        shapes = ((1,), (131,), (70, 45), (64, 32), (3, 40, 70), (2, 5, 33, 34), (65, 3, 4), (2, 33, 3, 35))
        for shape in shapes:
            for to in LAYOUTS:
                for origin in LAYOUTS:
                    for dtype in dtypes:
                        if not picked(f"{shape} {to} {origin} {dtype}", self.share):
                            continue
                        values = sampled(shape, dtype)
                        out = laid(np.full(shape, GUARD, dtype), to)
                        self.library.call("diopiCopyInp", laid(values, origin), out)
                        self.check(f"CopyInp {dtype} {shape} {origin} to {to}", out, values, np.zeros(shape))
                    for dtype, result in casts:
                        values = sampled(shape, dtype)
                        self.same("CastDtype", values.astype(result), (to, origin), [values])

    def positions(self) -> None:
        """Slices of every width by number, and few long columns that are scattered with repetitions."""
        numbers = np.random.default_rng(3)
        by_number: tuple[np.dtype[Any], ...] = (FLOAT, HALF, np.dtype("int8"), np.dtype("complex128"))
        for dtype in by_number:
            for shape, dim in (
                ((40, 16), 0),
                ((40, 3), 0),
                ((7, 30, 8), 1),
                ((7, 30, 1), 1),
                ((5, 60), 1),
                ((9, 6), 0),
            ):
                values, index = sampled(shape, dtype), numbers.integers(0, shape[dim], 50)
                for layout in LAYOUTS:
                    self.same("IndexSelect", values.take(index, dim), ("rows", layout), [values], dim, index)
        scattered_dtypes: tuple[np.dtype[Any], ...] = (FLOAT, np.dtype("int64"))
        for dtype in scattered_dtypes:
            for shape, dim in (((300, 5), 0), ((3, 200), 1), ((2, 150, 3), 1), ((30, 5), 0)):
                target, source = sampled(shape, dtype), sampled(shape, dtype, 1)
                index = numbers.integers(0, shape[dim] // 2, shape)
                for reduce in ("", "add", "multiply"):
                    expected = scattered(target, source, index, dim, reduce)
                    for layout in LAYOUTS:
                        if not picked(f"{dtype} {shape} {reduce} {layout}", self.share):
                            continue
                        provided = laid(target, layout), dim, laid(source, layout), index, reduce
                        out = laid(np.full(shape, GUARD, dtype), layout)
                        self.library.call("diopiScatter", out, *provided)
                        label = f"Scatter {reduce} {dtype} {shape} along {dim}, {layout}"
                        self.check(label, out, expected, np.zeros(shape))


def scattered(target: Array, source: Array, index: Array, dim: int, reduce: str) -> Array:
    """Element by element, in the order of the source."""
    result = target.copy()
    for position in np.ndindex(*index.shape):
        to = (*position[:dim], index[position], *position[dim + 1 :])
        if reduce == "add":
            result[to] += source[position]
        elif reduce == "multiply":
            result[to] *= source[position]
        else:
            result[to] = source[position]
    return np.asarray(result)


def main() -> None:
    runtime, library, fraction = sys.argv[1], sys.argv[2], int(sys.argv[3])
    interface = Session(str(ROOT / "specs")).load().interface
    checker = Checker(LayoutLibrary(Path(runtime), Path(library), interface), fraction)
    parts: Iterator[Callable[[], None]] = iter(
        (checker.elements, checker.reductions, checker.running_sums, checker.copies, checker.positions)
    )
    for part in parts:
        before = checker.calls
        part()
        assert checker.calls - before > 100 // fraction, part
    print("\n".join(checker.wrong), end="")


if __name__ == "__main__":
    main()
