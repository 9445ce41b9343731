"""Functions compiled by the backend, for tests that look at their graphs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


class Compiled:
    """A function compiled by the backend, which records its graphs."""

    def __init__(self, graphs: ModuleType, function: Callable[..., Any], **options: Any) -> None:
        import torch
        from torch._dynamo.backends.common import aot_autograd

        self.graphs: list[Any] = []

        def record(module: Any, inputs: Any) -> Any:
            self.graphs.append(graphs.compile_graph(module, inputs))
            return self.graphs[-1]

        backend = aot_autograd(
            fw_compiler=record,
            bw_compiler=record,
            inference_compiler=record,
            decompositions=graphs.decompositions(),
            keep_inference_input_mutations=True,
        )
        self.call = torch.compile(function, backend=backend, **options)

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)

    @property
    def statistics(self) -> list[dict[str, int]]:
        """Of the latest program of each graph."""
        return [next(reversed(graph.programs.values()))[-1].statistics() for graph in self.graphs]


def assert_same(actual: Any, expected: Any) -> None:
    """Equal within the tolerance of the dtype; layouts as well."""
    import torch

    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, torch.Tensor):
        assert actual.device == expected.device and actual.stride() == expected.stride()
        torch.testing.assert_close(actual.cpu(), expected.cpu())
    else:
        assert actual == expected
