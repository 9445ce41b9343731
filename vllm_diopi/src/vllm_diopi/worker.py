"""The worker of a process of vLLM: the stock one, for a device whose name is not "cuda"."""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from vllm.platforms import current_platform
from vllm.utils.mem_utils import MemorySnapshot
from vllm.utils.torch_utils import set_random_seed
from vllm.v1.worker.gpu_worker import Worker, init_worker_distributed_environment
from vllm.v1.worker.utils import request_memory
from vllm.v1.worker.worker_base import CompilationTimes

from . import compatibility, sampling
from .platform import device_module
from .sleeping import Released


class DiopiWorker(Worker):
    """Serves with one device of the loaded `torch_<vendor>` package."""

    def init_device(self) -> None:
        """Selects the device, joins the group of workers, and creates the model runner."""
        count = torch.accelerator.device_count()
        if self.local_rank >= count:
            name = current_platform.device_name
            raise RuntimeError(f"worker {self.local_rank} has no device: there are {count} of {name}")
        compatibility.provide_streams(device_module())
        compatibility.select_native_bitmasks()
        self.device = torch.device(current_platform.device_type, self.local_rank)
        torch.accelerator.set_device_index(self.device)
        current_platform.check_if_supports_dtype(self.model_config.dtype)
        init_worker_distributed_environment(
            self.vllm_config, self.rank, self.distributed_init_method, self.local_rank, current_platform.dist_backend
        )
        set_random_seed(self.model_config.seed)
        gc.collect()
        torch.accelerator.empty_cache()
        self.init_snapshot = MemorySnapshot(device=self.device)
        self.requested_memory = request_memory(self.init_snapshot, self.cache_config)
        sampling.connect()
        compatibility.create_runner(self)
        self.released: dict[str, Released] = {}

    def sleep(self, level: int = 1) -> None:
        """Returns the memory of caches and weights to the device. At level 1 the host keeps the weights, at level 2
        they are to be loaded again (`reload_weights`)."""
        model, caches = self.model_runner.model, self.model_runner.kv_caches
        self.released = {"weights": Released(), "kv_cache": Released()}
        self.released["weights"].release(model.buffers(), is_kept=True)
        self.released["weights"].release(model.parameters(), is_kept=level == 1)
        self.released["kv_cache"].release(caches, is_kept=False)
        torch.accelerator.empty_cache()

    def wake_up(self, tags: list[str] | None = None) -> None:
        """Allocates the memory of `tags`, "weights" and "kv_cache", or of both. Caches are empty."""
        for tag in tags or list(self.released):
            if tag in self.released:
                self.released.pop(tag).restore()

    def _maybe_get_memory_pool_context(self, tag: str) -> AbstractContextManager[Any]:
        return nullcontext()

    def compile_or_warm_up_model(self) -> CompilationTimes:
        """Captures graphs; the warm-up of vLLM compiles kernels of Triton and imports torchvision."""
        config = self.compilation_config
        if config.mode and config.compile_sizes:
            for size in sorted(config.compile_sizes, reverse=True):
                self.model_runner._dummy_run(size)
        self.model_runner.maybe_remove_all_loras(self.model_runner.lora_config)
        if not self.model_config.enforce_eager:
            self.model_runner.capture_model()
        compatibility.seed_again(self)
        return CompilationTimes(language_model=config.compilation_time, encoder=config.encoder_compilation_time)
