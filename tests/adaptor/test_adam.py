"""A training step in float64 on a chip that has float32 only: weights and running means must come back right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adaptor_helpers import SUCCESS, Library, Tensor, built_shims

from diopigen.ir.model import Interface

STEPS = 5
LR, BETA1, BETA2, EPS, DECAY = 0.05, 0.9, 0.999, 1e-8, 0.01


def reference(param: Any, gradients: list[Any], amsgrad: bool) -> list[Any]:
    """Adam as it is defined, in float64: weights and the three running values."""
    first, second, largest = np.zeros_like(param), np.zeros_like(param), np.zeros_like(param)
    for step, gradient in enumerate(gradients, start=1):
        gradient = gradient + DECAY * param
        first = BETA1 * first + (1 - BETA1) * gradient
        second = BETA2 * second + (1 - BETA2) * gradient**2
        largest = np.maximum(largest, second)
        variance = (largest if amsgrad else second) / (1 - BETA2**step)
        param = param - LR * first / (1 - BETA1**step) / (np.sqrt(variance) + EPS)
    return [param, first, second, largest]


@pytest.fixture(scope="module")
def library() -> Library:
    """Shims over a vendor whose kernel refuses everything but dense float32."""
    return built_shims("adam")


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("strides", [(4, 1), (1, 3), (20, 5)])
def test_float64_adam_through_a_float32_vendor(
    library: Library, interface: Interface, amsgrad: bool, strides: tuple[int, int]
) -> None:
    adam = interface.function("diopiAdam")
    assert adam is not None
    random = np.random.default_rng(7)
    start = random.normal(size=(3, 4))
    gradients = [random.normal(size=(3, 4)) for _ in range(STEPS)]

    def tensor(values: Any) -> Tensor:
        created = library.tensor("float64", [3, 4], strides)
        library.write(created, [float(value) for value in values.ravel()])
        return created

    state = [tensor(start), *(tensor(np.zeros((3, 4))) for _ in range(3))]
    for step, gradient in enumerate(gradients, start=1):
        arguments = {
            "param": state[0].handle,
            "grad": tensor(gradient).handle,
            "exp_avg": state[1].handle,
            "exp_avg_sq": state[2].handle,
            "max_exp_avg_sq": state[3].handle if amsgrad else None,
            "lr": LR,
            "beta1": BETA1,
            "beta2": BETA2,
            "eps": EPS,
            "weight_decay": DECAY,
            "step": step,
            "amsgrad": amsgrad,
        }
        assert library.call(adam, arguments) == SUCCESS, library.last_error()
        assert library.temporaries() == 0
    expected = reference(start, gradients, amsgrad)
    for found, requested in zip(state, expected[: 4 if amsgrad else 3], strict=False):
        values = np.array([value.real for value in library.values(found)]).reshape(3, 4)
        np.testing.assert_allclose(values, requested, rtol=2e-5, atol=2e-6)
