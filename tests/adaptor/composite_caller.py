"""Composites over a vendor of a few exact primitives, called with NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from adaptor_helpers import SUCCESS, Library, Tensor

from diopigen.ir.model import Interface

Array = Any


class Caller:
    """Calls a composite with NumPy arrays."""

    def __init__(self, library: Library, interface: Interface) -> None:
        self.library, self.interface = library, interface
        self.held: list[Any] = []
        created = ctypes.c_void_p()
        create = library.runtime.diopiHostCreateGenerator
        assert create(ctypes.byref(created), ctypes.c_uint64(1), ctypes.c_uint64(0)) == SUCCESS
        self.generator = created.value

    def tensor(self, values: Array, dtype: str = "float32") -> Tensor:
        array = np.asarray(values, dtype=np.float64)
        tensor = self.library.tensor(dtype, list(array.shape))
        self.library.write(tensor, [float(value) for value in array.ravel()])
        return tensor

    def complex_tensor(self, values: Array, dtype: str) -> Tensor:
        tensor = self.library.tensor(dtype, list(values.shape))
        self.library.write(tensor, *([float(value) for value in part.ravel()] for part in (values.real, values.imag)))
        return tensor

    def text(self, value: str) -> int:
        self.held.append(ctypes.create_string_buffer(value.encode()))
        return ctypes.addressof(self.held[-1])

    def scalar(self, value: float) -> int:
        class Scalar(ctypes.Structure):
            _fields_ = (("stype", ctypes.c_int), ("fval", ctypes.c_double))

        self.held.append(Scalar(10, value))
        return ctypes.addressof(self.held[-1])

    def array(self, tensor: Tensor) -> Array:
        return np.array([value.real for value in self.library.values(tensor)]).reshape(tensor.size)

    def __call__(self, name: str, *, leaks: Any = False, **arguments: Any) -> int:
        function = self.interface.function(name)
        assert function is not None
        provided = {key: value.handle if isinstance(value, Tensor) else value for key, value in arguments.items()}
        alive = self.library.temporaries()  # what earlier calls could not release
        status = self.library.call(function, provided)
        assert leaks or self.library.temporaries() == alive
        return status


def numbers(*shape: int, seed: int = 0, scale: float = 3.0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32).astype(np.float64) * scale


def close(found: Array, expected: Array, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)
