"""The checks of one entry of PyTorch's operator database: each gives the differences that it finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from altered_calls import altered
from differences import differences
from sample_runs import CPU, DTYPES, Outcome, called, first, gradients, moved, place, tensors, widened
from ties import settled, settled_gradients

# How many samples by run: the sampled one, and the whole one.
SAMPLES = {False: 2, True: None}


@dataclass(frozen=True)
class Way:
    """Kind of check: device, all samples or a few, and whether values are compared, which is not so for random ones."""

    device: torch.device
    whole: bool
    values: bool
    fixed: Mapping[str, list[Any]] = field(default_factory=dict)  # arguments with which they count all the same
    unrun: frozenset[str] = frozenset()  # forms of `out=` that cannot be called

    def of(self, sample: Any) -> Way:
        """The way to check one sample."""
        given = sample.kwargs
        is_fixed = any(name in given and (not every or given[name] in every) for name, every in self.fixed.items())
        return replace(self, values=True) if is_fixed else self


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


def each(op: Any, chosen: list[Any], every: Way) -> Iterator[str]:
    for index, sample in enumerate(chosen):
        way = every.of(sample)
        here, there = place(sample, CPU), place(sample, way.device)
        expected, own = called(op, here, CPU), called(op, there, way.device)
        for text in compared(op, sample, own, expected, way):
            yield f"sample {index}: {text}"
        if expected.error is None and own.error is None:
            yield from (
                f"sample {index}, backward: {text}" for text in backward(op, sample, here, expected, there, own, way)
            )
            texts = after(here, there, partial(true_inputs, op, sample), way)
            yield from (f"sample {index}, inputs after: {text}" for text in texts)


def compared(op: Any, sample: Any, own: Outcome, expected: Outcome, way: Way) -> Iterator[str]:
    if expected.error is not None:
        if own.error is None:
            yield f"succeeds, where the CPU raises {brief(expected.error)}"
    elif own.error is not None:
        yield f"raises {brief(own.error)}"
    else:
        mine = settled(op, sample, own.values, expected.values)
        yield from differences(mine, expected.values, partial(true_values, op, sample), values=way.values)


def backward(op: Any, sample: Any, here: Any, expected: Outcome, there: Any, own: Outcome, way: Way) -> Iterator[str]:
    right, raised = None, None
    try:
        right = gradients(here, expected.values)
    except Exception as error:
        raised = error
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
        dtypes = [leaf.dtype for leaf in right[0]]
        yield from differences(
            settled_gradients(op, sample, mine[1]),
            settled_gradients(op, sample, right[1]),
            lambda shake: settled_gradients(op, sample, true_gradients(op, sample, dtypes, shake)),
            values=way.values,
        )


def true_values(op: Any, sample: Any, shake: int) -> Any:
    """The results in float64; None where the operator does not take it."""
    with float64_by_default():
        return called(op, widened(sample, shake), CPU).values


def true_inputs(op: Any, sample: Any, shake: int) -> Any:
    """Inputs after a computation in float64."""
    wide = widened(sample, shake)
    with float64_by_default():
        called(op, wide, CPU)
    return inputs(wide)


def true_gradients(op: Any, sample: Any, rounding: list[torch.dtype], shake: int) -> Any:
    wide = widened(sample, shake)
    with float64_by_default():
        try:
            found = gradients(wide, called(op, wide, CPU).values, rounding)
        except Exception:
            return None
    return None if found is None else found[1]


@contextmanager
def float64_by_default() -> Iterator[None]:
    """Results of integers are float64 here."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def after(here: Any, there: Any, truth: Callable[[int], Any], way: Way) -> Iterator[str]:
    """Inputs that an operator writes, by design or by mistake."""
    yield from differences(inputs(there), inputs(here), truth, values=way.values)


def inputs(sample: Any) -> list[torch.Tensor]:
    return [leaf.detach() for leaf in tensors((sample.input, sample.args, sample.kwargs))]


def outputs(op: Any, dtype: torch.dtype, way: Way) -> Iterator[str]:
    """`out=`: into a tensor full of something else, into one that is transposed, and into one without elements."""
    if not op.supports_out:
        return
    torch.manual_seed(0)
    for index, sample in enumerate(first(op.sample_inputs("cpu", dtype), SAMPLES[way.whole])):
        expected = called(op, place(sample, CPU), CPU)
        if expected.error is not None or not all(leaf.layout == torch.strided for leaf in tensors(expected.values)):
            continue
        for form, make in FORMS.items():
            if form in way.unrun:
                continue
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
            mine = settled(op, sample, out, expected.values)
            texts = differences(mine, expected.values, partial(true_values, op, sample), values=way.values)
            yield from (f"sample {index}, out {form}: {text}" for text in texts)


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
    """Rejects the calls that PyTorch's tests expect to be rejected, with an error of the same type; altered calls
    too."""
    yield from altered(op, way.whole, way.device)
    for index, _, here, own in refused(op, way):
        if own is None:
            yield f"error input {index}: accepted, where the CPU raises {brief(here)}"
        elif type(own) is not type(here):
            yield f"error input {index}: raises {brief(own)}, where the CPU raises {brief(here)}"


def words(op: Any, way: Way) -> Iterator[str]:
    """The same is said where the CPU says what PyTorch's tests expect."""
    for index, wrong, here, own in refused(op, way):
        if own is not None and re.search(wrong.error_regex, str(here)) and not re.search(wrong.error_regex, str(own)):
            yield f"error input {index}: says {brief(own)}, where the CPU says {brief(here)}"


def refused(op: Any, way: Way) -> Iterator[tuple[int, Any, Exception, Exception | None]]:
    """The inputs that the CPU refuses, with the errors of the CPU and of the device."""
    if op.error_inputs_func is None:
        return
    for index, wrong in enumerate(op.error_inputs("cpu")):
        here = called(op, place(wrong.sample_input, CPU), CPU)
        if here.error is not None:
            yield index, wrong, here.error, called(op, place(wrong.sample_input, way.device), way.device).error


def collected(check: Callable[[], Iterator[str]]) -> list[str]:
    try:
        return list(check())
    except Exception as error:
        return [f"cannot be compared: {brief(error)}"]


def brief(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:160] if text else ''}"


def dtypes(op: Any) -> list[torch.dtype]:
    """Of those under test, the ones that the CPU has."""
    return [dtype for dtype in DTYPES if dtype in op.supported_dtypes("cpu")]
