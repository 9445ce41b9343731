"""Predicates of single operators at their limits: which constraints a call violates, and where it breaks others."""

from __future__ import annotations

from pathlib import Path

import pytest

from diopigen.api import load, workspace
from diopigen.contract.arguments import Described, Scalar, Tensor
from diopigen.contract.evaluate import Arguments
from diopigen.diagnostics import Sink

SPECS = Path(__file__).resolve().parents[2] / "specs"
INTERFACE = load(workspace(str(SPECS)), Sink(), check=False).interface


def _broken(name: str, **values: Described) -> list[str]:
    function = INTERFACE.function(name)
    assert function is not None
    arguments = Arguments(function, {param.name: values.get(param.name) for param in function.params})
    return [c.id for c in function.constraints if c.require and not arguments.holds(c.require.expression)]


def _tensor(*shape: int, dtype: str = "float32", values: tuple[complex, ...] | None = None) -> Tensor:
    return Tensor(shape, dtype, None if values is None else lambda: values)


@pytest.mark.parametrize(
    ("dim", "broken"),
    [
        ((0, 2), ["dim.dim_of"]),
        ((0, -2), ["C2"]),
        ((0, -2, 2), ["dim.dim_of"]),
        ((0, 1), []),
        ((), []),
        ((-1, 1), ["C2"]),
    ],
)
def test_a_dim_out_of_range_is_no_repeated_dim(dim: tuple[int, ...], broken: list[str]) -> None:
    assert _broken("diopiMean", input=_tensor(2, 3), dim=dim) == broken


@pytest.mark.parametrize(
    ("shape", "dim", "broken"),
    [((2, 0), (1,), ["C3"]), ((0, 2), (1,), []), ((0, 0), (-1,), ["C3"]), ((0, 2), (), ["C3"]), ((), (0,), [])],
)
def test_empty_vectors(shape: tuple[int, ...], dim: tuple[int, ...], broken: list[str]) -> None:
    assert _broken("diopiNorm", input=_tensor(*shape), p=Scalar(-1, "int64"), dim=dim) == broken
    assert _broken("diopiNorm", input=_tensor(*shape), p=None, dim=dim) == []


def test_complex_elements_have_no_order() -> None:
    table, indices = _tensor(2, 3), _tensor(1, dtype="complex64", values=(5j,))
    assert _broken("diopiEmbedding", weight=table, indices=indices) == []
    assert _broken("diopiIndex", input=table, indices=(indices,)) == []
    assert _broken("diopiIndex", input=table, indices=(_tensor(1, dtype="int64", values=(2,)),)) == ["C2"]


def test_batches_that_do_not_broadcast() -> None:
    found = _broken("diopiCdist", input1=_tensor(2, 4, 3), input2=_tensor(5, 4, 3), p=-1.0)
    assert found == ["p.range"]


@pytest.mark.parametrize(
    ("shape", "pad", "replicate", "circular"),
    [
        ((2, 3), (-1, 2), [], []),
        ((2, 3), (-3, 0), [], []),
        ((2, 3), (-3, 1), [], ["C6"]),
        ((2, 2), (-3, 4), [], ["C4", "C6"]),
        ((2, 3), (-4, 1), [], []),
        ((2, 3), (-4, 0), ["C2"], ["C2", "C6"]),
        ((2, 0), (0, 0), [], []),
        ((2, 0), (0, 1), ["C6"], ["C4", "C6"]),
    ],
)
def test_what_pad_repeats(
    shape: tuple[int, ...], pad: tuple[int, ...], replicate: list[str], circular: list[str]
) -> None:
    assert _broken("diopiPad", input=_tensor(*shape), pad=pad, mode="replicate") == replicate
    assert _broken("diopiPad", input=_tensor(*shape), pad=pad, mode="circular") == circular


@pytest.mark.parametrize(
    ("index", "broken"), [((0,), []), ((5, 0, 7), []), ((3,), ["C2"]), ((3, 2), ["C3"]), ((2, 9), [])]
)
def test_an_empty_index_has_any_shape(index: tuple[int, ...], broken: list[str]) -> None:
    zeros = _tensor(*index, dtype="int64")
    assert _broken("diopiGather", input=_tensor(2, 3), dim=1, index=zeros) == broken
