"""The checks of one entry of PyTorch's operator database: each gives the differences that it finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from sample_runs import (
    CPU,
    DTYPES,
    Outcome,
    called,
    differences,
    first,
    gradients,
    judged,
    moved,
    place,
    tensors,
    widened,
)

# How many samples by run: the sampled one, and the whole one.
SAMPLES = {False: 2, True: None}


@dataclass(frozen=True)
class Way:
    """How to check: on which device, all samples or a few, and whether values count, which random ones do not."""

    device: torch.device
    whole: bool
    values: bool


def forward(op: Any, dtype: torch.dtype, way: Way) -> Iterator[str]:
    """Samples with dense tensors; for the float dtypes that have one, the backward pass as well."""
    yield from each(op, samples(op, dtype, way.whole), way)


def strided(op: Any, dtype: torch.dtype, way: Way) -> Iterator[str]:
    """The same with gaps between the elements."""
    gapped = []
    for sample in samples(op, dtype, way.whole):
        try:
            gapped.append(sample.noncontiguous())
        except Exception:  # a sample with tensors that share memory has no such form
            continue
    yield from each(op, gapped, way)


def samples(op: Any, dtype: torch.dtype, whole: bool) -> list[Any]:
    torch.manual_seed(0)
    differentiable = dtype in op.supported_backward_dtypes("cpu") and op.supports_autograd
    return first(op.sample_inputs("cpu", dtype, requires_grad=differentiable), SAMPLES[whole])


def each(op: Any, chosen: list[Any], way: Way) -> Iterator[str]:
    for index, sample in enumerate(chosen):
        here, there = place(sample, CPU), place(sample, way.device)
        expected, own = called(op, here, CPU), called(op, there, way.device)
        for text in compared(op, sample, own, expected, way):
            yield f"sample {index}: {text}"
        if expected.error is None and own.error is None:
            yield from (
                f"sample {index}, backward: {text}" for text in backward(op, sample, here, expected, there, own, way)
            )
            yield from (f"sample {index}, inputs after: {text}" for text in after(here, there, way))


def compared(op: Any, sample: Any, own: Outcome, expected: Outcome, way: Way) -> Iterator[str]:
    if expected.error is not None:
        if own.error is None:
            yield f"succeeds, where the CPU raises {brief(expected.error)}"
    elif own.error is not None:
        yield f"raises {brief(own.error)}"
    else:
        yield from judged(own.values, expected.values, lambda: true_values(op, sample), values=way.values)


def true_values(op: Any, sample: Any) -> Any:
    """The results in float64; None where the operator does not take it."""
    return called(op, widened(sample), CPU).values


def true_gradients(op: Any, sample: Any) -> Any:
    wide = widened(sample)
    try:
        found = gradients(wide, called(op, wide, CPU).values)
    except Exception:
        return None
    return None if found is None else found[1]


def backward(op: Any, sample: Any, here: Any, expected: Outcome, there: Any, own: Outcome, way: Way) -> Iterator[str]:
    try:
        right = gradients(here, expected.values)
    except Exception as error:
        right, raised = None, error
    else:
        raised = None
    try:
        mine = gradients(there, own.values)
    except Exception as error:
        if raised is None:
            yield f"raises {brief(error)}"
        return
    if raised is not None:
        yield f"succeeds, where the CPU raises {brief(raised)}"
    elif (mine is None) != (right is None):
        yield f"{'no' if mine is None else 'a'} gradient, unlike on the CPU"
    elif mine is not None and right is not None:
        yield from judged(mine[1], right[1], lambda: true_gradients(op, sample), values=way.values)


def after(here: Any, there: Any, way: Way) -> Iterator[str]:
    """What an operator writes into its inputs, by design or by mistake."""
    mine = [leaf.detach() for leaf in tensors((there.input, there.args, there.kwargs))]
    right = [leaf.detach() for leaf in tensors((here.input, here.args, here.kwargs))]
    yield from differences(mine, right, values=way.values)


def outputs(op: Any, dtype: torch.dtype, way: Way) -> Iterator[str]:
    """`out=`: into a tensor full of something else, into one that is transposed, and into one without elements."""
    torch.manual_seed(0)
    for index, sample in enumerate(first(op.sample_inputs("cpu", dtype), SAMPLES[way.whole])):
        expected = called(op, place(sample, CPU), CPU)
        if expected.error is not None or not all(leaf.layout == torch.strided for leaf in tensors(expected.values)):
            continue
        for form, make in FORMS.items():
            out = moved(made(expected.values, make), way.device)
            there = place(sample, way.device)
            there.kwargs = {**there.kwargs, "out": out}
            own = called(op, there, way.device)
            if own.error is not None:
                here = place(sample, CPU)
                here.kwargs = {**here.kwargs, "out": made(expected.values, make)}
                if called(op, here, CPU).error is None:
                    yield f"sample {index}, out {form}: raises {brief(own.error)}"
                continue
            yield from (
                f"sample {index}, out {form}: {text}" for text in differences(out, expected.values, values=way.values)
            )


def made(values: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    found = tuple(make(leaf.detach()) for leaf in tensors(values))
    return found[0] if len(found) == 1 and isinstance(values, torch.Tensor) else found


def full(like: torch.Tensor) -> torch.Tensor:
    return torch.full(like.shape, 1, dtype=like.dtype)


def transposed(like: torch.Tensor) -> torch.Tensor:
    turned = tuple(range(like.dim() - 1, -1, -1))
    return full(like.permute(turned)).permute(turned)


def nothing(like: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=like.dtype)


FORMS = {"full": full, "transposed": transposed, "empty": nothing}


def errors(op: Any, way: Way) -> Iterator[str]:
    """What PyTorch's tests expect to be refused is refused, in the same words where the CPU uses them."""
    if op.error_inputs_func is None:
        return
    for index, wrong in enumerate(op.error_inputs("cpu")):
        here = called(op, place(wrong.sample_input, CPU), CPU)
        if here.error is None:
            continue
        own = called(op, place(wrong.sample_input, way.device), way.device)
        if own.error is None:
            yield f"error input {index}: accepted, where the CPU raises {brief(here.error)}"
        elif not isinstance(own.error, wrong.error_type):
            yield f"error input {index}: raises {brief(own.error)}, where the CPU raises {brief(here.error)}"
        elif re.search(wrong.error_regex, str(here.error)) and not re.search(wrong.error_regex, str(own.error)):
            yield f"error input {index}: says {brief(own.error)}, where the CPU says {brief(here.error)}"


def brief(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:160] if text else ''}"


def dtypes(op: Any) -> list[torch.dtype]:
    """Of those under test, the ones that the CPU has."""
    return [dtype for dtype in DTYPES if dtype in op.supported_dtypes("cpu")]
