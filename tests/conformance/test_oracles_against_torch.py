"""The oracles against torch, as a second opinion: every case of the operators below. Needs the `torch` extra.

Elementwise operators with an ATen overload need no line here: `test_oracles_against_aten.py` compares all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls import Results, call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.conformance.dtypes import bfloat16_bits, bfloat16_values, encode
from diopigen.conformance.model import SUCCESS, Case
from diopigen.conformance.oracles import Allocated, Call, Expected, Property, answer_of
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
F = torch.nn.functional


def to_torch(values: Any, dtype: str) -> Any:
    """A tensor of the dtype."""
    if dtype == "bfloat16":
        return torch.from_numpy(np.array(values, dtype=np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(values))


def stored(tensor: Any, dtype: str) -> Any:
    """A tensor as elements in memory."""
    tensor = tensor.resolve_conj().to(getattr(torch, dtype)).contiguous()
    if dtype == "bfloat16":
        return bfloat16_bits(tensor.float().numpy()).reshape(tuple(tensor.shape))
    return encode(tensor.numpy(), dtype).reshape(tuple(tensor.shape))


class Arguments:
    """The arguments of a call as torch takes them: `a.input`, `a("dim")`."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __getattr__(self, name: str) -> Any:
        value = self.call.values.get(name)
        if isinstance(value, np.ndarray):
            return to_torch(value, self.call.dtype(name))
        if isinstance(value, list):
            pairs = zip(value, self.call.dtypes[name], strict=True)
            return [to_torch(item, dtype) for item, dtype in pairs]
        return value


_REDUCTIONS = {"ReductionNone": "none", "ReductionMean": "mean", "ReductionSum": "sum"}


def _dims(a: Arguments) -> Any:
    return list(a.dim) or list(range(a.input.ndim))


def _product(a: Arguments, dtype: Any) -> Any:
    return torch.prod(a.input, dtype=dtype) if a.dim is None else torch.prod(a.input, a.dim, dtype=dtype)


TORCH: dict[str, Callable[[Arguments], Any]] = {
    "Imag": lambda a: a.input.imag,
    "Real": lambda a: torch.real(a.input),
    "Softmax": lambda a: torch.softmax(a.input, a.dim),
    "LogSoftmax": lambda a: torch.log_softmax(a.input, a.dim),
    "SoftmaxBackward": lambda a: torch.ops.aten._softmax_backward_data(
        a.grad_output, a.output, a.dim, a.grad_output.dtype),
    "LogSoftmaxBackward": lambda a: torch.ops.aten._log_softmax_backward_data(
        a.grad_output, a.output, a.dim, a.grad_output.dtype),
    "Sum": lambda a: torch.sum(a.input, _dims(a)),
    "Mean": lambda a: torch.mean(a.input, _dims(a)),
    "Std": lambda a: torch.std(a.input, _dims(a), correction=1 if a.correction is None else a.correction),
    "Prod": lambda a: _product(a, getattr(torch, a.call.dtypes["out"])),
    "Any": lambda a: torch.any(a.input) if a.dim is None else torch.any(a.input, a.dim),
    "All": lambda a: torch.all(a.input) if a.dim is None else torch.all(a.input, a.dim),
    "Amax": lambda a: torch.amax(a.self, list(a.dim) or [], a.keepdim),
    "MaxAll": lambda a: torch.max(a.input),
    "MinAll": lambda a: torch.min(a.input),
    "Max": lambda a: torch.max(a.input, a.dim),
    "Min": lambda a: torch.min(a.input, a.dim),
    "Argmax": lambda a: torch.argmax(a.input, a.dim, a.keepdim),
    "Argmin": lambda a: torch.argmin(a.input, a.dim, a.keepdim),
    "Cumsum": lambda a: torch.cumsum(a.input, a.dim),
    "Norm": lambda a: torch.linalg.vector_norm(a.input, a.p, list(a.dim) or None),
    "LinalgVecNorm": lambda a: torch.linalg.vector_norm(a.input, a.ord, list(a.dim) or None, a.keepdim),
    "Sort": lambda a: torch.sort(a.input, dim=a.dim, descending=a.descending, stable=True),
    "Argsort": lambda a: torch.argsort(
        a.input, dim=-1 if a.dim is None else a.dim, descending=a.descending, stable=True),
    "Topk": lambda a: torch.topk(a.input, a.k, a.dim, a.largest, a.sorted),
    "Mm": lambda a: torch.mm(a.input, a.mat2),
    "Bmm": lambda a: torch.bmm(a.input, a.mat2),
    "Matmul": lambda a: torch.matmul(a.input, a.other),
    "Addmm": lambda a: torch.addmm(a.input, a.mat1, a.mat2, beta=a.beta, alpha=a.alpha),
    "Baddbmm": lambda a: torch.baddbmm(a.input, a.batch1, a.batch2, beta=a.beta, alpha=a.alpha),
    "Linear": lambda a: F.linear(a.input, a.weight, a.bias),
    "Convolution2d": lambda a: F.conv2d(a.input, a.weight, a.bias, a.stride, a.padding, a.dilation, a.groups),
    "Convolution3d": lambda a: F.conv3d(a.input, a.weight, a.bias, a.stride, a.padding, a.dilation, a.groups),
    "AvgPool2d": lambda a: F.avg_pool2d(
        a.input, a.kernel_size, a.stride or None, a.padding, a.ceil_mode, a.count_include_pad, a.divisor_override),
    "MaxPool2d": lambda a: F.max_pool2d(
        a.input, a.kernel_size, a.stride or None, a.padding, a.dilation, a.ceil_mode),
    "MaxPool2dWithIndices": lambda a: F.max_pool2d(
        a.input, a.kernel_size, a.stride or None, a.padding, a.dilation, a.ceil_mode, return_indices=True),
    "AdaptiveAvgPool2d": lambda a: F.adaptive_avg_pool2d(a.input, a.output_size),
    "LayerNorm": lambda a: torch.native_layer_norm(a.input, a.normalized_shape, a.weight, a.bias, a.eps),
    "GroupNorm": lambda a: torch.native_group_norm(
        a.input, a.weight, a.bias, a.input.shape[0], a.input.shape[1],
        int(np.prod(a.input.shape[2:])), a.num_groups, a.eps),
    "BatchNorm": lambda a: F.batch_norm(
        a.input, a.running_mean, a.running_var, a.weight, a.bias, a.training, a.momentum, a.eps),
    "InstanceNorm": lambda a: F.instance_norm(
        a.input.reshape(a.input.shape[0], a.call.shapes["scale"][0], -1), weight=a.scale, bias=a.bias,
        eps=a.eps).reshape(a.input.shape),
    "RMSNorm": lambda a: F.rms_norm(a.input, a.normalized_shape, a.weight, a.eps) + (
        0 if a.bias is None else a.bias),
    "Cat": lambda a: torch.cat(a.tensors, a.dim),
    "Stack": lambda a: torch.stack(a.tensors, a.dim),
    "SplitWithSizes": lambda a: torch.split(a.input, a.splitSizes, a.dim),
    "Transpose": lambda a: torch.transpose(a.input, a.dim0, a.dim1),
    "Permute": lambda a: torch.permute(a.input, a.dims),
    "Repeat": lambda a: a.input.repeat(a.repeats_size),
    "Flip": lambda a: torch.flip(a.input, a.dims),
    "Roll": lambda a: torch.roll(a.input, a.shifts, a.dims),
    "Expand": lambda a: a.input.expand(a.call.shapes["out"]),
    "Pad": lambda a: F.pad(a.input, a.pad, a.mode, a.value) if a.mode == "constant" else F.pad(a.input, a.pad, a.mode),
    "Unfold": lambda a: a.input.unfold(a.dim, a.size, a.step),
    "OneHot": lambda a: F.one_hot(a.input.long(), a.num_classes),
    "MeshGrid": lambda a: torch.meshgrid(*a.inputs, indexing="ij"),
    "CastDtype": lambda a: a.input.to(getattr(torch, a.call.dtype("out"))),
    "CopyInp": lambda a: a.src.to(getattr(torch, a.call.dtype("dest"))).broadcast_to(a.call.shapes["dest"]),
    "Select": lambda a: torch.select(a.input, a.dim, a.index),
    "IndexSelect": lambda a: torch.index_select(a.input, a.dim, a.index),
    "Gather": lambda a: torch.gather(a.input, a.dim, a.index.long()),
    "Embedding": lambda a: F.embedding(a.indices, a.weight),
    "Nonzero": lambda a: torch.nonzero(a.input),
    "MaskedSelect": lambda a: torch.masked_select(a.input, a.mask),
    "MSELoss": lambda a: F.mse_loss(a.input, a.target, reduction=_REDUCTIONS[a.reduction]),
    "NLLLoss": lambda a: F.nll_loss(
        a.input, a.target, a.weight, ignore_index=a.ignore_index, reduction=_REDUCTIONS[a.reduction]),
    "CrossEntropyLoss": lambda a: F.cross_entropy(
        a.input, a.target, a.weight, ignore_index=a.ignore_index, reduction=_REDUCTIONS[a.reduction],
        label_smoothing=a.label_smoothing),
}  # fmt: skip


ROUNDED_ON_THE_WAY = frozenset({
    "BatchNorm", "Convolution2d", "CrossEntropyLoss", "GroupNorm", "InstanceNorm", "LayerNorm", "LogSoftmax", "NLLLoss",
    "Prod", "RMSNorm", "Softmax",
})  # fmt: skip
"""Functions for which torch rounds intermediate steps to half precision, which the interface does in float32: no
halves. `test_oracles_against_aten.py` compares those with torch's results in float32."""


PROBABILITY_OF_ZERO = {
    "CrossEntropyLoss": (
        "/recipe-14", "/recipe-15", "/recipe-16", "/target-transposed", "/target-channels-last", "/target-distant",
        "/weight-distant",
    ),
}  # fmt: skip
"""Ends of cases in which torch multiplies a probability of 0 with the logarithm of its class, which is NaN for a logit
of -inf; the spec leaves such a class out."""


def _cases(interface: Interface, operator: str) -> list[Case]:
    functions = [f for f in functions_of(interface) if f.operator == operator]
    cases = [case for f in functions for case in cases_of(interface, f) if case.expect == SUCCESS]
    cases = [case for case in cases if not case.id.endswith(PROBABILITY_OF_ZERO.get(operator, ("/",)))]
    if operator in ROUNDED_ON_THE_WAY:
        cases = [case for case in cases if case.dtype not in ("float16", "bfloat16")]
    return cases


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    wrong: list[str] = []
    compared = 0
    for case in _cases(interface, operator):
        call = call_of(interface, case)
        try:
            found = TORCH[operator](Arguments(call))
        except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):
            continue  # torch does not take this dtype or layout on the CPU
        with np.errstate(all="ignore"):
            answer = answer_of(call)
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        all_results = Results(case, call, answer, dict(zip(answer, results, strict=False)), stored)
        requested: list[Any] = []
        for name, value in answer.items():
            dtypes = call.dtypes.get(name)
            if isinstance(value, (list, tuple)):
                assert dtypes is not None
                requested += zip(value, dtypes, [name] * len(value), strict=True)
            else:
                requested.append((value, dtypes, name))
        for (promise, dtype, name), actual in zip(requested, results, strict=False):
            expected: Any = promise
            if isinstance(promise, Allocated):
                expected, dtype = promise.expected, promise.dtype
            if isinstance(expected, Property):
                complaint = all_results.complaint(expected, stored(actual, dtype), dtype)
                wrong += [f"{case.id}: {name} {complaint}"] if complaint else []
                compared += 1
                continue
            assert isinstance(expected, Expected)
            if case.axis == "cast" and actual.dtype != getattr(torch, dtype):
                actual = actual.to(getattr(torch, dtype))
            compared += 1
            elements = stored(actual.reshape(expected.values.shape), dtype)
            fault = all_results.fault(name, elements, dtype, expected)
            if fault is not None:
                wrong.append(
                    f"{case.id}: {fault.parameter} {fault.message}: oracle {fault.expected}, torch {fault.actual}"
                )
    assert compared > 0
    assert not wrong, "\n".join(wrong[:8])


def test_bfloat16_is_rounded_as_torch_rounds_it() -> None:
    numbers = np.random.default_rng(0).standard_normal(20000).astype(np.float32)
    numbers = np.concatenate(
        [numbers * 1e-38, numbers, numbers * 1e38, np.array([np.inf, -np.inf, 0, -0.0], np.float32)]
    )
    expected = torch.from_numpy(numbers).to(torch.bfloat16).float().numpy()
    assert np.array_equal(bfloat16_values(bfloat16_bits(numbers)), expected)
