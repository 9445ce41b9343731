"""Oracles of calls without elements, and of factors below zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_oracle_values import F32, I64, ask, numbers

from diopigen.conformance.oracles import Expected
from diopigen.ir.model import Interface

LOGITS = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]
BELOW = (F32, [-1.0, 0.5, -0.25])
OUT = {"out": (F32, (2, 3))}
PAIR = {"out": (F32, (2,))}
NONE = {"reduction": "ReductionNone"}

NEGATIVE: list[tuple[str, dict[str, tuple[str, Any]], dict[str, Any]]] = [
    ("CrossEntropyLoss", PAIR, {"target": (I64, [0, 2]), "weight": BELOW, "label_smoothing": 0.25, **NONE}),
    ("CrossEntropyLoss", PAIR, {"target": (F32, LOGITS), "weight": BELOW, "label_smoothing": 0.25, **NONE}),
    ("BCEWithLogits", OUT, {"target": (F32, LOGITS), "weight": BELOW, "pos_weight": BELOW, **NONE}),
    ("BatchNormElemt", OUT, {"weight": BELOW, "bias": BELOW, "mean": BELOW, "invstd": BELOW, "eps": 1e-5}),
]


@pytest.mark.parametrize(("name", "outputs", "arguments"), NEGATIVE, ids=[name for name, *_ in NEGATIVE])
def test_a_bound_is_not_negative_where_factors_are(
    interface: Interface, name: str, outputs: dict[str, tuple[str, Any]], arguments: dict[str, Any]
) -> None:
    expected = ask(interface, name, outputs, input=(F32, LOGITS), **arguments)["out"]
    assert isinstance(expected, Expected) and expected.scale is not None
    assert (np.asarray(expected.scale) >= np.abs(expected.values) * 0.1).all()


def test_distinct_slices_of_no_elements_are_none(interface: Interface) -> None:
    empty = np.zeros((0, 3))
    answer = ask(interface, "Unique", {}, input=(F32, empty), dim=0, return_counts=True)
    assert numbers(answer["out"]).shape == (0, 3) and numbers(answer["counts"]).shape == (0,)
    answer = ask(interface, "Unique", {}, input=(F32, empty), return_counts=True)
    assert numbers(answer["out"]).shape == (0,)


@pytest.mark.parametrize("name", ["Scatter", "ScatterInp"])
def test_an_index_without_elements_may_have_any_rank(interface: Interface, name: str) -> None:
    x, source, index = np.arange(6.0).reshape(2, 3), np.ones((2, 3)), np.zeros((2, 3, 0, 1))
    outputs = {"out": (F32, (2, 3))}
    answer = ask(interface, name, outputs, input=(F32, x), src=(F32, source), index=(I64, index), dim=0, reduce="")
    target = "out" if name == "Scatter" else "input"
    np.testing.assert_array_equal(numbers(answer[target]), x)


@pytest.mark.parametrize(("name", "statistic"), [("LayerNorm", (2, 1)), ("GroupNorm", (2, 1))])
def test_statistics_of_no_elements_are_unspecified(interface: Interface, name: str, statistic: tuple[int, ...]) -> None:
    provided = {"normalized_shape": [0]} if name == "LayerNorm" else {"num_groups": 1}
    shape = (2, 0) if name == "LayerNorm" else (2, 1, 0)
    outputs = {"out": (F32, shape), "save_mean": (F32, statistic), "save_invstd": (F32, statistic)}
    answer = ask(interface, name, outputs, input=(F32, np.zeros(shape)), eps=1e-5, **provided)
    assert numbers(answer["out"]).shape == shape
    assert answer["save_mean"].free.all() and answer["save_invstd"].free.all()


def test_no_class_counts_where_there_is_none(interface: Interface) -> None:
    arguments = {"input": (F32, np.zeros((4, 0))), "target": (I64, [0, 0, 0, 0]), "ignore_index": 0}
    loss = ask(interface, "NLLLoss", {"out": (F32, ())}, reduction="ReductionSum", **arguments)
    assert numbers(loss["out"]) == 0
    mean = ask(interface, "NLLLoss", {"out": (F32, ())}, reduction="ReductionMean", **arguments)
    assert np.isnan(numbers(mean["out"]))


def test_gradient_of_a_mask_with_more_dimensions_than_an_empty_input(interface: Interface) -> None:
    answer = ask(
        interface, "MaskedSelectBackward", {"grad_input": (F32, (4, 0))},
        grad_output=(F32, []), input=(F32, np.zeros((4, 0))), mask=("bool", np.zeros((2, 4, 0))),
    )  # fmt: skip
    assert numbers(answer["grad_input"]).shape == (4, 0)


def test_padding_of_one_number(interface: Interface) -> None:
    answer = ask(interface, "Pad", {"out": (F32, ())}, input=(F32, 2.5), pad=(), mode="constant", value=None)
    assert numbers(answer["out"]) == 2.5
