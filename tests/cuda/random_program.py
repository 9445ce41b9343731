"""Calls every random function of a library, and writes what it drew: `random_program.py RUNTIME LIBRARY SEED FILE`.

A program of its own, since a process holds one library.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from cpu_library import BFLOAT16, BY_NUMBER, DTYPES, SUCCESS, CpuLibrary, NewTensor, Size, size_of

from diopigen.console import Session
from diopigen.ir.model import Interface

ROOT = Path(__file__).parents[2]
HALF = np.dtype("float16")
FLOATS = (np.dtype("float32"), np.dtype("float64"), HALF, BFLOAT16)
Array = np.ndarray[Any, Any]


class AnyLibrary(CpuLibrary):
    """The same for libraries with memory of their own: arrays are copied there before a call, and back behind it."""

    def wrap(self, array: Array, keep: list[Any], device: int = 1) -> ctypes.c_void_p:
        assert array.flags.c_contiguous
        handle, shape = ctypes.c_void_p(), size_of(array.shape, keep)
        created = self.runtime.diopiHostCreateTensor(
            self.context,
            ctypes.byref(handle),
            ctypes.byref(shape),
            None,
            ctypes.c_int64(0),
            DTYPES[array.dtype],
            device,
        )
        assert created == SUCCESS
        self.copy("diopiHostCopyToStorage", handle, array)
        return handle

    def copy(self, function: str, handle: ctypes.c_void_p, array: Array) -> None:
        memory, count = ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(array.nbytes)
        assert not array.nbytes or getattr(self.runtime, function)(self.context, handle, memory, count) == SUCCESS

    def fetch(self, handle: ctypes.c_void_p) -> Array:
        size, dtype = Size(), ctypes.c_uint()
        assert self.runtime.diopiGetTensorShape(handle, ctypes.byref(size)) == SUCCESS
        assert self.runtime.diopiGetTensorDtype(handle, ctypes.byref(dtype)) == SUCCESS
        result = np.empty([size.data[i] for i in range(size.len)], BY_NUMBER[dtype.value])
        self.copy("diopiHostCopyFromStorage", handle, result)
        return result

    def call(self, name: str, *values: Any) -> None:
        function = self.functions[name]
        keep: list[Any] = []
        created: list[tuple[NewTensor, ctypes.c_void_p]] = []
        arguments: list[Any] = [self.context]
        provided: list[tuple[ctypes.c_void_p, Array]] = []
        for param, value in zip(function.params, values, strict=True):
            handles: list[ctypes.c_void_p] = []
            arguments.append(self.argument(function, param, value, keep, handles, created, 1))
            provided += [(handle, value) for handle in handles]
        status = getattr(self.library, name)(*arguments)
        assert status == SUCCESS, f"{name}: {status}, {self.library.diopiGetLastErrorString().decode()}"
        for handle, array in provided:
            self.copy("diopiHostCopyFromStorage", handle, array)
            assert self.runtime.diopiHostDestroyTensor(handle) == SUCCESS
        for new, handle in created:
            new.array = self.fetch(handle)


def random_functions(interface: Interface) -> set[str]:
    """The functions of operators that take a generator."""
    return {
        function.name
        for function in interface.functions
        if any(param.type == "generator" for param in function.params)
        and not function.name.startswith("diopiGenerator")
    }


class Draws:
    """Calls with generators of one seed, and what they gave."""

    def __init__(self, library: AnyLibrary, seed: int) -> None:
        self.library, self.seed = library, seed
        self.results: dict[str, Array] = {}
        self.called: set[str] = set()

    def call(self, function: str, label: str, outputs: dict[str, Any], *values: Any) -> None:
        """`...` stands for the generator. Keeps the outputs, and the offset that the generator has come to."""
        generator = self.library.generator(self.seed, 8)
        name = f"diopi{function}"
        self.library.call(name, *[generator if value is ... else value for value in values])
        self.called.add(name)
        for output, value in outputs.items():
            array = value.array if isinstance(value, NewTensor) else value
            widened = array.astype(np.float32) if array.dtype == BFLOAT16 else array.copy()
            self.results[f"{function}/{label}/{output}"] = widened
        seed, offset = ctypes.c_uint64(), ctypes.c_uint64()
        told = self.library.runtime.diopiGeneratorGetSeedAndOffset(generator, ctypes.byref(seed), ctypes.byref(offset))
        assert told == SUCCESS
        self.results[f"{function}/{label}/offset"] = np.array([seed.value - self.seed, offset.value])

    def fills(self) -> None:
        """Functions that draw for each element."""
        for dtype in FLOATS:
            label, shape = dtype.name, (7, 131)
            rates = np.linspace(0, 1, 7 * 131).reshape(shape).astype(dtype)
            input = np.linspace(-3, 3, 7 * 131).reshape(shape).astype(dtype)
            out, mask = np.zeros(shape, dtype), np.zeros(shape, bool)
            self.call("Dropout", label, {"out": out, "mask": mask}, out, mask, input, 0.3, True, ...)
            retained = input.copy()
            self.call("DropoutInp", label, {"out": retained, "mask": mask}, retained, mask, 0.3, True, ...)
            self.call("UniformInp", label, {"out": out}, out, -1.5, 2.5, ...)
            self.call("RandomInp", label, {"out": out}, out, 3, 1000, ...)
            self.call("Bernoulli", label, {"out": out}, out, rates, ...)
            own = rates.copy()
            self.call("BernoulliInp", label, {"out": own}, own, ...)
            self.call("BernoulliScalar", label, {"out": out}, out, 0.4, ...)
            self.call("Normal", label, {"out": out}, out, 0.5, 2.0, ...)
            self.call("NormalTensorScalar", label, {"out": out}, out, input, 2.0, ...)
            self.call("NormalScalarTensor", label, {"out": out}, out, 0.5, rates, ...)
            self.call("NormalTensor", label, {"out": out}, out, input, rates, ...)
            self.call("NormalInp", label, {"out": out}, out, -0.5, 1.5, ...)
        for name in ("int64", "int32", "uint8"):
            full = np.zeros((5, 77), name)
            self.call("RandomInp", name, {"out": full}, full, 0, 200, ...)

    def choices(self) -> None:
        """Functions that draw for a whole."""
        order = np.zeros(257, np.int64)
        self.call("Randperm", "257", {"out": order}, order, 257, ...)
        weights = np.random.default_rng(1).random((4, 50)).astype(np.float32)
        selected = np.zeros((4, 20), np.int64)
        self.call("Multinomial", "with", {"out": selected}, selected, weights, 20, True, ...)
        self.call("Multinomial", "without", {"out": selected}, selected, weights, 20, False, ...)

    def attention(self) -> None:
        """Attention with dropout, padded and joined, forward and backward."""
        rng = np.random.default_rng(2)
        batch, tokens, heads, size, p, scale = 2, 9, 2, 16, 0.25, 0.25

        def operand(*shape: int) -> Array:
            return rng.standard_normal(shape).astype(HALF)

        for joined in (False, True):
            shape = (batch * tokens, heads, size) if joined else (batch, tokens, heads, size)
            form = "VarLen" if joined else ""
            q, k, v, grad_output = (operand(*shape) for _ in range(4))
            starts = np.array([0, tokens, 2 * tokens], np.int32)
            # How the forms tell the sequences: for MultiHeadAttention, FlashAttention and CustomizedFlashAttention.
            ends = (starts, starts) if joined else ()
            longest = (tokens, tokens) if joined else ()
            lists = ([tokens, 2 * tokens], [tokens, 2 * tokens]) if joined else ()
            out, lse = np.zeros(shape, HALF), np.zeros((batch, heads, tokens), np.float32)
            retained = np.zeros((batch, heads, tokens, tokens), bool)
            grads = [np.zeros(shape, HALF) for _ in range(3)]
            named = dict(zip(("q", "k", "v"), grads, strict=True))
            self.call(
                f"MultiHeadAttention{form}", "half", {"out": out, "mask": retained},
                q, k, v, *ends, *longest, p, False, True, scale, out, lse, ..., retained,
            )  # fmt: skip
            self.call(
                f"MultiHeadAttention{form}Backward", "half", named,
                grad_output, q, k, v, out, lse, *ends, *longest, p, False, ..., scale, *grads,
            )  # fmt: skip
            settings = (p, scale, False, -1, -1)
            self.call(
                f"FlashAttention{form}", "half", {"out": out},
                out, lse, ..., q, k, v, *ends, None, *longest, *settings,
            )  # fmt: skip
            self.call(
                f"FlashAttention{form}Backward", "half", named,
                *grads, grad_output, ..., q, k, v, *ends, None, out, lse, *longest, *settings,
            )  # fmt: skip
            created = [NewTensor() for _ in range(4)]
            rest = () if joined else (heads, "BSND")
            self.call(
                f"CustomizedFlashAttention{form}", "half", {"out": out, "mask": created[0]},
                out, *created, ..., q, k, v, *lists, None, None, *longest, *settings, *rest,
            )  # fmt: skip


def main() -> None:
    runtime, library, seed, file = sys.argv[1:]
    interface = Session(str(ROOT / "specs")).load().interface
    samples = Draws(AnyLibrary(Path(runtime), Path(library), interface), int(seed))
    samples.fills()
    samples.choices()
    samples.attention()
    assert samples.called == random_functions(interface), samples.called ^ random_functions(interface)
    np.savez(file, allow_pickle=False, **samples.results)


if __name__ == "__main__":
    main()
