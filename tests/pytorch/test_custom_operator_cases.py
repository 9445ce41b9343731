"""Every operator of `torch.ops.diopi` with cases of the suite: values, schemas, fake kernels, gradients, autocast."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from case_calls import OperatorCall, chosen, expressible, listed, prepared
from torch._subclasses.fake_tensor import FakeTensorMode

from diopigen import api
from diopigen.conformance.model import Case
from diopigen.diagnostics import Sink
from diopigen.emit.torch.custom import Custom, operators
from diopigen.emit.torch.custom_autocast import operands_of_one_dtype
from diopigen.emit.torch.gradients import gradients
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
INTERFACE: Interface = api.load(api.workspace(), Sink(), check=False).interface
CUSTOMS: dict[str, Custom] = {one.name: one for one in operators(INTERFACE)[0]}
GRADIENTS = gradients(INTERFACE, list(CUSTOMS.values()))[0]


@cache
def selected(name: str) -> tuple[Case, ...]:
    """A few cases of an operator."""
    return tuple(chosen(list(expressible(INTERFACE, CUSTOMS[name]))))


def calls_of(name: str, device: torch.device) -> list[OperatorCall]:
    """A few calls of an operator."""
    return [prepared(INTERFACE, CUSTOMS[name], case, device) for case in selected(name)]


@pytest.mark.parametrize("name", CUSTOMS)
def test_values(droplet: torch.device, name: str) -> None:
    calls = calls_of(name, droplet)
    assert calls
    said = [f"{call.case.id}: {text}" for call in calls for text in call.complaints(call())]
    assert not said


def is_float8(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float8_e4m3fn, torch.float8_e5m2)


@pytest.mark.parametrize("name", CUSTOMS)
def test_schemas(droplet: torch.device, name: str) -> None:
    """Written and shared memory as the schema declares it."""
    calls = [one for one in calls_of(name, droplet) if not any(map(is_float8, one.arguments))]
    if not calls:
        pytest.skip("PyTorch compares tensors before and after a call, and has no comparison of float8")
    call = calls[0]
    torch.library.opcheck(call.operator, tuple(call.arguments), test_utils="test_schema")


@pytest.mark.parametrize("name", [name for name, custom in CUSTOMS.items() if custom.is_shaped])
def test_fake_kernels(droplet: torch.device, name: str) -> None:
    for call in calls_of(name, droplet):
        found = call()
        with FakeTensorMode() as mode:

            def faked(value: Any) -> Any:
                if isinstance(value, list):
                    return [faked(item) for item in value]
                return mode.from_tensor(value) if isinstance(value, torch.Tensor) else value

            call.arguments = faked(call.arguments)
            fakes = call()
        forms = [[(one.shape, one.dtype, one.stride(), one.device) for one in some] for some in (found, fakes)]
        assert forms[0] == forms[1], call.case.id


def differentiated(name: str) -> list[int]:
    """The arguments that an operator has a gradient for."""
    words = [word for call in GRADIENTS[name] for word in call.results]
    words += [word[1:] for call in GRADIENTS[name] for word in call.arguments if word.startswith("z")]
    return sorted({int(word) for word in words if word != "-"})


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_by_differences(droplet: torch.device, name: str) -> None:
    every = [case for case in expressible(INTERFACE, CUSTOMS[name]) if case.axis == "recipe"]
    case = next((case for case in every if case.dtype == "float64"), None)
    bounds = {}
    if case is None:  # the spec has no float64 for it
        case = next(case for case in every if case.dtype == "float32")
        bounds = {"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2}
    call = prepared(INTERFACE, CUSTOMS[name], case, droplet)
    there = list(call.arguments)
    for position in differentiated(name):
        if there[position] is not None:
            there[position] = there[position].detach().clone().requires_grad_()
    leaves = [one for one in there if isinstance(one, torch.Tensor) and one.requires_grad]
    corners = [n for n in differentiated(name) if CUSTOMS[name].arguments[n].name == "rois"]
    if corners:
        # The first column has the number of an image; without area there is nothing to compare.
        regions = there[corners[0]].detach()
        proper = (regions[:, 3:] - regions[:, 1:3] > 1).all(1)
        leaves[-1] = regions[proper, 1:].requires_grad_()
    assert leaves
    read = {int(word[1:]) for backward in GRADIENTS[name] for word in backward.arguments if word.startswith("g")}

    def run(*changed: torch.Tensor) -> list[torch.Tensor]:
        left = iter(changed)
        call.arguments = [next(left) if isinstance(o, torch.Tensor) and o.requires_grad else o for o in there]
        if corners:
            call.arguments[corners[0]] = regions.index_put(
                (proper.nonzero(), torch.arange(1, 5, device=droplet)), call.arguments[corners[0]]
            )
        return [one for position, one in enumerate(call()) if position in read]

    assert torch.autograd.gradcheck(run, leaves, fast_mode=True, **bounds)
    results = listed(call.operator(*there))
    assert {n for n, one in enumerate(results) if one.requires_grad} == read


@pytest.mark.parametrize("name", CUSTOMS)
def test_autocast(droplet: torch.device, name: str) -> None:
    """Operands that must have one dtype get the widest of theirs, or that of autocast where the function has 16 bits
    alone; what else there is stays as it is."""
    cases = [case for case in selected(name) if case.dtype == "float32"] or list(selected(name))
    call = prepared(INTERFACE, CUSTOMS[name], cases[0], droplet)
    expected = list(call.arguments)
    for operands in operands_of_one_dtype(CUSTOMS[name]):
        floats = [n for n in operands.positions if isinstance(expected[n], torch.Tensor)]
        floats = [n for n in floats if expected[n].is_floating_point()]
        if operands.is_half:
            for n in floats:
                call.arguments[n] = call.arguments[n].float()
                expected[n] = call.arguments[n].to(torch.get_autocast_dtype("droplet"))
        elif len(floats) > 1 and all(expected[n].dtype == torch.float32 for n in floats):
            call.arguments[floats[-1]] = call.arguments[floats[-1]].bfloat16()
            expected[floats[-1]] = call.arguments[floats[-1]].float()
    is_random = any(one.param.type == "generator" for one in CUSTOMS[name].arguments)
    if is_random or all(one is other for one, other in zip(expected, call.arguments, strict=True)):
        with torch.autocast("droplet"):
            found = call()
        assert is_random or not call.complaints(found)
        return
    with torch.autocast("droplet"):
        found = call()
    call.arguments = expected
    for one, other in zip(found, call(), strict=True):
        torch.testing.assert_close(one.cpu(), other.cpu(), rtol=0, atol=0, equal_nan=True)


def test_wrong_results_are_seen(droplet: torch.device) -> None:
    call = calls_of("group_points_mmcv", droplet)[0]
    (found,) = call()
    assert call.complaints([found + 1])
    assert call.complaints([found.to(torch.int64)])
    assert call.complaints([found[:, :1]])
    assert not call.complaints([found])


def test_every_operator_is_here(torch_droplet: Any) -> None:
    """Kernels, spec and page list the same operators."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("diopi::")]
    kernels = [name for name in names if torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1")]
    assert {name.partition("::")[2] for name in kernels} == set(CUSTOMS)
    page = (ROOT / "docs/pytorch.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"if a schema can be formed: {len(CUSTOMS)} of them" in page
    assert f"in `custom.cpp` shows what goes where); {len(GRADIENTS)} are" in page
