"""Writes in place around what the passes of the compiler replace: inputs, buffers, views and results are those of eager
mode, and of the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from effects import FORMS, WRITES, Form, Program, inputs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sampling import examples

pytestmark = pytest.mark.usefixtures("fresh_compiler")

_writes = st.lists(st.tuples(st.integers(0, 8), st.sampled_from(list(WRITES))), max_size=4)
PROGRAMS = settings(
    max_examples=examples(100, part=12),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="module")
def patterns(torch_droplet: ModuleType) -> ModuleType:
    return importlib.import_module("diopi_torch.patterns")


@pytest.fixture(autouse=True)
def all_patterns(patterns: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those whose function is in the library behind droplet's."""
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", ",".join(patterns.registered()))


def run(program: Program, call: Callable[..., Any], device: Any, has_gradients: bool) -> list[Any]:
    """The results of two calls, what became of arguments and buffers, and gradients."""
    made: list[Any] = []
    for _ in range(2):
        own = inputs(program.form.dtype, device)
        leaves = [own[name].requires_grad_(has_gradients) for name in ("x", "y", "w")]
        given = [leaf * 1 if has_gradients else leaf for leaf in leaves]
        with torch.set_grad_enabled(has_gradients):
            results = call(*given)
        made += [*results, *given]
        if has_gradients:
            loss = sum((one.float() * torch.linspace(-1, 1, one.numel(), device=device).reshape(one.shape)).sum()
                       for one in results if one.is_floating_point())  # fmt: skip
            made += torch.autograd.grad(loss, leaves, allow_unused=True)
        program.cache = program.cache.detach()
    return [*made, *program.buffers()]


def assert_alike(own: list[Any], expected: list[Any], dtype: str) -> None:
    """Within what the functions round otherwise than the plain code."""
    eps = torch.finfo(getattr(torch, dtype)).eps
    for one, other in zip(own, expected, strict=True):
        if one is None or other is None:  # what is unused may have a gradient of zeros
            assert all(each is None or not each.any() for each in (one, other))
        else:
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            size = other.detach().abs().nan_to_num(0, 0, 0).max().item() if other.numel() else 0
            torch.testing.assert_close(one.cpu(), other.cpu(), rtol=32 * eps, atol=32 * eps * max(1, size),
                                       equal_nan=True)  # fmt: skip


def compared(graphs: ModuleType, droplet: Any, form: Form, writes: Any, has_gradients: bool, **options: Any) -> None:
    program = Program(form, writes, "cpu")
    try:
        expected = run(program, program, "cpu", has_gradients)
    except RuntimeError:  # a write that autograd rejects
        assume(False)
    eager = Program(form, writes, droplet)
    assert_alike(run(eager, eager, droplet, has_gradients), expected, form.dtype)
    torch._dynamo.reset()
    compiled = Program(form, writes, droplet)
    call = torch.compile(compiled, backend=graphs.backend, **options)
    assert_alike(run(compiled, call, droplet, has_gradients), expected, form.dtype)


@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in FORMS.items() if form.pattern])
def test_a_form_alone_is_matched(
    graphs: ModuleType, patterns: ModuleType, droplet: Any, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests below would show nothing about its pattern: also with writes to other memory."""
    notes: list[Any] = []
    matched = patterns.matched

    def noted(module: Any) -> list[Any]:
        notes.extend(matched(module))
        return notes

    monkeypatch.setattr(patterns, "matched", noted)
    for writes in ([], [(0, "count"), (0, "cache at positions"), (8, "whole cache")]):
        torch._dynamo.reset()
        notes.clear()
        compared(graphs, droplet, form, writes, has_gradients=False)
        assert [(note.pattern, note.why) for note in notes if not note.why] == [(form.pattern, "")], notes


@pytest.mark.parametrize(
    "name, writes",
    [
        ("norm in bfloat16", [(6, "column of x"), (3, "count")]),
        ("attention", [(1, "cache at positions"), (6, "slice of the latest")]),
    ],
)
def test_what_is_written_later_is_not_saved(graphs: ModuleType, droplet: Any, name: str, writes: Any) -> None:
    """The functions would save for their gradients what the plain code does not."""
    program = Program(FORMS[name], writes, "cpu")
    run(program, program, "cpu", True)  # autograd accepts it
    compared(graphs, droplet, FORMS[name], writes, has_gradients=True)


@pytest.mark.parametrize("has_gradients", [False, True], ids=["inference", "gradients"])
@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in FORMS.items()])
@PROGRAMS
@given(writes=_writes)
def test_writes(graphs: ModuleType, droplet: Any, form: Form, has_gradients: bool, writes: Any) -> None:
    compared(graphs, droplet, form, writes, has_gradients)


@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in FORMS.items()])
@settings(PROGRAMS, max_examples=examples(40, part=12))
@given(writes=_writes)
def test_writes_with_open_sizes(graphs: ModuleType, droplet: Any, form: Form, writes: Any) -> None:
    compared(graphs, droplet, form, writes, has_gradients=False, dynamic=True)
