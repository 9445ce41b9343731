"""Losses against float64, at sizes whose sums are made in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cpu_library import BFLOAT16
from cuda_build import results_of
from losses_program import ELEMENTWISE, IGNORED, MEAN, NONE, SMOOTHING, Case, cases

PROGRAM = Path(__file__).with_name("losses_program.py")
pytestmark = pytest.mark.slow  # the emulated suite has small losses
Array = np.ndarray[Any, Any]
BOUNDS = {"float32": 4e-6, "float64": 1e-12, "float16": 2e-3, BFLOAT16.name: 1.6e-2}


@pytest.fixture(scope="module", params=["forward", "reversed"])
def results(
    request: pytest.FixtureRequest, emulated: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Array]:
    """Results of the emulated library for all cases, with threads in one order and in the other."""
    return results_of(PROGRAM, emulated, tmp_path_factory.mktemp("losses") / "results.npz", request.param)


def elements(case: Case, x: Array, y: Array, weight: Array) -> tuple[Array, Array]:
    """The losses of all elements, and their slopes."""
    p, q = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(x))
    if case.operator == "mse":
        return (x - y) ** 2, 2 * (x - y)
    if case.operator == "smooth_l1":
        away = np.abs(x - y)
        return np.where(away < 0.25, 2 * away**2, away - 0.125), np.clip((x - y) / 0.25, -1, 1)
    if case.operator == "bce":
        return -weight * (y * np.log(x) + (1 - y) * np.log1p(-x)), weight * (x - y) / (x * (1 - x))
    if case.operator == "logits":
        loss = -weight * (weight * y * np.log(p) + (1 - y) * np.log(q))
        return loss, weight * ((1 - y) * p - weight * y * q)
    entropy, miss = -y * np.log(p) - (1 - y) * np.log(q), y * q + (1 - y) * p
    label = 0.25 * y + 0.75 * (1 - y)
    slope = ((1 - y) * p - y * q) * miss**2 + entropy * 2 * miss * p * q * (1 - 2 * y)
    return label * entropy * miss**2, label * slope


def classes(case: Case, provided: dict[str, Array]) -> tuple[Array, Array, Array]:
    """The losses of all samples, their slopes by class, and their shares in the mean."""
    x, target, weight = provided["x"], provided["target"].astype(np.int64), provided["weight"]
    count = x.shape[1]
    counts = np.ones(target.shape) if case.operator == "probable" else (target != IGNORED).astype(np.float64)
    requested = np.where(target == IGNORED, 0, target)
    one_hot = np.moveaxis(np.eye(count)[requested], -1, 1)
    fraction = counts if case.operator == "probable" else counts * weight[requested]
    weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    if case.operator == "nll":
        factor = one_hot * weight
        return -(factor * x).sum(axis=1) * counts, -factor * counts[:, None], fraction
    own = provided["probabilities"] if case.operator == "probable" else one_hot
    smoothing = SMOOTHING[case.operator]
    factor = ((1 - smoothing) * own + smoothing / count) * weight
    top = x.max(axis=1, keepdims=True)
    logarithm = x - top - np.log(np.exp(x - top).sum(axis=1, keepdims=True))
    slope = factor.sum(axis=1, keepdims=True) * np.exp(logarithm) - factor
    return -(factor * logarithm).sum(axis=1) * counts, slope * counts[:, None], fraction


def expected(case: Case) -> dict[str, Array]:
    """The loss and the gradient of its input."""
    provided = {name: array.astype(np.float64) for name, array in case.operands().items()}
    grad = provided["grad"]
    if case.operator in ELEMENTWISE:
        losses, slopes = elements(case, provided["x"], provided["target"], provided["weight"])
        divisor = losses.size
        grad_output = grad
    else:
        losses, slopes, fractions = classes(case, provided)
        divisor = fractions.sum()
        grad_output = grad[:, None] if case.reduction == NONE else grad
    by = divisor if case.reduction == MEAN else 1
    loss = losses if case.reduction == NONE else losses.sum() / by
    return {"loss": np.asarray(loss), "grad_x": slopes * grad_output / by}


@pytest.mark.parametrize("operator", sorted({case.operator for case in cases()}))
def test_results_are_those_of_float64(results: dict[str, Array], operator: str) -> None:
    """Losses and gradients, as near as the dtype allows."""
    wrong = []
    for case in (case for case in cases() if case.operator == operator):
        for name, values in expected(case).items():
            found = results[f"{case.name}/{name}"].astype(np.float64)
            if np.abs(values).max() > np.finfo(np.float16).max and case.dtype == np.float16:
                continue  # no half holds it
            # What is smaller than the smallest normal half is kept in steps of 6e-8.
            least = 1e-7 if case.dtype == np.float16 else 0
            away = np.maximum(np.abs(found - values) - least, 0)
            worst = float(np.max(away / (np.abs(values) + np.abs(values).max())))
            if not worst <= BOUNDS[case.dtype.name]:
                wrong.append(f"{case.name}/{name}: {worst:.2e}")
    assert wrong == []
