"""Reading and writing at positions: gather, scatter, index and their kin, embeddings, masks, slices. All float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("indexing",)
SIZES = {"1M": (1024, 1024), "16M": (4096, 4096)}
Pair = tuple[Callable[[], object], Callable[[], object]]


def _elements(device: Device, a: torch.Tensor) -> Iterator[tuple[str, Pair]]:
    rows, columns = a.shape
    out, expected = torch.empty_like(a), torch.empty_like(a)
    for dim, label in ((1, "last"), (0, "first")):
        index = torch.randint(0, a.shape[dim], (rows, columns))

        def pair(ours: Callable[[], object], theirs: Callable[..., object], *provided: object) -> Pair:
            return ours, lambda: theirs(a, *provided, out=expected)

        yield f"diopiGather {label}", pair(device.call("diopiGather", out, a, dim, index), torch.gather, dim, index)
        ours = device.call("diopiScatter", out, a, dim, a, index, "")
        yield f"diopiScatter {label}", pair(ours, torch.scatter, dim, index, a)
        ours = device.call("diopiScatter", out, a, dim, a, index, "add")
        yield f"diopiScatter add {label}", pair(ours, torch.scatter_add, dim, index, a)
        some = torch.randint(0, a.shape[dim], (a.shape[dim],))
        ours = device.call("diopiIndexSelect", out, a, dim, some)
        yield f"diopiIndexSelect {label}", pair(ours, torch.index_select, dim, some)
        gradient = torch.zeros_like(a)
        ours = device.call("diopiIndexSelectBackward", out, a, tuple(a.shape), dim, some)
        yield (
            f"diopiIndexSelectBackward {label}",
            (ours, lambda dim=dim, some=some, gradient=gradient: gradient.zero_().index_add_(dim, some, a)),
        )


def _advanced(device: Device, a: torch.Tensor) -> Iterator[tuple[str, Pair]]:
    rows = a.shape[0]
    out, position = torch.empty_like(a), a.clone()
    i, j = (torch.randint(0, size, (a.numel(),)) for size in a.shape)
    few = torch.randint(0, rows, (rows,))
    values = torch.rand(a.numel())
    yield "diopiIndex rows", (device.allocating("diopiIndex", a, [few], 1), lambda: a[few])
    yield "diopiIndex points", (device.allocating("diopiIndex", a, [i, j], 2), lambda: a[i, j])
    ours = device.call("diopiIndexPutInp", out, values, [i, j], 2, False)
    yield "diopiIndexPutInp points", (ours, lambda: position.index_put_((i, j), values))
    ours = device.call("diopiIndexPutInp", out, values, [i, j], 2, True)
    yield "diopiIndexPutInp add", (ours, lambda: position.index_put_((i, j), values, accumulate=True))
    words = torch.randint(0, rows, (rows,))
    ours = device.call("diopiEmbedding", out, a, words, -1, False, False)
    yield "diopiEmbedding", (ours, lambda: functional.embedding(words, a))
    ours = device.call("diopiEmbeddingBackward", out, a, words, rows, -1, False, False)
    backward = torch.ops.aten.embedding_dense_backward
    yield "diopiEmbeddingBackward", (ours, lambda: backward(a, words, rows, -1, False))


def _masks(device: Device, a: torch.Tensor) -> Iterator[tuple[str, Pair]]:
    rows, columns = a.shape
    out, expected = torch.empty_like(a), torch.empty_like(a)
    mask = torch.rand(a.shape) < 0.5
    rare = torch.rand(a.shape) < 0.01
    number = torch.zeros(())
    ours = device.call("diopiMaskedFillScalar", out, a, mask, 0.0)
    yield "diopiMaskedFillScalar", (ours, lambda: torch.masked_fill(a, mask, 0.0))
    ours = device.call("diopiMaskedFill", out, a, mask, number)
    yield "diopiMaskedFill", (ours, lambda: torch.masked_fill(a, mask, number))
    yield "diopiMaskedSelect", (device.allocating("diopiMaskedSelect", a, mask), lambda: torch.masked_select(a, mask))
    ours = device.call("diopiMaskedScatter", out, a, mask, a)
    yield "diopiMaskedScatter", (ours, lambda: torch.masked_scatter(a, mask, a))
    yield "diopiNonzero half", (device.allocating("diopiNonzero", mask), lambda: torch.nonzero(mask))
    yield "diopiNonzero rare", (device.allocating("diopiNonzero", rare), lambda: torch.nonzero(rare))
    ours = device.call("diopiWhere", out, mask, a, expected)
    yield "diopiWhere", (ours, lambda: torch.where(mask, a, expected))
    half = torch.empty(rows, columns // 2)
    ours = device.call("diopiSlice", half, a, 1, 0, columns, 2)
    yield "diopiSlice", (ours, lambda: half.copy_(a[:, ::2]))
    classes = torch.randint(0, 64, (a.numel() // 64,))
    hot = torch.empty((a.numel() // 64, 64), dtype=torch.int64)
    yield "diopiOneHot", (device.call("diopiOneHot", hot, classes, 64), lambda: functional.one_hot(classes, 64))
    few = torch.randint(0, columns, (columns // 4,))
    ours = device.call("diopiIndexFillScalar", out, a, 1, few, 0.0)
    yield "diopiIndexFillScalar", (ours, lambda: torch.index_fill(a, 1, few, 0.0))


def cases(device: Device) -> Iterator[Case]:
    """Every operator at every size."""
    for size, shape in SIZES.items():
        a = torch.rand(shape)
        for kind in (_elements, _advanced, _masks):
            for name, (ours, theirs) in kind(device, a):
                yield Case("indexing", name, size, ours, theirs)
