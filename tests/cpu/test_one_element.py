"""Tensors of one element: contracts take 0-d for [1] and the other way round, and so do the kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from diopigen.conformance.model import Case, Operand, Value
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,))


def tensor(*shape: int, value: float = 0.0) -> Operand:
    return Operand(shape, "float32", value)


def calls() -> dict[str, tuple[str, dict[str, Value]]]:
    found: dict[str, tuple[str, dict[str, Value]]] = {}
    for out in SHAPES:
        for own in SHAPES:
            values: dict[str, Value] = {"out": tensor(*out), "input": tensor(*own, value=2.5)}
            found[f"repeat-{len(out)}-{len(own)}"] = ("diopiRepeat", {**values, "repeats_size": (1,)})
    # A shape with a group of dimensions, such as those of input and out, needs the dimension next to it.
    for weight in ((1, 1), (1,), ()):
        found[f"linear-{len(weight)}"] = (
            "diopiLinear",
            {
                "out": tensor(1),
                "input": tensor(1, value=2.5),
                "weight": tensor(*weight, value=3.0),
                "bias": tensor(1, value=0.5),
            },
        )
    found["repeat-of-0-d"] = ("diopiRepeat", {"out": tensor(1), "input": tensor(value=2.5), "repeats_size": ()})
    return found


@pytest.mark.parametrize("name", calls())
def test_a_kernel_takes_what_its_contract_takes(libraries: tuple[Path, Path], interface: Interface, name: str) -> None:
    """The value is checked by the oracle, 0-d or not: 2.5 repeated once, 2.5 * 3 + 0.5."""
    function, arguments = calls()[name]
    case = Case(f"{function}/float32/{name}", function, "one element", "float32", "recipe", arguments)
    result = run([case], interface, libraries[1], libraries[0], jobs=1).results[0]
    assert (result.outcome, result.faults) == ("passed", ())
