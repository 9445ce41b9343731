"""Helpers of the tests of fused kernels: a function is compiled, compared with eager mode, and its kernels are
named."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def planned(graphs: ModuleType, function: Callable[..., Any], *arguments: Any) -> tuple[list[Any], list[Any]]:
    """Results of a compiled function, and the documents of its plans."""
    import torch
    from diopi_torch.planner import plan
    from torch._dynamo.backends.common import aot_autograd

    documents = []

    def compiler(module: Any, inputs: Any) -> Any:
        documents.append(plan(module, {}).document)
        return graphs.compile_graph(module, inputs)

    with torch.no_grad():
        backend = aot_autograd(fw_compiler=compiler, decompositions=graphs.decompositions())
        results = torch.compile(function, backend=backend)(*arguments)
    return list(results) if isinstance(results, tuple) else [results], documents


def kernels(documents: list[Any]) -> list[list[str]]:
    """The nodes of each fused kernel."""
    return [step["nodes"] for document in documents for step in document["steps"] if "kernel" in step]


def check(graphs: ModuleType, function: Callable[..., Any], *arguments: Any, exact: bool = False) -> list[list[str]]:
    """Compares with eager, and returns the kernels."""
    return _checked(graphs, function, *arguments, exact=exact)[1]


def _checked(
    graphs: ModuleType, function: Callable[..., Any], *arguments: Any, exact: bool = False
) -> tuple[list[Any], list[list[str]]]:
    """The results, and the kernels."""
    import torch

    results, documents = planned(graphs, function, *arguments)
    with torch.no_grad():
        expected = function(*arguments)
    for one, other in zip(results, expected if isinstance(expected, tuple) else [expected], strict=True):
        assert one.dtype == other.dtype and one.stride() == other.stride()
        tolerance = {"rtol": 0, "atol": 0} if exact else {}
        torch.testing.assert_close(one.cpu(), other.cpu(), equal_nan=True, **tolerance)
    return results, kernels(documents)


def check_precise(graphs: ModuleType, function: Callable[..., Any], *arguments: Any) -> list[list[str]]:
    """The same, and the distance from what float64 gives on the CPU is at most that of eager mode, or little more."""
    import torch

    results, found = _checked(graphs, function, *arguments)
    with torch.no_grad():
        exact = function(*(one.cpu().double() if one.is_floating_point() else one.cpu() for one in arguments))
        eager = function(*arguments)
    listed = [one if isinstance(one, tuple) else (one,) for one in (exact, eager)]
    for own, best, other in zip(results, *listed, strict=True):
        mine, theirs = (_distance(one.cpu().double(), best) for one in (own, other))
        assert mine <= 2 * theirs + 4 * torch.finfo(own.dtype).eps * max(1.0, float(best.abs().nan_to_num().max()))
    return found


def _distance(value: Any, exact: Any) -> float:
    import torch

    same = (value == exact) | (value.isnan() & exact.isnan())
    return float(torch.where(same, 0.0, (value - exact).abs()).max())
