"""Mock operators for single properties of shims."""

from __future__ import annotations

from adaptor_helpers import (
    Library,
    Tensor,
    cast,
)

from diopigen.ir.model import Function, Interface

NARROW = (cast("int64", "int32"), cast("float64", "float32"))
USED = frozenset(
    {"diopiAdd", "diopiAddInp", "diopiCat", "diopiNonzero", "diopiIndex", "diopiUnique", "diopiSoftmax", "diopiMax"}
    | {"diopiConvolution2d", "diopiDynamicPointToVoxelMmcv", "diopiSpMM", "diopiLayerNorm", "diopiMul"}
)


def function(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None, name
    return found


def filled(library: Library, dtype: str, size: list[int], stride: list[int] | None = None) -> Tensor:
    tensor = library.tensor(dtype, size, stride)
    library.write(tensor, [float(position % 7) for position in range(tensor.count)])
    return tensor
