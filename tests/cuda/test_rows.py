"""Softmax and the normalisations against float64, at sizes that are cut into parts, shared, or held in registers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cpu_library import BFLOAT16
from cuda_build import results_of
from rows_program import EPS, MOMENTUM, Case, cases
from sampling import first

PROGRAM = Path(__file__).with_name("rows_program.py")
Array = np.ndarray[Any, Any]
BOUNDS = {"float32": 2e-6, "float64": 1e-12, "float16": 2e-3, BFLOAT16.name: 1.6e-2}


@pytest.fixture(scope="module", params=first(["forward", "reversed"]))
def results(
    request: pytest.FixtureRequest, emulated: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Array]:
    """Results of the emulated library for all cases, with threads in one order and in the other."""
    return results_of(PROGRAM, emulated, tmp_path_factory.mktemp("rows") / "results.npz", request.param)


def softmax(case: Case, x: Array, grad: Array) -> dict[str, Array]:
    """Either of the two, and its gradient from the result as it is stored."""
    powers = np.exp(x - x.max(axis=case.size, keepdims=True))
    total = powers.sum(axis=case.size, keepdims=True)
    if case.operator == "softmax":
        out = powers / total
        used = out.astype(case.dtype).astype(np.float64)
        return {"out": out, "grad_x": (grad - (grad * used).sum(axis=case.size, keepdims=True)) * used}
    out = x - x.max(axis=case.size, keepdims=True) - np.log(total)
    used = np.exp(out.astype(case.dtype).astype(np.float64))
    return {"out": out, "grad_x": grad - used * grad.sum(axis=case.size, keepdims=True)}


def normalised(case: Case, provided: dict[str, Array]) -> dict[str, Array]:
    """All of a normalisation over the axes that the operator stands for."""
    x, grad, weight, bias = (provided[name] for name in ("x", "grad", "weight", "bias"))
    shape = case.shape
    if case.operator == "group_norm":
        split = (shape[0], case.size, shape[1] // case.size, *shape[2:])
        x, grad = x.reshape(split), grad.reshape(split)
        weight, bias = (array.reshape(1, *split[1:3], *[1] * (len(shape) - 2)) for array in (weight, bias))
        axes = tuple(range(2, len(split)))
        others = (0, *range(3, len(split)))
    elif case.operator.startswith("batch"):
        weight, bias = (array.reshape(-1, *[1] * (len(shape) - 2)) for array in (weight, bias))
        axes = others = (0, *range(2, len(shape)))
    else:
        axes, others = (1,), (0,)
    count = np.prod([x.shape[axis] for axis in axes])
    mean = x.mean(axis=axes, keepdims=True)
    if case.operator == "rms_norm":
        mean = np.zeros_like(mean)
    variance = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    found = {}
    if case.operator.startswith("batch"):
        old_mean, old_variance = provided["mean"], provided["variance"]
        found = {"running_mean": old_mean, "running_var": old_variance}
        if case.operator != "batch_norm_fixed":
            retained = variance.ravel() * count / (count - 1)
            found = {
                "running_mean": (1 - MOMENTUM) * old_mean + MOMENTUM * mean.ravel(),
                "running_var": (1 - MOMENTUM) * old_variance + MOMENTUM * retained,
            }
        else:
            mean, variance = old_mean.reshape(weight.shape), old_variance.reshape(weight.shape)
    invstd = 1 / np.sqrt(variance + EPS)
    distance = (x - mean) * invstd
    own = grad * weight
    through = own.mean(axis=axes, keepdims=True) * (case.operator != "rms_norm")
    grad_x = invstd * (own - through - distance * (own * distance).mean(axis=axes, keepdims=True))
    if case.operator == "batch_norm_fixed":
        grad_x = invstd * own
    return found | {
        "out": (distance * weight + bias).reshape(shape),
        "grad_x": grad_x.reshape(shape),
        "grad_weight": (grad * distance).sum(axis=others).ravel(),
        "grad_bias": grad.sum(axis=others).ravel(),
        "mean": mean.ravel(),
        "invstd": invstd.ravel(),
    }


@pytest.mark.parametrize("operator", sorted({case.operator for case in cases()}))
def test_results_are_those_of_float64(results: dict[str, Array], operator: str) -> None:
    """Outputs, statistics and gradients, as near as the dtype allows."""
    wrong = []
    for case in (case for case in cases() if case.operator == operator):
        provided = {name: array.astype(np.float64) for name, array in case.operands().items()}
        with np.errstate(invalid="ignore"):
            is_softmax = operator.endswith("softmax")
            expected = softmax(case, provided["x"], provided["grad"]) if is_softmax else normalised(case, provided)
        for name, values in expected.items():
            found = results[f"{case.name}/{name}"].astype(np.float64).reshape(values.shape)
            bound = BOUNDS[case.dtype.name]
            if name in ("mean", "invstd") and case.dtype != np.float64:
                bound = BOUNDS["float32"]
            with np.errstate(invalid="ignore"):
                away = np.abs(found - values)  # NaN of infinities, which are equal
            away[(found == values) | (np.isnan(found) & np.isnan(values))] = 0
            finite = values[np.isfinite(values)]
            scale = max(np.abs(finite).max(), 1e-3)
            worst = float(np.max(away / (np.abs(np.where(np.isfinite(values), values, 0)) + scale)))
            if not worst <= bound:
                wrong.append(f"{case.name}/{name}: {worst:.2e} above {bound:.0e}")
    assert wrong == []
