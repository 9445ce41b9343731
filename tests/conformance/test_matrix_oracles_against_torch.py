"""The oracles of decompositions, optimizers, lists and gradients against torch. Needs the `torch` extra."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from calls import call_of

from diopigen.conformance.cases import suite
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.compare.results import compare
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Call, Expected, answer_of
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
from test_oracles_against_torch import Arguments, stored

Found = Mapping[str, Any]


def _gradients(function: Callable[..., Any], gradient: Any, *inputs: Any) -> tuple[Any, ...]:
    """The gradients of the inputs for a gradient that arrives at the result."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    result = function(*leaves)
    found = torch.autograd.grad(result, leaves, gradient.reshape(result.shape), allow_unused=True)
    return tuple(torch.zeros_like(x) if one is None else one for one, x in zip(found, inputs, strict=True))


def _matmul_backward(a: Arguments) -> Found:
    return dict(zip(("grad_input", "grad_other"), _gradients(torch.matmul, a.grad_out, a.input, a.other), strict=True))


def _linear_backward(a: Arguments) -> Found:
    expected = a.call.values.get("grad_bias")
    bias = torch.zeros(a.weight.shape[:1] if expected is None else expected.shape, dtype=a.weight.dtype)
    found = _gradients(torch.nn.functional.linear, a.grad_output, a.input, a.weight, bias)
    return dict(zip(("grad_input", "grad_weight", "grad_bias"), found, strict=True))


def _cholesky(a: Arguments) -> Found:
    factor, info = torch.linalg.cholesky_ex(a.mat, upper=a.upper)
    return {"out": factor, "info": info}


def _cholesky_backward(a: Arguments) -> Found:
    factor = torch.triu(a.L).mH if a.upper else torch.tril(a.L)
    (found,) = _gradients(lambda m: torch.linalg.cholesky(m, upper=a.upper), a.grad_output, factor @ factor.mH)
    return {"grad_mat": found}


def _solve(b: Any, mat: Any, a: Arguments) -> Any:
    return torch.triangular_solve(b, mat, a.upper, a.transpose, a.unitriangular)[0]


def _triangular_solve(a: Arguments) -> Found:
    out, cloned = torch.triangular_solve(a.b, a.mat, a.upper, a.transpose, a.unitriangular)
    return {"out": out, "cloned_mat": cloned}


def _triangular_solve_backward(a: Arguments) -> Found:
    gradient = torch.zeros_like(a.b) if a.grad_x is None else a.grad_x
    of_b, of_mat = _gradients(lambda b, mat: _solve(b, mat, a), gradient, a.b, a.mat)
    cloned = None if a.grad_cloned_mat is None else a.grad_cloned_mat.sum_to_size(a.mat.shape)
    return {"grad_b": of_b, "grad_mat": of_mat if cloned is None else of_mat + cloned}


def _qr(a: Arguments) -> Found:
    q, r = torch.linalg.qr(a.A, a.mode)
    return {"R": r} if a.mode == "r" else {"Q": q, "R": r}


def _norm_backward(a: Arguments) -> Found:
    dims = list(a.dim) or None
    (found,) = _gradients(lambda x: torch.linalg.vector_norm(x, a.p, dims), a.grad_output, a.self)
    return {"grad_input": found}


def _optimizer(name: str) -> Any:
    """One step as a function; torch.optim hides the modules that hold it."""
    return getattr(importlib.import_module(f"torch.optim.{name}"), name)


def _sgd(a: Arguments) -> Found:
    param, buffers = a.param, [a.buf]
    _optimizer("sgd")(
        [param], [a.grad], buffers, foreach=False, weight_decay=a.weight_decay, momentum=a.momentum, lr=a.lr,
        dampening=a.dampening, nesterov=a.nesterov, maximize=False,
    )  # fmt: skip
    return {"param": param} if a.buf is None else {"param": param, "buf": buffers[0]}


def _adam(module: Any, a: Arguments) -> Found:
    found = {name: getattr(a, name) for name in ("param", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")}
    lists = {name: [value] for name, value in found.items()}
    if found["max_exp_avg_sq"] is None:
        del found["max_exp_avg_sq"]
    module(
        lists["param"], [a.grad], lists["exp_avg"], lists["exp_avg_sq"], lists["max_exp_avg_sq"],
        [torch.tensor(float(a.step - 1))], foreach=False, amsgrad=a.amsgrad, beta1=a.beta1, beta2=a.beta2, lr=a.lr,
        weight_decay=a.weight_decay, eps=a.eps, maximize=False,
    )  # fmt: skip
    return found


def _fused_adamw(a: Arguments) -> Found:
    names = ("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs")
    found = {name: getattr(a, name) or [] for name in names}
    torch._fused_adamw_(
        found["params"], a.grads, found["exp_avgs"], found["exp_avg_sqs"], found["max_exp_avg_sqs"],
        [step.float() for step in a.state_steps], lr=a.lr, beta1=a.beta1, beta2=a.beta2,
        weight_decay=a.weight_decay, eps=a.eps, amsgrad=a.amsgrad, maximize=a.maximize,
    )  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _adadelta(a: Arguments) -> Found:
    found = {name: getattr(a, name) for name in ("param", "square_avg", "acc_delta")}
    _optimizer("adadelta")(
        [found["param"]], [a.grad], [found["square_avg"]], [found["acc_delta"]], [torch.tensor(1.0)],
        foreach=False, lr=a.lr, rho=a.rho, eps=a.eps, weight_decay=a.weight_decay, maximize=False,
    )  # fmt: skip
    return found


def _rmsprop(a: Arguments) -> Found:
    found = {name: getattr(a, name) for name in ("param", "square_avg", "grad_avg", "momentum_buf")}
    lists = {name: [] if value is None else [value] for name, value in found.items()}
    _optimizer("rmsprop")(
        lists["param"], [a.grad], lists["square_avg"], lists["grad_avg"], lists["momentum_buf"],
        [torch.tensor(1.0)], foreach=False, lr=a.lr, alpha=a.alpha, eps=a.eps, weight_decay=a.weight_decay,
        momentum=a.momentum, centered=a.centered,
    )  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _clip_grad_norm(a: Arguments) -> Found:
    gradients = a.grads
    params = [torch.zeros_like(gradient) for gradient in gradients]
    for param, gradient in zip(params, gradients, strict=True):
        param.grad = gradient
    norm = torch.nn.utils.clip_grad_norm_(params, a.max_norm, a.norm_type, foreach=False)
    return {"out": norm.double(), "grads": [param.grad for param in params]}


def _amp_update_scale(a: Arguments) -> Found:
    scale, tracker = a.current_scale, a.growth_tracker
    torch._amp_update_scale_(
        scale, tracker, a.found_inf, a.scale_growth_factor, a.scale_backoff_factor, a.growth_interval
    )
    return {"current_scale": scale, "growth_tracker": tracker}


def _unscale(a: Arguments) -> Found:
    gradients, mark = a.scaled_grads, a.found_inf
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, mark, a.inv_scale)
    return {"scaled_grads": gradients, "found_inf": mark}


TORCH: dict[str, Callable[[Arguments], Found]] = {
    "MatmulBackward": _matmul_backward,
    "LinearBackward": _linear_backward,
    "Cholesky": _cholesky,
    "CholeskyBackward": _cholesky_backward,
    "TriangularSolve": _triangular_solve,
    "TriangularSolveBackward": _triangular_solve_backward,
    "LinalgQR": _qr,
    "Cdist": lambda a: {"out": torch.ops.aten._cdist_forward(a.input1, a.input2, a.p, a.compute_mode)},
    "CdistBackward": lambda a: {
        "grad_input": torch.ops.aten._cdist_backward(a.grad_output, a.input1, a.input2, a.p, a.cdist)
    },
    "NormBackward": _norm_backward,
    "CumsumBackward": lambda a: {
        "grad_input": _gradients(lambda x: torch.cumsum(x, a.dim), a.grad_output, torch.zeros_like(a.grad_output))[0]
    },
    "Sgd": _sgd,
    "Adam": lambda a: _adam(_optimizer("adam"), a),
    "AdamW": lambda a: _adam(_optimizer("adamw"), a),
    "FusedAdamW": _fused_adamw,
    "Adadelta": _adadelta,
    "Rmsprop": _rmsprop,
    "ClipGradNorm": _clip_grad_norm,
    "AmpUpdateScaleInp": _amp_update_scale,
    "AmpForeachNonFiniteCheckAndUnscaleInp": _unscale,
    "ForeachnormScalar": lambda a: {"outs": torch._foreach_norm(a.inputs, a.ord)},
    "ForeachaddScalar": lambda a: {a.call.target: torch._foreach_add(a.inputs, a.other)},
    "ForeachmulTensor": lambda a: {a.call.target: torch._foreach_mul(a.inputs, a.other)},
}
TRUE_STATE: dict[str, Callable[[Arguments], Found]] = {
    "NormBackward": lambda a: {"norm": torch.linalg.vector_norm(a.self, a.p, list(a.dim) or None)},
    "TriangularSolveBackward": lambda a: {"x": _solve(a.b, a.mat, a)},
}
"""Inputs of a backward operator from the forward pass, if the cases generate them: torch's gradient recomputes them."""
ROUNDED_ON_THE_WAY = frozenset({
    "Adadelta", "Adam", "AdamW", "ClipGradNorm", "FusedAdamW", "MatmulBackward", "Rmsprop", "Sgd",
})  # fmt: skip
"""Functions for which torch rounds intermediate steps to half precision, which the interface does in float32: no
halves."""


def _with_true_state(operator: str, call: Call) -> Call:
    if operator not in TRUE_STATE:
        return call
    state = TRUE_STATE[operator](Arguments(call))
    provided = {name: np.reshape(value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy(),
                              call.shapes[name]) for name, value in state.items()}  # fmt: skip
    return Call(call.function, {**call.values, **provided}, call.dtypes, call.shapes)


def _faults(call: Call, answer: Mapping[str, Any], found: Found) -> list[str]:
    faults = []
    for name, requested in answer.items():
        several = isinstance(requested, (list, tuple))
        dtypes = call.dtypes.get(name, "float64")
        items = zip(requested, found[name], dtypes, strict=True) if several else [(requested, found[name], dtypes)]
        for expected, actual, dtype in items:
            assert isinstance(expected, Expected)
            elements = stored(actual.reshape(expected.values.shape), dtype)
            fault = compare(elements, dtype, expected, call.function.tolerance, name)
            if fault is not None:
                faults.append(f"{name} {fault.message}: oracle {fault.expected}, torch {fault.actual}")
    return faults


@pytest.mark.filterwarnings("ignore:torch.triangular_solve")
@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    functions = [f for f in suite.tested(interface) if f.operator == operator]
    cases = [case for f in functions for case in cases_of(interface, f) if case.expect == SUCCESS]
    if operator in ROUNDED_ON_THE_WAY:
        cases = [case for case in cases if case.dtype not in ("float16", "bfloat16")]
    wrong: list[str] = []
    rejected: dict[str, str] = {}
    for case in cases:
        call = _with_true_state(operator, call_of(interface, case))
        try:
            found = TORCH[operator](Arguments(call))
        except (RuntimeError, NotImplementedError) as error:
            rejected[case.id] = str(error)
            continue  # torch does not take this dtype on the CPU
        with np.errstate(all="ignore"):
            answer = answer_of(call)
        wrong += [f"{case.id}: {fault}" for fault in _faults(call, answer, found)]
    assert len(rejected) < len(cases) / 2, rejected
    assert not wrong, "\n".join(wrong[:8])


def test_a_wrong_gradient_would_be_noticed(interface: Interface) -> None:
    function = interface.function("diopiNormBackward")
    assert function is not None
    case = next(case for case in cases_of(interface, function) if case.expect == SUCCESS)
    call = _with_true_state("NormBackward", call_of(interface, case))
    answer = answer_of(call)
    found = {"grad_input": _norm_backward(Arguments(call))["grad_input"] * 1.01}
    assert _faults(call, answer, found)
