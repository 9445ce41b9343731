"""Random programs: compiled, they give what they give in eager mode and on the CPU (`random_programs.py`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import random_programs
import torch
from left_bytes import leaves_tensors
from random_programs import Program, assert_alike, drawn, program, sharing, spreads, tensors
from sampling import some

pytestmark = pytest.mark.usefixtures("fresh_compiler")

ALL_PATTERNS = "rms_norm,rotary_embedding,attention,scaled_masked_softmax"


@pytest.fixture(autouse=True)
def all_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those whose function is in the library behind droplet's."""
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", ALL_PATTERNS)


@pytest.fixture(autouse=True)
def no_compiled_functions() -> Iterator[None]:
    """Dynamo leaves some in the globals of the module whose code it compiled, and they hold tensors: on the CPU too. It
    deletes the names at the end of the process."""
    yield
    torch._dynamo.reset()
    for name in [name for name in vars(random_programs) if name.startswith("__compiled_fn_")]:
        setattr(random_programs, name, None)


def test_a_value_that_only_a_constant_was_computed_from(graphs: ModuleType, droplet: Any) -> None:
    """Operators that read only the dtype do not need the value."""
    x = torch.arange(6.0).to(droplet)
    compiled = torch.compile(lambda x: (x > 2).logical_not().new_ones(()) * x, backend=graphs.backend)
    with torch.no_grad():
        assert_alike(compiled(x), x)


@contextlib.contextmanager
def traceable(run: Program, inputs: list[Any], **options: Any) -> Iterator[None]:
    """A program that cannot be compiled inside, or whose views PyTorch replays in another shape (an error of its own),
    is one that PyTorch cannot trace: on the CPU neither."""
    try:
        yield
    except (torch._dynamo.exc.BackendCompilerFailed, AssertionError, RuntimeError) as error:
        torch._dynamo.reset()
        with pytest.raises(type(error)):
            torch.compile(run.__call__, backend="aot_eager", **options)(*inputs)


@pytest.mark.parametrize("seed", some(range(1400), 40))
def test_inferences(graphs: ModuleType, droplet: Any, seed: int) -> None:
    """In their first run and in a later one, with sizes that are open or not; what becomes of the inputs as well, and
    which tensors share memory."""
    described, steps = drawn(seed)
    run = program(tensors(described, "cpu"), steps)

    def outcome(function: Callable[..., Any], device: Any) -> list[Any]:
        inputs = tensors(described, device)
        results = function(*inputs)
        return [*inputs, *results]

    def differences(actual: list[Any], expected: list[Any]) -> list[str]:
        found = ["memory is shared in another way"] if sharing(actual) != sharing(expected) else []
        for one, other, spread in zip(actual, expected, own, strict=True):
            try:
                assert_alike(one, other, spread)
            except AssertionError as error:
                found.append(str(error))
        return found

    is_dynamic = seed % 4 == 0
    with torch.no_grad():
        expected = outcome(run, "cpu")
        found = spreads(lambda seed: outcome(lambda *inputs: run.rounded(seed, *inputs), "cpu"), expected)
        own = [None if is_exact else spread for spread, is_exact in zip(found, run.exact, strict=True)]
        torch._dynamo.reset()
        assert differences(outcome(run, droplet), expected) == []
        compiled = torch.compile(run.__call__, backend=graphs.backend, dynamic=is_dynamic)
        for _ in range(2):
            actual = None
            with traceable(run, tensors(described, "cpu"), dynamic=is_dynamic):
                actual = outcome(compiled, droplet)
            if actual is not None and differences(actual, expected):
                # Views of inputs that are written may lose a write where PyTorch traces them, on the CPU as well.
                torch._dynamo.reset()
                traced = outcome(torch.compile(run.__call__, backend="aot_eager", dynamic=is_dynamic), "cpu")
                assert differences(actual, traced) == []


def leaves_of(values: list[Any]) -> list[Any]:
    """Copies with memory of their own, which have gradients where their dtype allows it."""
    return [one.detach().clone().requires_grad_(one.is_floating_point()) for one in values]


@pytest.mark.parametrize("seed", some(range(1400, 2400), 40))
def test_gradients(graphs: ModuleType, droplet: Any, seed: int) -> None:
    """Of all inputs that have some, where each element of a result counts differently. A program that autograd rejects,
    since it writes to what a gradient needs, has to be rejected on the device as well."""
    described, steps = drawn(seed)

    def gradients(function: Callable[..., Any], device: Any) -> list[Any]:
        inputs = leaves_of(tensors(described, device))
        leaves = [one for one in inputs if one.requires_grad]
        loss = sum((torch.linspace(-1, 1, one.numel()).to(one.device) * one.flatten()).sum()
                   for one in function(*[one * 1 for one in inputs]) if one.requires_grad)  # fmt: skip
        return list(torch.autograd.grad(loss, leaves, allow_unused=True)) if isinstance(loss, torch.Tensor) else []

    run = program([one * 1 for one in tensors(described, "cpu")], steps)

    def rejected(device: Any) -> None:
        with pytest.raises(RuntimeError):
            gradients(run, device)

    try:
        expected = gradients(run, "cpu")
    except RuntimeError:
        leaves_tensors(lambda: rejected("cpu"), lambda: rejected(droplet))
        return
    sizes: list[float] = []
    gradients(lambda *inputs: run.watched(sizes, *inputs), "cpu")
    found = spreads(lambda seed: gradients(lambda *inputs: run.rounded(seed, *inputs), "cpu"), expected)
    torch._dynamo.reset()
    compiled = torch.compile(run.__call__, backend=graphs.backend)
    for function in (run, compiled):
        actual = None
        with traceable(run, [one * 1 for one in leaves_of(tensors(described, "cpu"))]):
            actual = gradients(function, droplet)
        for one, other, spread in zip(actual or [], expected, found, strict=actual is not None):
            if one is None or other is None:  # what is unused may have a gradient of zeros
                assert all(each is None or not each.any() for each in (one, other))
            else:
                assert_alike(one, other, spread, run.coarsest, max(sizes, default=0.0))
