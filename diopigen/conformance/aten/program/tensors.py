"""Tensors of torch over the bytes of a request, on the device under test or on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from diopigen.conformance.dtypes import Array
from diopigen.conformance.run.frames import RawTensor, TensorForm
from diopigen.conformance.run.serving import TensorFields


def torch_dtypes(codes: Mapping[str, int]) -> dict[int, Any]:
    """The dtypes of torch by the interface's enumerators; those that this torch lacks are left out."""
    return {code: getattr(torch, name) for name, code in codes.items() if hasattr(torch, name)}


class Tensors:
    """The tensors of one call. On the meta device they have no bytes."""

    def __init__(self, device: Any, dtypes: Mapping[int, Any], contents: Sequence[Array]) -> None:
        self.device, self.dtypes = device, dtypes
        self.storages = [self._storage(content) for content in contents]
        self.tensors: list[Any] = []

    def _storage(self, content: Array) -> Any:
        if self.device.type == "meta":
            return torch.empty(content.size, dtype=torch.uint8, device="meta")
        return torch.from_numpy(content).to(self.device, copy=True)

    def add(self, fields: TensorFields) -> None:
        """Makes the next tensor of the request. Raises `KeyError` for a dtype that torch lacks, and `RuntimeError` or
        `ValueError` for a tensor that it cannot have."""
        if fields.form == TensorForm.CSR:
            starts, columns, values = (self.tensors[part] for part in fields.parts)
            found = torch.sparse_csr_tensor(starts, columns, values, fields.shape, device=self.device)
            self.tensors.append(found)
            return
        dtype = self.dtypes[fields.dtype]
        if fields.form == TensorForm.ALONE:
            self.tensors.append(torch.empty_strided(fields.shape, fields.strides, dtype=dtype, device=self.device))
            return
        base = self.storages[fields.base]
        self.tensors.append(_view(base, dtype, fields.offset, fields.shape, fields.strides))

    def bytes_of(self, number: int) -> Array:
        """The bytes of a storage now."""
        found: Array = self.storages[number].cpu().numpy().copy()
        return found


def store(content: Array, dtype: Any, fields: TensorFields, result: Any) -> None:
    """Writes a result to the tensor that `fields` describe in the bytes of a storage."""
    view = _view(torch.from_numpy(content), dtype, fields.offset, fields.shape, fields.strides)
    view.copy_(_on_host(result).reshape(view.shape))


def raw(tensor: Any, codes: Mapping[Any, int]) -> RawTensor:
    """A tensor that a call returns. Raises `KeyError` where the interface has no such dtype."""
    host = _on_host(tensor).contiguous()
    shape = tuple(host.shape)
    content = host.reshape(-1).view(torch.uint8).numpy() if host.numel() else np.empty(0, dtype=np.uint8)
    return RawTensor(codes[tensor.dtype], shape, tuple(host.stride()), 0, content)


def _on_host(tensor: Any) -> Any:
    return tensor.detach().cpu().resolve_conj().resolve_neg()


def _view(base: Any, dtype: Any, offset: int, shape: Sequence[int], strides: Sequence[int]) -> Any:
    found = torch.empty(0, dtype=dtype, device=base.device)
    return found.set_(base.untyped_storage(), offset, tuple(shape), tuple(strides))
