"""Runs attention forward and backward: `attention_program.py RUNTIME LIBRARY FILE TIMES`.

FILE gets the results of all cases, which are run TIMES times. `forms` in place of a number makes many products, `fused`
runs the cases for cuDNN's fused attention. A
program of its own, since a process holds one library, and the library reads its settings once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from cpu_library import BFLOAT16
from random_program import AnyLibrary

from diopigen.console import Session

ROOT = Path(__file__).parents[2]
Array = np.ndarray[Any, Any]
HALF, SINGLE = np.dtype("float16"), np.dtype("float32")


@dataclass(frozen=True)
class Case:
    """A call: tensors are [batch, tokens, heads, size]."""

    name: str
    dtype: np.dtype[Any]
    batch: int
    queries: int
    keys: int
    heads: int
    kv_heads: int
    size: int
    is_causal: bool = False
    left: int = -1
    right: int = -1
    has_slopes: bool = False
    nan_in: str = ""
    """An operand with NaN where few see it: the last key or value, or the gradient of the first query."""
    gradient: float = 1
    """The magnitude of grad_output."""
    dropout: float = 0

    @property
    def scale(self) -> float:
        return float(np.float32(self.size**-0.5))

    def operands(self) -> dict[str, Array]:
        """Queries, keys, values and the gradient that comes in, and slopes."""
        generator = np.random.default_rng(self.queries + 7 * self.keys + self.size)
        shapes = {
            "q": (self.batch, self.queries, self.heads, self.size),
            "k": (self.batch, self.keys, self.kv_heads, self.size),
            "v": (self.batch, self.keys, self.kv_heads, self.size),
            "grad": (self.batch, self.queries, self.heads, self.size),
        }
        created = {name: generator.standard_normal(shape).astype(self.dtype) for name, shape in shapes.items()}
        created["grad"] = (created["grad"] * self.gradient).astype(self.dtype)
        if self.nan_in:
            created[self.nan_in][:, 0 if self.nan_in == "grad" else -1] = np.nan
        created["slopes"] = np.linspace(0.01, 0.1, self.heads, dtype=np.float32)
        return created


CASES = (
    Case("causal, heads that share keys", HALF, 3, 150, 150, 4, 2, 32, is_causal=True),
    Case("causal, fewer queries than keys", BFLOAT16, 2, 90, 140, 2, 2, 20, is_causal=True),
    Case("causal, more queries than keys", HALF, 1, 140, 90, 2, 1, 16, is_causal=True),
    Case("everything seen", BFLOAT16, 2, 130, 200, 3, 3, 24),
    Case("one head with keys", HALF, 1, 100, 130, 4, 1, 64),
    Case("odd sizes", BFLOAT16, 2, 67, 71, 3, 1, 7, is_causal=True),
    Case("a window", HALF, 2, 160, 160, 2, 2, 16, left=40, right=10),
    Case("a window behind the first keys", BFLOAT16, 1, 300, 300, 2, 1, 16, is_causal=True, left=30, has_slopes=True),
    Case("slopes", HALF, 2, 70, 80, 4, 2, 16, is_causal=True, has_slopes=True),
    Case("rows longer than registers", HALF, 1, 66, 1100, 2, 2, 8),
    Case("few queries over many keys", BFLOAT16, 2, 2, 2500, 4, 2, 16),
    Case("few queries with a window", HALF, 1, 3, 2500, 2, 2, 16, is_causal=True, left=1500),
    Case("single precision", SINGLE, 2, 90, 100, 4, 2, 16, is_causal=True),
    Case("a hidden value that is NaN", HALF, 1, 80, 80, 2, 1, 16, is_causal=True, nan_in="v"),
    Case("a hidden key that is NaN", BFLOAT16, 2, 80, 80, 2, 2, 16, is_causal=True, nan_in="k"),
    Case("a gradient that is NaN", HALF, 2, 80, 80, 4, 2, 16, is_causal=True, nan_in="grad"),
    Case("small gradients", HALF, 1, 90, 200, 2, 2, 16, gradient=2e-4),
    Case("large gradients", HALF, 1, 90, 100, 2, 2, 16, gradient=2e3),
)

FUSED = (replace(CASES[0], batch=1), CASES[3], replace(CASES[4], heads=2), CASES[6], CASES[14], CASES[15])
"""Cases that cuDNN serves: shared heads, odd lengths, a window, NaN that few see."""

DROPPED = Case("dropout", HALF, 2, 300, 301, 2, 1, 16, is_causal=True, left=30, dropout=0.25)
"""Its definition needs the numbers that are drawn; blocks of all sizes draw the same."""


def run(library: AnyLibrary, case: Case) -> dict[str, Array]:
    """Output, logarithms of sums, and the three gradients, as float32 at least."""
    provided = case.operands()
    q, k, v, grad = (provided[name] for name in ("q", "k", "v", "grad"))
    out, grad_q = np.zeros_like(q), np.zeros_like(q)
    grad_k, grad_v = np.zeros_like(k), np.zeros_like(v)
    lse = np.zeros((case.batch, case.heads, case.queries), np.float32)
    generator = library.generator(0, 0)
    if case.dtype == SINGLE:
        scale = case.scale
        library.call(
            "diopiMultiHeadAttention", q, k, v, 0.0, case.is_causal, False, scale, out, lse, generator, None
        )  # fmt: skip
        library.call(
            "diopiMultiHeadAttentionBackward", grad, q, k, v, out, lse, 0.0, case.is_causal, generator, scale,
            grad_q, grad_k, grad_v,
        )  # fmt: skip
    else:
        slopes = provided["slopes"] if case.has_slopes else None
        settings = (case.dropout, case.scale, case.is_causal, case.left, case.right)
        library.call("diopiFlashAttention", out, lse, generator, q, k, v, slopes, *settings)
        library.call(
            "diopiFlashAttentionBackward", grad_q, grad_k, grad_v, grad, generator, q, k, v, slopes, out, lse,
            *settings,
        )  # fmt: skip
    results = {"out": out, "lse": lse, "grad_q": grad_q, "grad_k": grad_k, "grad_v": grad_v}
    return {name: array.astype(np.float32) for name, array in results.items()}


def other_operators(library: AnyLibrary) -> dict[str, Array]:
    """Operators around attention, with long rows, heads that are read by vectors, and large tiles."""
    generator = np.random.default_rng(11)
    results: dict[str, Array] = {}
    for keys in (48, 1500):
        scores, grad = (generator.standard_normal((2, 2, 3, keys)).astype(np.float16) for _ in range(2))
        mask = generator.random((2, 1, 3, keys)) < 0.3
        for is_triangle in (False, True):
            out, grad_in = np.zeros_like(scores), np.zeros_like(scores)
            library.call("diopiScaledMaskedSoftmax", out, scores, mask, 1.5, is_triangle)
            library.call("diopiScaledMaskedSoftmaxBackward", grad_in, grad, out, mask, 1.5, is_triangle)
            provided = {"scores": scores, "grad": grad, "mask": mask, "out": out, "grad_in": grad_in}
            results |= {f"softmax-{keys}-{int(is_triangle)}/{name}": array for name, array in provided.items()}
    for dtype in (HALF, SINGLE):
        x = generator.standard_normal((2, 5, 3, 64)).astype(dtype)
        cos, sin = (generator.standard_normal((5, 1, 32)).astype(dtype) for _ in range(2))
        for interleaved in (False, True):
            out = np.zeros_like(x)
            library.call("diopiRotaryEmbedding", out, x, cos, sin, True, interleaved)
            provided = {"x": x, "cos": cos, "sin": sin, "out": out}
            results |= {f"rotary-{dtype}-{int(interleaved)}/{name}": array for name, array in provided.items()}
    products: tuple[np.dtype[Any], ...] = (HALF, np.dtype("float64"), np.dtype("complex64"), np.dtype("int64"))
    for dtype in products:
        a, b = ((9 * generator.standard_normal(shape)).astype(dtype) for shape in ((70, 50), (50, 90)))
        out = np.zeros((70, 90), dtype)
        library.call("diopiMm", out, a, b)
        results |= {f"product-{dtype}/{name}": array for name, array in {"a": a, "b": b, "out": out}.items()}
    return results


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    library = AnyLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    if sys.argv[4] == "forms":
        # 1030 forms, of which the library keeps 1024: the last is there when it comes again, the first is not.
        for rows in (*range(1, 1031), 1030, 1):
            library.call("diopiMm", np.zeros((rows, 3), HALF), np.ones((rows, 2), HALF), np.ones((2, 3), HALF))
        return
    found: dict[str, Array] = {}
    if sys.argv[4] == "fused":
        found = {f"{case.name}/{name}": array for case in FUSED for name, array in run(library, case).items()}
        np.savez(sys.argv[3], allow_pickle=False, **found)
        return
    for _ in range(int(sys.argv[4])):
        found = {
            f"{case.name}/{name}": array for case in (*CASES, DROPPED) for name, array in run(library, case).items()
        }
        found |= other_operators(library)
    np.savez(sys.argv[3], allow_pickle=False, **found)


if __name__ == "__main__":
    main()
