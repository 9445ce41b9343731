"""The module of the device: what `torch.cuda` offers, or why not."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch


@pytest.fixture
def module(droplet: Any) -> ModuleType:
    found: ModuleType = torch.get_device_module("droplet")
    return found


def test_no_exported_name_is_that_of_a_module(module: ModuleType) -> None:
    """Importing a submodule would replace the function that the package exports."""
    import diopi_torch.dynamo_device  # imports the rest

    import diopi_torch

    assert diopi_torch.device() == "droplet"
    assert [name for name in diopi_torch.__all__ if isinstance(getattr(diopi_torch, name), ModuleType)] == []
    folder = Path(diopi_torch.__file__).parent
    assert [name for name in diopi_torch.__all__ if (folder / f"{name}.py").exists()] == []


def test_every_public_name_of_cuda_is_there_or_has_a_reason(module: ModuleType) -> None:
    from diopi_torch.missing import without_counterpart

    reasons = without_counterpart()
    for name in torch.cuda.__all__:
        assert hasattr(module, name) != (name in reasons), name
        if name in reasons:
            with pytest.raises(AttributeError, match=reasons[name].replace("(", r"\(").replace(")", r"\)")[:40]):
                getattr(module, name)
    assert set(reasons) <= {*torch.cuda.__all__}, "reasons for names that torch.cuda does not have"


def test_names_of_the_module(module: ModuleType) -> None:
    assert module is torch.droplet and module.__name__.rsplit(".", 1)[-1] == "droplet"
    for part in ("amp", "memory", "nvtx", "random", "streams"):
        assert getattr(module, part).__name__.endswith(f".{part}")
    with pytest.raises(AttributeError, match=r"torch\.droplet has no attribute 'nonsense'$"):
        _ = module.nonsense
    module.init()
    assert module._initialized is True


def test_properties(module: ModuleType) -> None:
    properties = module.get_device_properties("droplet:1")
    assert properties.name == module.get_device_name() == "droplet"
    assert (properties.major, properties.minor) == module.get_device_capability()
    assert properties.total_memory == module.mem_get_info(1)[1] > 0
    assert torch.bfloat16 in torch.accelerator.get_device_capability()["supported_dtypes"]
    assert module.can_device_access_peer(0, 1) and not module.can_device_access_peer(0, 0)
    with pytest.raises(ValueError, match="Expected a droplet device, but got: cpu"):
        module.synchronize("cpu")
    module.set_sync_debug_mode("default")
    with pytest.raises(RuntimeError, match="does not report"):
        module.set_sync_debug_mode("error")


def test_streams(module: ModuleType) -> None:
    default = module.default_stream()
    assert default == module.current_stream() and default.stream_id == 0
    other = module.Stream()
    with module.stream(other), module.StreamContext(None):
        assert module.current_stream() == other and not module.is_current_stream_capturing()
    assert module.current_stream() == default
    module.set_stream(None)
    assert module.current_stream() == default


def test_torch_compile_traces_streams_and_asks_about_the_device(module: ModuleType) -> None:
    def on_another(value: torch.Tensor) -> torch.Tensor:
        other = module.Stream()
        with module.stream(other):
            result = value + module.current_device() + 1
        module.current_stream().wait_stream(other)
        return result * 2

    compiled = torch.compile(on_another, backend="diopi", fullgraph=True)
    assert compiled(torch.ones(3, device="droplet")).tolist() == [4, 4, 4]
    interface = torch._dynamo.device_interface.get_interface_for_device("droplet")
    assert interface.device_count() == module.device_count() and interface.is_available()
    assert interface.current_stream() == module.current_stream() and interface.get_raw_stream(0) == 0
    assert [interface.exchange_device(index) for index in (1, -1, 0)] == [0, 1, 1] and module.current_device() == 0


def test_streams_come_from_a_pool(module: ModuleType) -> None:
    ids = {module.Stream().stream_id for _ in range(300)}
    assert len(ids) == 32 and 0 not in ids


def test_memory_statistics(module: ModuleType) -> None:
    module.empty_cache()
    held = module.memory_allocated()
    module.reset_peak_memory_stats()
    tensor = torch.empty(1 << 20, dtype=torch.uint8, device="droplet")
    assert module.memory_allocated() - held == 1 << 20 == module.max_memory_allocated() - held
    nested = module.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == module.memory_stats()["allocated_bytes.all.current"]
    assert "Allocated memory" in module.memory_summary() and "segments" not in module.memory_summary(abbreviated=True)
    del tensor
    assert module.memory_allocated() == held and module.max_memory_allocated() >= held + (1 << 20)
    module.reset_max_memory_allocated()
    assert module.max_memory_allocated() == held
    free, total = module.mem_get_info()
    assert module.device_memory_used() == total - free


def test_a_process_gets_its_fraction_of_the_memory(module: ModuleType) -> None:
    module.empty_cache()
    total = module.mem_get_info(1)[1]
    module.set_per_process_memory_fraction(0.25, 1)
    try:
        assert module.get_per_process_memory_fraction(1) == 0.25
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(total // 2, dtype=torch.uint8, device="droplet:1")
    finally:
        module.set_per_process_memory_fraction(1.0, 1)
    assert torch.empty(total // 2, dtype=torch.uint8, device="droplet:1").numel() == total // 2
    module.empty_cache()
    with pytest.raises(ValueError, match="Invalid fraction value: 2"):
        module.set_per_process_memory_fraction(2)


def test_memory_is_used_again_by_size_and_stream(module: ModuleType) -> None:
    module.empty_cache()
    sizes = (1, 513, 31_744, 32_768, 33_000, 1 << 21)
    first = {size: torch.empty(size, dtype=torch.uint8, device="droplet") for size in sizes}
    addresses = {size: tensor.data_ptr() for size, tensor in first.items()}
    assert len(set(addresses.values())) == len(sizes)
    first.clear()
    reserved = module.memory_reserved()
    with module.stream(module.Stream()):
        elsewhere = [torch.empty(size, dtype=torch.uint8, device="droplet") for size in sizes]
    assert not {tensor.data_ptr() for tensor in elsewhere} & set(addresses.values())
    assert module.memory_reserved() > reserved
    for size in reversed(sizes):
        assert torch.empty(size, dtype=torch.uint8, device="droplet").data_ptr() == addresses[size]
    elsewhere.clear()
    module.empty_cache()
    assert module.memory_reserved() <= reserved


def test_a_tensor_of_nearly_all_memory(module: ModuleType) -> None:
    module.empty_cache()
    free, total = module.mem_get_info(1)
    assert free == total
    tensor = torch.empty(total - total // 20, dtype=torch.uint8, device="droplet:1")  # its rounded size is beyond it
    assert tensor.device.index == 1
    del tensor
    module.empty_cache()


def test_pinned_memory_has_statistics_and_a_cache_to_empty(module: ModuleType) -> None:
    before = module.host_memory_stats()["active_bytes.current"]
    tensor = torch.ones(1000).pin_memory()
    assert tensor.is_pinned()
    assert module.host_memory_stats_as_nested_dict()["active_bytes"]["current"] == before + 4000
    torch.accelerator.empty_host_cache()
    del tensor
    assert module.host_memory_stats()["active_bytes.current"] == before


def test_random_states(module: ModuleType) -> None:
    assert len(module.default_generators) == module.device_count() == len(module.get_rng_state_all())
    module.manual_seed_all(5)
    state = module.random.get_rng_state()
    first = torch.rand(3, device="droplet").tolist()
    module.set_rng_state(state)
    assert torch.rand(3, device="droplet").tolist() == first
    assert [generator.initial_seed() for generator in module.default_generators] == [5, 5]


def test_mixed_precision_by_its_old_names(module: ModuleType) -> None:
    layer = torch.nn.Linear(4, 4).to("droplet")
    with module.amp.autocast(dtype=torch.bfloat16):
        assert layer(torch.ones(1, 4, device="droplet")).dtype == torch.bfloat16
    scaler = module.amp.GradScaler()
    assert scaler.scale(torch.ones((), device="droplet")).item() == 65536.0
    assert module.amp.custom_fwd(lambda *_: 1) is not None and module.amp.custom_bwd()(lambda *_: 1) is not None


def test_ranges(module: ModuleType) -> None:
    with torch.profiler.profile() as profile:
        assert [module.nvtx.range_push("outer"), module.nvtx.range_push("inner")] == [0, 1]
        assert [module.nvtx.range_pop(), module.nvtx.range_pop(), module.nvtx.range_pop()] == [1, 0, -2]
        with module.nvtx.range("step {}", 3):
            module.nvtx.mark("now")
        module.nvtx.range_end(module.nvtx.range_start("free"))
    assert {"outer", "inner", "step 3", "now", "free"} <= {event.key for event in profile.key_averages()}


def test_memory_of_devices_for_accelerate(module: ModuleType) -> None:
    """`accelerate.utils.modeling` knows devices by name, and warns of the numbers of others."""
    from diopi_torch.libraries import _place_in_accelerate

    asked: list[Any] = []

    def get_max_memory(max_memory: Any = None) -> Any:
        asked.append(max_memory)
        return {"cpu": 7} if max_memory is None else max_memory

    modeling = SimpleNamespace(get_max_memory=get_max_memory, convert_file_size_to_int=lambda text: 10**9)
    _place_in_accelerate(modeling)  # type: ignore[arg-type]  # as much of the module as it reads
    free = [module.mem_get_info(index)[0] for index in range(module.device_count())]
    assert list(modeling.get_max_memory().items()) == [*enumerate(free), ("cpu", 7)]
    own = modeling.get_max_memory({"cpu": 3, 1: "1GB", 0: 5})
    assert list(own.items()) == [(0, 5), (1, 10**9), ("cpu", 3)]
    assert asked == [None, {"cpu": 7}, {"cpu": 3}]


def test_context_parallel_is_refused_in_a_sentence(module: ModuleType) -> None:
    from torch.distributed.tensor.experimental._context_parallel import _attention

    enable: Any = _attention._enable_context_parallel_dispatcher_impl
    with pytest.raises(NotImplementedError, match="context_parallel has no attention for droplet: use tensor parallel"):
        enable(2, SimpleNamespace(device_type="droplet"))


def test_the_table_in_the_documentation_is_current(module: ModuleType) -> None:
    import device_module_parity

    for name in device_module_parity.PAGES:
        page = (device_module_parity.ROOT / name).read_text(encoding="utf-8")
        assert page == device_module_parity.with_table(page, device_module_parity.table()), (
            f"{name}: run tools/device_module_parity.py"
        )
