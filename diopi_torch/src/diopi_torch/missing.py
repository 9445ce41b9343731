"""Names of `torch.cuda` without a counterpart here, and why."""

from __future__ import annotations

import torch

_REASONS = {
    "graphs are captured by torch.accelerator.Graph and graph": "make_graphed_callables",
    "a device does not tell the nodes of a graph": "export_dot export_graph_data graph_annotations",
    "memory has one allocator, without pools": "MemPool use_mem_pool CUDAPluggableAllocator change_current_allocator "
    "caching_allocator_alloc caching_allocator_delete caching_allocator_enable caching_allocator_disabled "
    "memory_snapshot",
    "the interface does not tell how busy or warm a device is": "clock_rate memory_usage power_draw temperature "
    "utilization",
    "these are handles and codes of CUDA": "CudaError DeferredCudaCallError cudaStatus cudart check_error "
    "current_blas_handle current_solver_handle GreenContext ExternalStream get_stream_from_external",
    "kernels come from the vendor's library": "jiterator tunable",
    "torch.distributed has the collectives": "nccl",
    "torch.profiler profiles the device": "profiler",
    "torch.sparse has the functions of sparse tensors": "sparse",
    "use tensor.to(dtype) and torch.empty(..., device=...)": "BFloat16Storage BoolStorage ByteStorage CharStorage "
    "ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage "
    "ShortStorage BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor "
    "LongTensor ShortTensor",
}


def names_by_reason() -> dict[str, list[str]]:
    """Those of all supported releases of torch."""
    return {reason: sorted(names.split()) for reason, names in sorted(_REASONS.items())}


def without_counterpart() -> dict[str, str]:
    """The reason by name, for what this release of torch has."""
    return {name: why for why, names in names_by_reason().items() for name in names if name in torch.cuda.__all__}


def reason(name: str) -> str:
    """The reason as the end of a message; empty for other names."""
    found = without_counterpart().get(name)
    return "" if found is None else f": {found}"
