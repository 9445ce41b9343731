"""Rules of PyTorch that are its own, not the interface's: overlapping memory, roots for powers, exceptions of indices,
and kernels of its own that fail or are wrong on devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F

INF = float("inf")


def agree(function: Callable[[Any], Any], device: Any) -> None:
    """The result of both, or both reject the call with the same exception."""
    try:
        expected = function("cpu")
    except Exception as error:
        with pytest.raises(type(error)):
            function(device)
        return
    torch.testing.assert_close(function(device).cpu(), expected, equal_nan=True)


@pytest.mark.parametrize("value", [1e14, 1e17, -1e30, torch.finfo(torch.float32).min, INF, -INF])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_log_softmax_of_equal_large_numbers(dtype: torch.dtype, value: float, droplet: Any) -> None:
    """A row of scores that is masked as a whole: all classes are as likely."""
    scores = partial(torch.full, (3, 5), value, dtype=dtype)
    agree(lambda d: torch.stack([scores(device=d).log_softmax(dim) for dim in (0, 1)]), droplet)
    agree(lambda d: torch.stack([scores(device=d).softmax(dim) for dim in (0, 1)]), droplet)
    agree(lambda d: torch.logsumexp(torch.full((3, 5), value, dtype=dtype, device=d), 1), droplet)

    def gradient(device: Any) -> torch.Tensor:
        scores = torch.full((2, 4), value, dtype=dtype, device=device, requires_grad=True)
        F.cross_entropy(scores, torch.tensor([1, 3], device=device)).backward()
        assert scores.grad is not None
        return scores.grad

    agree(gradient, droplet)


def test_compiled_log_softmax_of_equal_large_numbers(droplet: Any) -> None:
    from diopi_torch.graphs import backend as graphs

    torch._dynamo.reset()
    rows = torch.full((8, 1000), -1e30)
    own = torch.compile(lambda x: (x * 1).log_softmax(1) + 1, backend=graphs)(rows.to(droplet))
    torch.testing.assert_close(own.cpu(), rows.log_softmax(1) + 1)


OVERLAPPING: dict[str, Callable[[Any], Any]] = {
    "fill_": lambda d: lambda v: v.fill_(1),
    "zero_": lambda d: lambda v: v.zero_(),
    "copy_": lambda d: lambda v: v.copy_(torch.ones(4, 2, device=d)),
    "relu_": lambda d: torch.relu_,
    "masked_fill_": lambda d: lambda v: v.masked_fill_(torch.ones(4, 2, dtype=torch.bool, device=d), 3),
    "out": lambda d: lambda v: torch.neg(torch.ones(4, 2, device=d), out=v),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_views_whose_elements_overlap_may_be_written(name: str, droplet: Any) -> None:
    def run(device: Any) -> torch.Tensor:
        numbers = torch.arange(-2.0, 3, device=device)
        OVERLAPPING[name](device)(numbers.unfold(0, 2, 1))
        return numbers

    agree(run, droplet)


@pytest.mark.parametrize("name", ["copy_", "relu_", "out"])
def test_expanded_tensors_are_not_written(name: str, droplet: Any) -> None:

    def run(device: Any) -> torch.Tensor:
        numbers = torch.zeros(1, 2, device=device)
        OVERLAPPING[name](device)(numbers.expand(4, 2))
        return numbers

    agree(run, droplet)


EXPANDED: dict[str, Callable[[torch.Tensor], Any]] = {
    "fill_": lambda v: v.fill_(3),
    "zero_": lambda v: v.zero_(),
    "masked_fill_": lambda v: v.masked_fill_(torch.eye(4, 2, dtype=torch.bool, device=v.device), 3),
    "index_fill_": lambda v: v.index_fill_(0, torch.tensor([2], device=v.device), 3),
    "index_put_": lambda v: v.index_put_((torch.tensor([0, 3], device=v.device),), torch.tensor(2.0, device=v.device)),
    "eye": lambda v: torch.eye(4, 2, out=v),
    "add_": lambda v: v.add_(1),
    "uniform_": lambda v: v.uniform_(),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_expanded_tensors_are_written_as_on_the_cpu(name: str, droplet: Any) -> None:
    def run(device: Any) -> torch.Tensor:
        numbers = torch.ones(1, 2, device=device)
        EXPANDED[name](numbers.expand(4, 2))
        return numbers

    agree(run, droplet)


def test_a_mask_over_overlapping_elements(droplet: Any) -> None:
    """An element stays filled where only one of its indices is in the mask."""

    def run(device: Any) -> torch.Tensor:
        numbers = torch.arange(5.0, device=device)
        numbers.unfold(0, 2, 1).masked_fill_(torch.tensor([False, True], device=device).expand(4, 2), 9)
        return numbers

    agree(run, droplet)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("element", [3, 9])
def test_a_number_in_a_tensor(element: int, invert: bool, droplet: Any) -> None:
    agree(lambda d: torch.isin(element, torch.arange(6, device=d).view(2, 3), invert=invert), droplet)


COPIES: list[Callable[[torch.Tensor], Any]] = [
    lambda x: x[1:].copy_(x[:-1]),
    lambda x: x[2:].copy_(x[:4]),
    lambda x: x[:3].copy_(x[:1]),
    lambda x: x[:3].copy_(x[3:]),
    lambda x: x[::2].copy_(x[1::2]),
    lambda x: x[:3].copy_(x[:3]),
    lambda x: x.view(2, 3)[0].copy_(x.view(2, 3)[1]),
]


@pytest.mark.parametrize("number", range(len(COPIES)))
def test_copies_within_one_memory(number: int, droplet: Any) -> None:
    def run(device: Any) -> torch.Tensor:
        numbers = torch.arange(6.0, device=device)
        COPIES[number](numbers)
        return numbers

    agree(run, droplet)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.complex64], ids=str)
@pytest.mark.parametrize("exponent", [0.5, -0.5, 2, 3.0, -1, 0, 1.5])
def test_powers_of_special_values(exponent: float, dtype: torch.dtype, droplet: Any) -> None:
    base = torch.tensor([-INF, -0.0, 0.0, INF, float("nan"), 4.0, -4.0]).to(dtype)
    functions: list[Callable[[torch.Tensor], torch.Tensor]]
    functions = [lambda x: x**exponent, lambda x: x.clone().pow_(exponent), lambda x: torch.pow(x, exponent)]
    for function in functions:
        expected, own = function(base), function(base.to(droplet)).cpu()
        torch.testing.assert_close(own, expected, equal_nan=True)
        if not dtype.is_complex:
            assert torch.equal(own.signbit()[~own.isnan()], expected.signbit()[~expected.isnan()])


def test_powers_of_special_values_in_compiled_graphs(droplet: Any) -> None:
    from diopi_torch.graphs import backend as graphs

    base = torch.tensor([-INF, -0.0, 0.0, INF, 4.0])
    for exponent in (0.5, -0.5, 2):
        torch._dynamo.reset()
        own = torch.compile(lambda x, e=exponent: (x + 0.0 * x.abs().clamp(max=1)) ** e * 2, backend=graphs)
        expected = (base + 0.0 * base.abs().clamp(max=1)) ** exponent * 2
        torch.testing.assert_close(own(base.to(droplet)).cpu(), expected, equal_nan=True)


def test_histograms_of_wide_ranges(droplet: Any) -> None:
    """The CPU's products overflow: what is right is known here."""
    for dtype, large in ((torch.float32, 1e38), (torch.float64, 1e308)):
        numbers = torch.tensor([-large, large, 0.0], dtype=dtype, device=droplet)
        assert numbers.histc(4, -large, large).cpu().tolist() == [1, 0, 1, 1]
    counts = torch.tensor([0.0, 1e38], device=droplet).histc(100, -3e38, 3e38)
    assert counts.nonzero().flatten().tolist() == [50, 66]
    numbers = torch.linspace(-2, 3, 97)
    assert torch.equal(numbers.to(droplet).histc(10, -1, 2).cpu(), numbers.histc(10, -1, 2))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags_are_scaled_by_frequency(mode: str, droplet: Any) -> None:
    """As those of an embedding that is summed by bags; the CPU's kernel for bags divides by other counts."""
    indices, offsets = torch.tensor([0, 0, 1, 3, 0, 1]), torch.tensor([0, 2, 5])
    weight = torch.randn(5, 3)
    bags = weight.to(droplet).requires_grad_()
    F.embedding_bag(
        indices.to(droplet), bags, offsets.to(droplet), mode=mode, scale_grad_by_freq=True
    ).square().sum().backward()
    plain = weight.clone().requires_grad_()
    rows = F.embedding(indices, plain, scale_grad_by_freq=True)
    reduced = [getattr(part, mode)(0) for part in rows.split([2, 3, 1])]
    torch.stack(reduced).square().sum().backward()
    assert bags.grad is not None
    torch.testing.assert_close(bags.grad.cpu(), plain.grad)


def test_windows(droplet: Any) -> None:
    for arguments in ((4,), (7, False), (5, True, 9.0)):
        for dtype in (torch.float32, torch.float64):
            window = partial(torch.kaiser_window, *arguments, dtype=dtype)
            torch.testing.assert_close(window(device=droplet).cpu(), window(device="cpu"))


# Kernels that look at their indices while the host goes on (embedding, nll_loss) report them later, as CUDA does.
INDEXING: dict[str, Callable[[Any], Any]] = {
    "index": lambda d: torch.zeros(3, device=d)[torch.tensor([7], device=d)],
    "index of two": lambda d: torch.zeros(3, 2, device=d)[torch.tensor([1], device=d), torch.tensor([-3], device=d)],
    "index_put": lambda d: torch.zeros(3, device=d).index_put_((torch.tensor([5], device=d),), torch.ones(1, device=d)),
    "index_select": lambda d: torch.zeros(3, device=d).index_select(0, torch.tensor([5], device=d)),
    "gather": lambda d: torch.zeros(3, device=d).gather(0, torch.tensor([9], device=d)),
    "scatter": lambda d: torch.zeros(3, device=d).scatter(0, torch.tensor([9], device=d), 1.0),
    "index_fill": lambda d: torch.zeros(3, device=d).index_fill(0, torch.tensor([9], device=d), 1.0),
    "dimension": lambda d: torch.zeros(3, 2, device=d).sum(5),
    "select": lambda d: torch.zeros(3, 2, device=d)[4],
}


@pytest.mark.parametrize("name", INDEXING)
def test_exceptions_of_indices(name: str, droplet: Any) -> None:
    with pytest.raises((IndexError, RuntimeError)) as expected:
        INDEXING[name]("cpu")
    with pytest.raises((IndexError, RuntimeError)) as own:
        INDEXING[name](droplet)
    assert own.type is expected.type


def _batch_norm_backward(x: torch.Tensor, is_training: bool) -> Any:
    statistics = (None,) * 4
    return torch.ops.aten.native_batch_norm_backward(x, x, None, *statistics, is_training, 1e-5, [True] * 3)


def _group_norm_backward(x: torch.Tensor, groups: int, dtype: torch.dtype = torch.float32) -> Any:
    statistic = torch.ones(4, groups, device=x.device)
    return torch.ops.aten.native_group_norm_backward(
        x.to(dtype), x, statistic, statistic, None, 4, 6, 6, groups, [True] * 3
    )


def _max_pool_backward(x: torch.Tensor) -> Any:
    volume = x[None]
    indices = torch.full_like(volume[..., :1, :1], 2**40, dtype=torch.int64)
    return torch.ops.aten.adaptive_max_pool3d_backward(volume[..., :1, :1], volume, indices)


def _fused_sgd(x: torch.Tensor, gradients: int, momentum: float) -> None:
    options = {"weight_decay": 0.1, "lr": 0.1, "dampening": 0, "nesterov": False, "maximize": False}
    torch.ops.aten._fused_sgd_([x], [x] * gradients, [], momentum=momentum, is_first_step=False, **options)


UNCHECKED: dict[str, Callable[[torch.Tensor], Any]] = {
    "statistics of training": lambda x: _batch_norm_backward(x, True),
    "statistics of evaluation": lambda x: _batch_norm_backward(x, False),
    "groups": lambda x: _group_norm_backward(x, 0),
    "dtype of a gradient": lambda x: _group_norm_backward(x, 2, torch.float64),
    "dtype of a gradient of means": lambda x: torch.ops.aten._adaptive_avg_pool2d_backward(x[..., :1, :1].double(), x),
    "indices": _max_pool_backward,
    "length of a list": lambda x: _fused_sgd(x, 0, 0.0),
    "length of an optional list": lambda x: _fused_sgd(x, 1, 0.5),
}


@pytest.mark.parametrize("name", UNCHECKED)
def test_calls_at_which_the_cpu_may_end_the_process(name: str, droplet: Any) -> None:
    """Such a call is rejected in words: the CPU is not asked for the class of the exception."""
    words = "are given|at least 1|every index|gradient of|expected dtype|one length"
    with pytest.raises(RuntimeError, match=words):
        UNCHECKED[name](torch.ones(4, 6, 2, 3, device=droplet))


def test_a_power_is_computed_in_the_promoted_dtype(droplet: Any) -> None:
    exponents = torch.arange(12, dtype=torch.uint8)
    agree(lambda d: torch.pow(2, exponents.to(d), out=torch.empty(12, device=d)), droplet)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64], ids=str)
@pytest.mark.parametrize("beta", [True, 0, 1, 2, 0.5])
def test_factors_of_outer_products(beta: float, dtype: torch.dtype, droplet: Any) -> None:
    operands = [torch.ones(2, 3), torch.arange(2.0), torch.arange(3.0)]
    agree(lambda d: torch.addr(*(x.to(d, dtype) for x in operands), beta=beta, alpha=1), droplet)
    agree(lambda d: torch.addr(*(x.to(d, dtype) for x in operands), beta=1, alpha=beta), droplet)


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)])
def test_sums_of_products_without_elements(sizes: tuple[int, ...], droplet: Any) -> None:
    batch, rows, inner, columns = sizes

    def run(device: Any) -> torch.Tensor:
        left, right = torch.ones(batch, rows, inner, device=device), torch.ones(batch, inner, columns, device=device)
        return torch.ones(rows, columns, device=device).addbmm(left, right)

    agree(run, droplet)


def test_matrices_that_have_no_factors(droplet: Any) -> None:
    matrix = torch.tensor([[1.0, 2.0], [2.0, 1.0]], device=droplet)
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 2 is not positive-definite"):
        torch.linalg.cholesky_ex(matrix, check_errors=True)
    with pytest.raises(torch.linalg.LinAlgError, match="diagonal element 1 is zero"):
        torch.cholesky_inverse(torch.zeros(2, 2, device=droplet))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_signs_of_zeros_and_of_what_is_not_a_number(dtype: torch.dtype, droplet: Any) -> None:
    numbers = torch.tensor([0.0, -0.0, INF, -INF, float("nan"), 3.0, -3.0]).to(dtype)
    numbers = torch.cat([numbers, numbers.neg()])
    assert numbers.signbit().tolist()[4] != numbers.signbit().tolist()[11]
    agree(lambda d: numbers.to(d).signbit(), droplet)
    agree(lambda d: torch.ones(14, dtype=dtype, device=d).copysign(numbers.to(d)), droplet)
    if dtype.itemsize > 2:  # half precision has one NaN
        agree(lambda d: numbers.to(d)[::2].expand(2, 7).copysign(-1).signbit(), droplet)


INTEGERS: dict[str, Callable[[torch.Tensor], Any]] = {
    **{name: getattr(F, name) for name in ("celu", "elu", "glu", "hardshrink", "hardsigmoid", "logsigmoid", "mish")},
    **{name: getattr(F, name) for name in ("selu", "softplus")},
    "frac": torch.frac,
    "round": lambda x: x.round(decimals=-1),
}
COMPLEX: dict[str, Callable[[torch.Tensor], Any]] = {
    "div": lambda x: x.div(2, rounding_mode="floor"),
    "huber_loss": lambda x: F.huber_loss(torch.ones(4, device=x.device), x),
    "hypot": lambda x: torch.hypot(x, x),
    "logit": torch.logit,
    "round": torch.round,
    "xlogy": lambda x: torch.xlogy(x, x),
}
SHAPES: dict[str, Callable[[torch.Tensor], Any]] = {
    "kthvalue": lambda x: x[:0].kthvalue(1),
    "native_group_norm": lambda x: torch.native_group_norm(x.view(1, 2, 2), x[:0], None, 1, 2, 2, 1, 1e-5),
    "sampled_addmm": lambda x: torch.sparse.sampled_addmm(torch.eye(2, device=x.device).to_sparse_csr(), x, x),
}


@pytest.mark.filterwarnings("ignore:Sparse C:UserWarning")
@pytest.mark.parametrize(
    "call",
    [
        *(pytest.param(lambda d, f=f: f(torch.arange(4, device=d)), id=f"integers, {n}") for n, f in INTEGERS.items()),
        *(
            pytest.param(lambda d, f=f: f(torch.arange(4, device=d) * 1j), id=f"complex, {n}")
            for n, f in COMPLEX.items()
        ),
        *(pytest.param(lambda d, f=f: f(torch.ones(4, device=d)), id=f"shapes, {n}") for n, f in SHAPES.items()),
    ],
)
def test_calls_that_pytorch_rejects(call: Callable[[Any], Any], droplet: Any) -> None:
    """Of composed operators too, whose parts accept more."""
    with pytest.raises((IndexError, RuntimeError)) as expected:
        call("cpu")
    with pytest.raises(expected.type):
        call(droplet)
