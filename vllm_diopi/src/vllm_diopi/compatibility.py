"""The one module that knows releases of vLLM: those supported, and what they need besides the plugin's interface."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
from types import ModuleType
from typing import Any

import torch

SUPPORTED = ("0.31", "0.32", "0.33")
"""Minor releases of vLLM whose interface of plugins is the one used here. 0.30 cannot replace kernels of Triton."""


def vllm_release() -> str:
    """The minor release of the installed vLLM, "0.32"."""
    match = re.match(r"\d+\.\d+", importlib.metadata.version("vllm"))
    return match.group() if match else ""


def require_vllm() -> None:
    """Raises `ImportError` for a release that is not in `SUPPORTED`."""
    if vllm_release() not in SUPPORTED:
        version = importlib.metadata.version("vllm")
        fix = f"pip install --no-deps 'vllm=={SUPPORTED[-2]}.*'"
        raise ImportError(f"vllm-diopi supports vLLM {SUPPORTED[0]} to {SUPPORTED[-1]}, and this is {version}: {fix}")


def settle_processes() -> None:
    """Selects spawned worker processes, since a forked child cannot use a device that its parent has started, and the
    first version of the model runner, since the second one is written in Triton."""
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")


def create_runner(worker: Any) -> None:
    """Creates the workspace and the model runner of a worker."""
    if vllm_release() != "0.31":
        worker._init_workspace_and_model_runner()
        return
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner
    from vllm.v1.worker.workspace import init_workspace_manager

    init_workspace_manager(worker.device, 1)
    worker.model_runner = GPUModelRunner(worker.vllm_config, worker.device)


def seed_again(worker: Any) -> None:
    """Seeds the generators after the runs that measure memory; replicas have seeds of their own from 0.32 on."""
    from vllm.utils.torch_utils import set_random_seed

    replica = () if vllm_release() == "0.31" else (worker.parallel_config.data_parallel_index,)
    set_random_seed(worker.model_config.seed, *replica)


def slot_mapping_arguments(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Names the arguments of the kernel that computes slots."""
    names = ["num_tokens", "most", "query_start_loc", "positions", "block_table", "stride", "slots", "block_size"]
    names += ["world_size", "rank", "interleave", "padding", "tokens_at_once"]
    if vllm_release() == "0.31":  # blocks of the cache may consist of several blocks of the kernel
        names[6:8] = ["block_size", "slots", "cache_block_size", "kernel_blocks"]
    return dict(zip(names, arguments, strict=True))


def provide_streams(module: ModuleType) -> None:
    """Lets the names of streams and graphs that the model runner reads from `torch.cuda` be those of the device's
    module.

    The rest of `torch.cuda` stays as it is, so that `torch.cuda.is_available()` remains false.
    """
    for name in ("CUDAGraph", "Event", "Stream", "current_stream", "graph", "stream"):
        setattr(torch.cuda, name, getattr(module, name))


def select_native_bitmasks() -> None:
    """Lets xgrammar mask logits by operators of PyTorch: for a device whose name it does not know, it compiles with
    inductor."""
    if importlib.util.find_spec("xgrammar") is None:
        return
    import xgrammar

    function = xgrammar.apply_token_bitmask_inplace
    if not isinstance(function, functools.partial):
        xgrammar.apply_token_bitmask_inplace = functools.partial(function, backend="torch_native")
