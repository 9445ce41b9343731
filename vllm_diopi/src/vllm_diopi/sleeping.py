"""Sleep mode: memory of weights and caches that is returned to the device, and allocated again when vLLM wakes up."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class Released:
    """Memory that tensors had. The tensors, and all views of them, are valid again after `restore`."""

    def __init__(self) -> None:
        self._storages: list[tuple[torch.UntypedStorage, int, Tensor | None]] = []

    def release(self, tensors: Iterable[Tensor], is_kept: bool) -> None:
        """Returns the memory of tensors of the device, and copies it to the host if it is kept."""
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.device.type != "cpu" and storage.nbytes():
                copy = _bytes_of(storage).cpu() if is_kept else None
                self._storages.append((storage, storage.nbytes(), copy))
                storage.resize_(0)

    def restore(self) -> None:
        """Allocates the memory; what was not kept is zero."""
        for storage, size, copy in self._storages:
            storage.resize_(size)
            _bytes_of(storage).copy_(copy) if copy is not None else _bytes_of(storage).zero_()


def _bytes_of(storage: torch.UntypedStorage) -> Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
