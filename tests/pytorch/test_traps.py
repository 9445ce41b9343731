"""Known mistakes of backends for PyTorch, each as a test: the results are wrong without an error, or the process
ends."""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import yaml
from run_kind import ROOT
from torch import nn

HAS_KERNEL = torch._C._dispatch_has_kernel_for_dispatch_key
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def qualified(overload: str) -> str:
    packet, _, name = overload.partition(".")
    return f"aten::{packet}" + (f".{name}" if name else "")


def test_views_stay_views(droplet: Any) -> None:
    """A view operator without a kernel would run on the CPU and give a copy: what is written through it is lost."""
    numbers = torch.zeros(8, device=droplet)
    numbers.unfold(0, 2, 4).fill_(1)
    torch.view_as_complex(numbers.view(4, 2))[1] = 2 + 3j
    numbers.as_strided((2,), (1,), 6).fill_(5)
    assert numbers.cpu().tolist() == [1, 1, 2, 3, 1, 1, 5, 5]
    complexes = torch.zeros(2, dtype=torch.complex64, device=droplet)
    torch.view_as_real(complexes)[:, 1] = 4
    assert complexes.cpu().tolist() == [4j, 4j]


def test_no_view_operator_is_left_to_the_cpu(droplet: Any) -> None:
    facts = yaml.load((ROOT / "specs/aten/torch.yaml").read_text(), yaml.CSafeLoader)
    needed = set(facts["needed"])
    views = {text.split("(")[0] for text in facts["schemas"] if "(a)" in text.split("->")[1]}
    left = {name for name in views & needed if HAS_KERNEL(qualified(name), "CPU")}
    nested = {"_nested_view_from_buffer"}  # its result is of another kind, which no tensor of the device is
    assert {name for name in left if not HAS_KERNEL(qualified(name), "PrivateUse1")} == nested


def test_conjugate_and_negative_bits(droplet: Any) -> None:
    """Copies that make the bits real must not call themselves."""
    numbers = torch.tensor([1 + 2j, 3 - 4j])
    own = numbers.to(droplet)
    for form in (torch.conj, lambda z: z.conj().imag, lambda z: z.conj().clone(), lambda z: torch._neg_view(z).clone()):
        assert torch.equal(form(own).cpu(), form(numbers))
    target = torch.zeros(2, dtype=torch.complex64, device=droplet)
    target.conj().copy_(own)
    assert torch.equal(target.cpu(), numbers.conj())
    assert own.conj().is_conj() and not own.conj().resolve_conj().is_conj()


def test_resizing_keeps_what_was_there(droplet: Any) -> None:
    """PyTorch's own resize would copy addresses of the device on the host."""
    numbers = torch.arange(6, dtype=torch.float32, device=droplet)
    numbers.resize_(1000)
    assert numbers[:6].cpu().tolist() == [0, 1, 2, 3, 4, 5]
    storage = torch.arange(4, dtype=torch.uint8, device=droplet).untyped_storage()
    storage.resize_(4096)
    assert torch.empty(0, dtype=torch.uint8, device=droplet).set_(storage, 0, (4,)).cpu().tolist() == [0, 1, 2, 3]


CONVOLUTIONS = {
    "1d": lambda: nn.Conv1d(4, 6, 3, padding=1),
    "2d, groups": lambda: nn.Conv2d(4, 8, 3, stride=2, groups=2),
    "2d, depthwise, dilated": lambda: nn.Conv2d(4, 4, 3, groups=4, dilation=2, bias=False),
    "3d": lambda: nn.Conv3d(4, 4, 2),
    "transposed 1d": lambda: nn.ConvTranspose1d(4, 6, 3, stride=2),
    "transposed 2d": lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
    "transposed 3d": lambda: nn.ConvTranspose3d(4, 2, 2),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions_have_no_way_back_to_the_cpu(kind: str, droplet: Any) -> None:
    """Forward and backward, which PyTorch gives to kernels of the device alone."""
    torch.manual_seed(0)
    layer = CONVOLUTIONS[kind]()
    dimensions = 1 if "1d" in kind else 3 if "3d" in kind else 2
    same_on_both(layer, torch.randn(2, 4, *[7] * dimensions), droplet)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_cells_have_no_kernel_on_the_cpu(kind: Any, droplet: Any) -> None:
    """The fused cells that these layers call on a device exist for devices only."""
    torch.manual_seed(0)
    same_on_both(kind(5, 7, num_layers=2), torch.randn(3, 2, 5), droplet)


def same_on_both(layer: nn.Module, inputs: torch.Tensor, device: torch.device) -> None:
    """Values and gradients of a layer, on the device and on the CPU."""
    results = []
    for place in (torch.device("cpu"), device):
        there = copy.deepcopy(layer).to(place)  # parameters and their gradients move in place
        given = inputs.detach().to(place, copy=True).requires_grad_()
        output = there(given)
        output = output[0] if isinstance(output, tuple) else output
        (output * torch.linspace(-1, 1, output.numel()).view(output.shape).to(place)).sum().backward()
        results.append([output.detach().cpu(), given.grad.cpu(), *(p.grad.cpu() for p in there.parameters())])
    torch.testing.assert_close(results[1], results[0], **TOLERANCE)


@pytest.mark.parametrize(
    "draw", ["cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"]
)
def test_generators_of_the_device(draw: str, droplet: Any) -> None:
    """Native or not, a seed fixes the numbers, and the next ones are others."""
    arguments = (0.25,) if draw == "geometric_" else ()

    def drawn(generator: torch.Generator | None) -> list[float]:
        numbers = getattr(torch.empty(50, device=droplet), draw)(*arguments, generator=generator)
        return list(numbers.cpu().tolist())

    own = torch.Generator(droplet).manual_seed(3)
    numbers = drawn(own)
    assert drawn(own) != numbers
    assert drawn(own.manual_seed(3)) == numbers
    torch.manual_seed(7)
    numbers = drawn(None)
    assert drawn(None) != numbers
    torch.manual_seed(7)
    assert drawn(None) == numbers


def test_layer_norm_is_native(droplet: Any, fallbacks: Any) -> None:
    """By default it is composed of batch norm: the vendor's function would never be called."""
    assert HAS_KERNEL("aten::native_layer_norm", "PrivateUse1")
    assert HAS_KERNEL("aten::native_layer_norm_backward", "PrivateUse1")
    torch.manual_seed(0)
    same_on_both(nn.LayerNorm((4, 6)), torch.randn(3, 4, 6), droplet)
    assert fallbacks() == {}


@pytest.mark.parametrize("form", ["plain", "causal", "bool mask", "float mask"])
def test_attention_and_its_gradients(form: str, droplet: Any) -> None:
    """The fused attention of the CPU, decomposed, gives wrong gradients without a word."""
    torch.manual_seed(0)
    parts = [torch.randn(2, 3, 5, 8, dtype=torch.float64) for _ in range(3)]
    mask = torch.rand(5, 5) > 0.3
    mask.fill_diagonal_(True)
    options: dict[str, Any] = {"is_causal": form == "causal"}
    if "mask" in form:
        options["attn_mask"] = mask if "bool" in form else torch.zeros(5, 5).masked_fill(~mask, -2.0)

    def run(device: torch.device, dtype: torch.dtype) -> list[torch.Tensor]:
        given = [part.to(device, dtype, copy=True).requires_grad_() for part in parts]
        own = dict(options)
        if "attn_mask" in own:
            own["attn_mask"] = own["attn_mask"].to(device) if "bool" in form else own["attn_mask"].to(device, dtype)
        output = F.scaled_dot_product_attention(*given, **own)
        (output * output.detach().roll(1, -1)).sum().backward()
        return [value.detach().cpu().double() for value in (output, *(part.grad for part in given))]

    truth = run(torch.device("cpu"), torch.float64)
    torch.testing.assert_close(run(droplet, torch.float32), truth, **TOLERANCE)


def test_memory_of_the_accelerator(droplet: Any) -> None:
    """With a plain allocator these end the process."""
    before = torch.accelerator.memory_allocated(droplet)
    block = torch.empty(1 << 20, device=droplet)
    assert torch.accelerator.memory_allocated(droplet) - before == block.nbytes
    assert torch.accelerator.max_memory_allocated(droplet) >= before + block.nbytes
    assert torch.accelerator.memory_reserved(droplet) >= before + block.nbytes
    del block
    assert torch.accelerator.memory_allocated(droplet) == before
    assert torch.accelerator.memory_stats(droplet)["allocated_bytes.all.current"] == before
    torch.accelerator.empty_cache()


MODULE = (
    *("is_initialized", "is_available", "device", "device_count", "current_device", "set_device", "synchronize"),
    *("get_rng_state", "set_rng_state", "manual_seed", "manual_seed_all", "default_generators", "_is_in_bad_fork"),
    *("get_amp_supported_dtype", "stream", "current_stream", "Event", "Stream", "memory_allocated"),
)


def test_device_module_has_what_pytorch_asks_for(droplet: Any) -> None:
    module = torch.get_device_module(droplet)
    assert [name for name in MODULE if not hasattr(module, name)] == []
    state = module.get_rng_state()
    first = torch.rand(4, device=droplet).cpu()
    module.set_rng_state(state)
    assert torch.equal(torch.rand(4, device=droplet).cpu(), first)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_changes_dtypes(dtype: torch.dtype, droplet: Any) -> None:
    """Without registration everything stays in float32, silently."""
    numbers = torch.randn(4, 4, device=droplet)
    with torch.autocast("droplet", dtype):
        assert (numbers @ numbers).dtype == dtype
        assert F.linear(numbers, numbers).dtype == dtype
        assert F.conv2d(numbers.view(1, 1, 4, 4), numbers.view(1, 1, 4, 4)).dtype == dtype
        assert torch.softmax(numbers.to(dtype), 0).dtype == torch.float32
        assert (numbers + numbers).dtype == torch.float32
    assert (numbers @ numbers).dtype == torch.float32


def test_threads_compute_each_for_itself(droplet: Any) -> None:
    """Backward runs on threads of PyTorch's: state of the backend belongs to a thread, or is locked."""
    network = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1)).to(droplet)
    inputs = [torch.randn(4, 8, generator=torch.Generator().manual_seed(seed)).to(droplet) for seed in range(4)]

    def gradients(given: torch.Tensor) -> list[torch.Tensor]:
        return [g.cpu() for g in torch.autograd.grad(network(given).square().sum(), list(network.parameters()))]

    alone = [gradients(given) for given in inputs]
    found: dict[int, list[list[torch.Tensor]]] = {index: [] for index in range(4)}

    def work(index: int) -> None:
        for _ in range(10):
            found[index].append(gradients(inputs[index]))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(4):
        assert len(found[index]) == 10
        for own in found[index]:
            assert all(map(torch.equal, own, alone[index]))


def test_foreach_operators_run_on_the_device(droplet: Any, fallbacks: Any) -> None:
    """Optimizers take them by default on a device; PyTorch parts them into one call per tensor, none of them on the
    CPU."""
    numbers = [torch.randn(3), torch.randn(2, 2)]
    own = [tensor.to(droplet) for tensor in numbers]
    torch._foreach_add_(own, 2.0)
    torch._foreach_mul_(own, 0.5)
    norms = torch._foreach_norm(own)
    right = [(tensor + 2) * 0.5 for tensor in numbers]
    torch.testing.assert_close([tensor.cpu() for tensor in own], right)
    torch.testing.assert_close([tensor.cpu() for tensor in norms], [tensor.norm() for tensor in right])
    assert fallbacks() == {}


EXPANDED = {
    "gelu": F.gelu,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": F.silu,
    "leaky_relu": F.leaky_relu,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "group_norm": lambda x: F.group_norm(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "avg_pool": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x, 2),
    "conv": lambda x: F.conv2d(x, torch.ones(2, 3, 2, 2, device=x.device)),
    "conv_transpose": lambda x: F.conv_transpose2d(x, torch.ones(3, 2, 2, 2, device=x.device)),
    "upsample": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "gather": lambda x: x.gather(3, torch.zeros(2, 3, 4, 2, dtype=torch.int64, device=x.device)),
    "cat": lambda x: torch.cat((x, x), 1),
    "mm": lambda x: x @ x,
}


@pytest.mark.parametrize("name", EXPANDED)
@pytest.mark.parametrize("form", ["one number for all", "rows alike"])
def test_gradients_with_stride_zero(name: str, form: str, droplet: Any) -> None:
    """Sums pass one number on as the gradient of all elements; a kernel that reads it as dense memory is wrong."""
    numbers = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    results = []
    for device in (torch.device("cpu"), droplet):
        given = numbers.to(device, copy=True).requires_grad_()
        output = EXPANDED[name](given)
        row = torch.linspace(1, 2, output.shape[-1]).to(device)
        gradient = torch.full((), 1.5, device=device) if form == "one number for all" else row
        output.backward(gradient.expand(output.shape))
        results.append(given.grad.cpu())
    torch.testing.assert_close(results[1], results[0], **TOLERANCE)


def test_the_extra_brings_what_pytorchs_tests_import() -> None:
    """torch.testing._internal does not load without it, and the wheel of torch does not ask for it."""
    text = (Path(ROOT) / "pyproject.toml").read_text()
    assert "expecttest==" in next(line for line in text.splitlines() if line.startswith("torch = ["))
    import torch.testing._internal.common_utils  # noqa: F401  # the import is the test
