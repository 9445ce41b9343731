"""The platform of vLLM: names, memory, the classes to use, and adjustments of the configuration."""

from __future__ import annotations

from typing import Any

import torch
from diopi_torch.package import device

from . import compatibility

compatibility.require_vllm()  # before names are imported that another release may not have

from vllm.platforms.interface import Platform, PlatformEnum  # noqa: E402


def device_module() -> Any:
    """The module of the device, as `torch.cuda` is that of CUDA."""
    return torch.get_device_module(device())


class DiopiPlatform(Platform):
    """The device of the loaded `torch_<vendor>` package."""

    _enum = PlatformEnum.OOT
    device_name: str = device()
    device_type: str = device()
    dispatch_key: str = "PrivateUse1"
    dist_backend: str = f"cpu:gloo,{device()}:dicl"
    simple_compile_backend: str = "eager"

    @classmethod
    def import_kernels(cls) -> None:
        """Imports nothing: the kernels in vLLM's wheel are those of CUDA."""

    @classmethod
    def import_ir_kernels(cls) -> None:
        """Imports nothing, as `import_kernels`."""

    @classmethod
    def register_triton_kernel_overrides(cls) -> None:
        from vllm.triton_utils.dispatcher import register_kernels

        from . import triton_kernels

        register_kernels(triton_kernels.OVERRIDES)

    @classmethod
    def get_attn_backend_cls(
        cls, selected_backend: Any, attn_selector_config: Any, num_heads: int | None = None
    ) -> str:
        from .attention import DiopiAttentionBackend
        from .latent_attention import DiopiLatentBackend

        backend = DiopiLatentBackend if attn_selector_config.use_mla else DiopiAttentionBackend
        reasons = backend.validate_configuration(
            device_capability=cls.get_device_capability(), **attn_selector_config._asdict()
        )
        if reasons:
            raise ValueError(f"no attention on {cls.device_name} for {attn_selector_config}: {', '.join(reasons)}")
        return f"{backend.__module__}.{backend.__qualname__}"

    @classmethod
    def check_and_update_config(cls, vllm_config: Any) -> None:
        from vllm.config import CUDAGraphMode

        compatibility.settle_processes()
        parallel = vllm_config.parallel_config
        if parallel.worker_cls == "auto":
            parallel.worker_cls = "vllm_diopi.worker.DiopiWorker"
        parallel.disable_custom_all_reduce = True
        compilation = vllm_config.compilation_config
        # Collectives cannot be captured, and waking up changes the addresses of weights and caches.
        sleeps = vllm_config.model_config is not None and vllm_config.model_config.enable_sleep_mode
        captured = (CUDAGraphMode.FULL, CUDAGraphMode.FULL_DECODE_ONLY)
        if parallel.world_size > 1 or sleeps or compilation.cudagraph_mode not in captured:
            compilation.cudagraph_mode = CUDAGraphMode.NONE

    @classmethod
    def apply_config_platform_defaults(cls, vllm_config: Any) -> None:
        """Chooses eager execution and the functions of `layers` unless the user has chosen otherwise."""
        from vllm.config import CompilationMode, CUDAGraphMode

        compilation = vllm_config.compilation_config
        if compilation.mode is None:
            compilation.mode = CompilationMode.NONE
        if compilation.cudagraph_mode is None:
            compilation.cudagraph_mode = CUDAGraphMode.NONE
        for name, value in vars(compilation.pass_config).items():
            if name.startswith("fuse_") and value is None:  # into kernels of CUDA
                setattr(compilation.pass_config, name, False)
        if not {"all", "none"} & set(compilation.custom_ops):
            compilation.custom_ops.append("all")

    @classmethod
    def is_sleep_mode_available(cls) -> bool:
        return True

    @classmethod
    def set_device(cls, device: torch.device) -> None:
        torch.accelerator.set_device_index(device)

    @classmethod
    def manual_seed_all(cls, seed: int) -> None:
        device_module().manual_seed_all(seed)

    @classmethod
    def get_device_name(cls, device_id: int = 0) -> str:
        return str(device_module().get_device_name(device_id))

    @classmethod
    def get_device_total_memory(cls, device_id: int = 0) -> int:
        return int(device_module().mem_get_info(device_id)[1])

    @classmethod
    def get_current_memory_usage(cls, device: Any = None) -> float:
        return float(device_module().max_memory_allocated(device))

    @classmethod
    def num_compute_units(cls, device_id: int = 0) -> int:
        return int(device_module().get_device_properties(device_id).multi_processor_count)

    @classmethod
    def inference_mode(cls) -> Any:
        return torch.inference_mode()

    @classmethod
    def check_if_supports_dtype(cls, dtype: torch.dtype) -> None:
        if dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise ValueError(f"{cls.device_name} computes in float32, float16 or bfloat16, and the model is of {dtype}")

    @classmethod
    def get_punica_wrapper(cls) -> str:
        return "vllm.lora.punica_wrapper.punica_cpu.PunicaWrapperCPU"

    @classmethod
    def support_static_graph_mode(cls) -> bool:
        return True

    @classmethod
    def graph_pool_handle(cls) -> Any:
        return device_module().graph_pool_handle()

    @classmethod
    def opaque_attention_op(cls) -> bool:
        return True

    @classmethod
    def support_hybrid_kv_cache(cls) -> bool:
        return True

    @classmethod
    def check_runner_kv_caches_multi_layer(cls) -> None:
        """Accepts layers that share an index: the runner of vLLM holds a cache for each."""
