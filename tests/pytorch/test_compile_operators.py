"""PyTorch's own samples of operators, compiled by the backend `diopi` and compared with eager on the device."""

from __future__ import annotations

import importlib
import itertools
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SAMPLES = 3


def _operators() -> list[Any]:
    """Operators of the database that have samples in float32, each name once."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, Any] = {}
    for one in op_db:
        if torch.float32 in one.dtypes and not one.name.startswith(
            ("_refs", "ops.", "sparse.", "linalg.", "nn.attention")
        ):
            found.setdefault(one.name, one)
    return list(found.values())


@pytest.fixture(scope="module")
def graphs(torch_droplet: ModuleType) -> ModuleType:
    """The module with the backend."""
    return importlib.import_module("diopi_torch.graphs")


def _moved(value: Any, device: Any) -> Any:
    import torch
    from torch.utils._pytree import tree_map

    return tree_map(lambda one: one.to(device) if isinstance(one, torch.Tensor) else one, value)


def _copies(inputs: list[Any]) -> list[Any]:
    """The same values: some operators write to their operands."""
    return [one.clone() for one in inputs]


def differences(graphs: ModuleType, operator: Any, device: Any) -> list[str] | None:
    """Differences between compiled and eager samples of an operator; None where eager or the tracing rejects all of
    them."""
    import torch
    from torch._functorch.aot_autograd import aot_function
    from torch.utils._pytree import tree_flatten, tree_unflatten

    found: list[str] = []
    ran = 0
    for sample in itertools.islice(operator.sample_inputs("cpu", torch.float32), SAMPLES):
        arguments = _moved((sample.input, sample.args, sample.kwargs), device)
        leaves, spec = tree_flatten(arguments)
        tensors = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def call(*given: Any, leaves: Any = leaves, tensors: Any = tensors, spec: Any = spec) -> Any:
            own = list(leaves)
            for k, one in zip(tensors, given, strict=True):
                own[k] = one
            first, args, kwargs = tree_unflatten(own, spec)
            return operator.op(first, *args, **kwargs)

        inputs = [leaves[k] for k in tensors]
        try:
            torch.manual_seed(1)
            expected = tree_flatten(call(*_copies(inputs)))[0]
            traced = aot_function(call, fw_compiler=lambda module, _: module, decompositions=graphs.decompositions())
            traced(*_copies(inputs))
        except Exception:
            continue  # eager does not take the sample, or PyTorch does not trace it
        compiled = aot_function(call, fw_compiler=graphs.compile_graph, decompositions=graphs.decompositions())
        ran += 1
        try:
            compiled(*_copies(inputs))  # PyTorch's tracing without dynamo advances generators
            torch.manual_seed(1)
            results = tree_flatten(compiled(*_copies(inputs)))[0]
            for one, other in zip(results, expected, strict=True):
                if isinstance(other, torch.Tensor):
                    torch.testing.assert_close(one.cpu(), other.cpu(), equal_nan=True)
        except Exception as error:
            found.append(f"{operator.name}: {str(error)[:300]}")
    return found if ran else None


UNSPECIFIED = frozenset({"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"})
"""Operators with uninitialised results."""


def _call(operator: Any, *arguments: Any, **keywords: Any) -> Any:
    return operator(*arguments, **keywords)


def test_samples_of_pytorchs_operators_are_as_in_eager(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from torch.testing._internal import common_methods_invocations

    # It seeds the generators around random operators, which is no part of a graph: the test seeds them itself.
    monkeypatch.setattr(common_methods_invocations, "wrapper_set_seed", _call)
    compared, found = 0, []
    with torch.no_grad():
        for operator in _operators():
            if operator.name in UNSPECIFIED:
                continue
            own = differences(graphs, operator, droplet)
            compared += own is not None
            found += own or []
    print(f"{compared} operators compared")
    assert found == []
    assert compared >= 300
