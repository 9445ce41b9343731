"""The oracles of indexing with lists, scattering and distinct elements against torch. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from calls import Results, call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Allocated, Expected, Property, answer_of
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
from test_oracles_against_torch import Arguments, stored, to_torch

Found = Mapping[str, Any]
aten = torch.ops.aten


def _indices(a: Arguments) -> list[Any]:
    """Masks and positions; null stands for a full slice."""
    entries = a.call.values["indices"]
    pairs = zip(entries, a.call.dtypes.get("indices", entries), strict=True)
    found = [None if one is None else to_torch(one, dtype) for one, dtype in pairs]
    return [one if one is None or one.dtype in (torch.bool, torch.uint8) else one.long() for one in found]


def _scatter(a: Arguments) -> Any:
    if not a.reduce:
        return torch.scatter(a.input, a.dim, a.index.long(), a.src)
    return torch.scatter(a.input, a.dim, a.index.long(), a.src, reduce=a.reduce)


def _scatter_number(a: Arguments) -> Any:
    if not a.reduce:
        return torch.scatter(a.input, a.dim, a.index.long(), a.value)
    return torch.scatter(a.input, a.dim, a.index.long(), a.value, reduce=a.reduce)


def _slice_backward(a: Arguments) -> Any:
    return aten.slice_backward(a.grad_output, list(a.input_sizes), a.dim, a.start, a.end, a.step)


def _embedding_backward(a: Arguments) -> Any:
    return aten.embedding_dense_backward(a.grad, a.indices.long(), a.num_weights, a.padding_idx, a.scale_grad_byfreq)


def _masked_select_backward(a: Arguments) -> Any:
    return torch.zeros_like(a.grad_output).new_zeros(a.call.shapes["grad_input"]).masked_scatter(a.mask, a.grad_output)


def _index_select_backward(a: Arguments) -> Any:
    zeros = torch.zeros(a.input_sizes, dtype=a.grad.dtype)
    return zeros.index_add(a.dim, a.index.long(), a.grad)


def _unique(a: Arguments) -> Found:
    found = torch.unique(a.input, a.sorted, True, a.return_counts, a.dim)
    result = {"out": found[0]}
    if a.indices is not None:
        result["indices"] = found[1]
    return {**result, "counts": found[2]} if a.return_counts else result


TORCH: dict[str, Callable[[Arguments], Any]] = {
    "Index": lambda a: {"out": aten.index(a.input, _indices(a))},
    "IndexPut": lambda a: aten.index_put(a.input, _indices(a), a.values, a.accumulate),
    "IndexBackward": lambda a: aten.index_put(a.zeros_like_input, _indices(a), a.grad_output, True),
    "IndexSelectBackward": _index_select_backward,
    "IndexFill": lambda a: torch.index_fill(a.input, a.dim, a.index.long(), a.value),
    "IndexFillScalar": lambda a: torch.index_fill(a.input, a.dim, a.index.long(), a.value),
    "Scatter": _scatter,
    "ScatterScalar": _scatter_number,
    "GatherBackward": lambda a: torch.zeros_like(a.input).scatter_add(a.dim, a.index.long(), a.grad_output),
    "SelectScatter": lambda a: torch.select_scatter(a.input, a.src, a.dim, a.index),
    "SelectBackward": lambda a: aten.select_backward(a.grad_output, list(a.input_sizes), a.dim, a.index),
    "SliceScatter": lambda a: torch.slice_scatter(a.input, a.src, a.dim, a.start, a.end, a.step),
    "SliceBackward": _slice_backward,
    "MaskedScatter": lambda a: torch.masked_scatter(a.input, a.mask, a.source),
    "MaskedSelectBackward": _masked_select_backward,
    "EmbeddingBackward": _embedding_backward,
    "EmbeddingRenorm_": lambda a: aten.embedding_renorm(a.inout, a.indices.long(), a.max_norm, a.norm_type),
    "UnfoldBackward": lambda a: aten.unfold_backward(a.grad_output, list(a.input_sizes), a.dim, a.size, a.step),
    "SortBackward": lambda a: aten.value_selecting_reduction_backward(
        a.grad_output, a.dim, a.indices.long(), list(a.sizes), a.keepdim),
    "Unique": _unique,
    "SpMM": lambda a: torch.sparse.mm(a.input.to_sparse_csr(), a.mat2),
}  # fmt: skip


ADDED_IN_HALF = frozenset(
    {"EmbeddingBackward", "GatherBackward", "IndexBackward", "IndexPut", "IndexSelectBackward", "UnfoldBackward"}
)
"""Functions for which torch rounds each partial sum of halves, while the bound is that of sums in float32."""


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    wrong: list[str] = []
    rejected: dict[str, str] = {}
    function = next(f for f in interface.functions if f.short_name == operator)
    cases = [case for case in cases_of(interface, function) if case.expect == SUCCESS]
    if operator in ADDED_IN_HALF:
        cases = [case for case in cases if case.dtype not in ("float16", "bfloat16")]
    for case in cases:
        call = call_of(interface, case)
        try:
            result = TORCH[operator](Arguments(call))
        except (RuntimeError, NotImplementedError) as error:
            rejected[case.id] = str(error)
            continue  # torch does not take this dtype on the CPU
        found: Found = result if isinstance(result, dict) else {call.target: result}
        answer = answer_of(call)
        results = Results(case, call, answer, found, stored)
        for name, requested in answer.items():
            dtype = requested.dtype if isinstance(requested, Allocated) else call.dtypes[name]
            expected: Any = requested.expected if isinstance(requested, Allocated) else requested
            elements = stored(found[name], dtype)
            if isinstance(expected, Property):
                complaint = results.complaint(expected, elements, dtype)
                wrong += [f"{case.id}: {name} {complaint}"] if complaint else []
                continue
            assert isinstance(expected, Expected)
            fault = results.fault(name, elements, dtype, expected)
            if fault is not None:
                wrong.append(f"{case.id}: {name} {fault.message}: oracle {fault.expected}, torch {fault.actual}")
    assert len(rejected) < len(cases) / 2, rejected
    assert not wrong, "\n".join(wrong[:8])
