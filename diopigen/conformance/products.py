"""Products of matrices with the same result on every machine: sums in NumPy's own loops.

`@`, `np.matmul`, `np.dot` and their kin hand floats to the BLAS that NumPy was built with, which picks a kernel by the
processor and adds up in that kernel's order. `np.einsum` without `optimize` multiplies and adds one by one in the type
of the operands. In which order it adds is not promised either (vectors on ARM may even fuse), but any order of n terms
is off by at most n - 1 roundings of their sizes, and `compare.bounds.own_error` grants n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array

_BLOCK = 256
"""Rows, columns and terms of what is multiplied at once: three blocks of float64 fit into a cache of 2 MiB."""
_LARGE = 1 << 27
"""Multiplications from which a size is added up in float32, which takes half the time."""


def product(first: Array, second: Array) -> Array:
    """`first @ second`, with all that `np.matmul` says of shapes: vectors, batches that broadcast. Integers wrap."""
    left = first[None, :] if first.ndim == 1 else first
    right = second[:, None] if second.ndim == 1 else second
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, batch + left.shape[-2:])
    right = np.broadcast_to(right, batch + right.shape[-2:])
    found = np.empty((*batch, left.shape[-2], right.shape[-1]), np.result_type(left, right))
    if max(left.shape[-2:] + right.shape[-2:], default=0) <= _BLOCK:
        found[...] = _block(left, right)
    else:
        for index in np.ndindex(batch):
            _in_blocks(left[index], right[index], found[index])
    if first.ndim == 1:
        found = found[..., 0, :]
    return np.asarray(found[..., 0] if second.ndim == 1 else found)


def size_of_product(first: Array, second: Array) -> Array:
    """`abs(first) @ abs(second)`: the size of what a product adds up. Of large products an upper bound, which is above
    it by at most 2 * (n + 2) roundings of float32 for n terms."""
    first, second = np.abs(first), np.abs(second)
    terms = first.shape[-1]
    count = first.size * (second.size // max(terms, 1))
    if count < _LARGE or first.dtype != np.float64 or second.dtype != np.float64:
        return product(first, second)
    if not terms * float(first.max()) * float(second.max()) < float(np.finfo(np.float32).max):
        return product(first, second)
    found = product(first.astype(np.float32), second.astype(np.float32)).astype(np.float64)
    single = np.finfo(np.float32)
    return np.asarray(found * (1 + (terms + 2) * float(single.eps)) + terms * float(single.tiny))


def adjoint(x: Array) -> Array:
    """Conjugate transposes."""
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


def _block(left: Array, right: Array) -> Array:
    # Copies: along a stride of zero einsum would add up before it multiplies, and infinity times a sum is not the sum
    # of infinities.
    rows, columns = np.ascontiguousarray(left), np.ascontiguousarray(np.swapaxes(right, -1, -2))
    found: Any = np.einsum("...ik,...jk->...ij", rows, columns)
    return np.asarray(found)


def _in_blocks(left: Array, right: Array, found: Array) -> None:
    found[...] = 0
    for column in range(0, found.shape[1], _BLOCK):
        to = slice(column, column + _BLOCK)
        for term in range(0, left.shape[1], _BLOCK):
            along = slice(term, term + _BLOCK)
            found[:, to] += _block(left[:, along], right[along, to])
