"""The checks of one entry of PyTorch's optimizer database: each gives the differences that it finds.

The CPU runs the plain loop over parameters, whatever the device was asked for: capturable, foreach and fused steps say
the same in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from differences import differences
from opinfo_checks import brief
from sample_runs import CPU, WIDE, moved

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.complex64)
STEPS = 5
SHAPES = ((3, 4), (4, 3), (2, 5))
VECTORS = ((7,), ())
WAYS = ("foreach", "fused", "differentiable")


@dataclass(frozen=True)
class Config:
    """Arguments of an optimizer."""

    arguments: dict[str, Any]
    text: str = ""

    def plain(self, info: Any) -> Config:
        """The same as the plain loop."""
        kept = {name: value for name, value in self.arguments.items() if name not in ("capturable", *WAYS)}
        return Config(kept | {name: False for name in WAYS if name in info.supported_impls})

    def begin(self, values: list[torch.Tensor]) -> list[torch.Tensor]:
        """Parameters; a differentiable step may not write to those that have gradients of autograd."""
        return [value.requires_grad_(not self.arguments.get("differentiable")) for value in values]


def configs(info: Any, dtype: torch.dtype, whole: bool) -> Iterator[Config]:
    """Those of PyTorch's tests, each with every way to step. "cuda" adds the capturable ones. The sampled run takes
    only the first ones for dtypes other than float32."""
    given = info.optim_inputs_func("cuda", dtype)
    for item in given if whole or dtype == torch.float32 else given[:2]:
        base = dict.fromkeys(info.supported_impls, False)
        yield Config(dict(item.kwargs), item.desc)
        for name in info.supported_impls:
            yield Config({**item.kwargs, **base, name: True}, f"{item.desc} & {name}")


def steps(info: Any, dtype: torch.dtype, device: torch.device, whole: bool) -> Iterator[str]:
    """Parameters and states after some steps."""
    for config in configs(info, dtype, whole):
        yield from (f"{config.text}: {text}" for text in compared(info, dtype, device, config, None))


def loaded(info: Any, dtype: torch.dtype, device: torch.device, whole: bool) -> Iterator[str]:
    """The same with a state of the CPU that is loaded between steps."""
    for config in list(configs(info, dtype, whole))[: None if whole else 2]:
        yield from (f"{config.text}: {text}" for text in compared(info, dtype, device, config, CPU))


def compared(
    info: Any, dtype: torch.dtype, device: torch.device, config: Config, begin: torch.device | None
) -> Iterator[str]:
    plain = config.plain(info)
    try:
        expected = trained(info, dtype, CPU, plain, begin)
    except Exception as error:
        yield f"the CPU raises {brief(error)}"
        return
    try:
        own = trained(info, dtype, device, config, begin)
    except Exception as error:
        if not refused_by_all(info, dtype, config):
            yield f"raises {brief(error)}"
        return

    def in_float64(name: str, shake: int) -> Any:
        return None if shake else trained(info, dtype, CPU, plain, begin, WIDE[dtype])[name]

    for name in ("parameters", "state"):
        texts = differences(own[name], expected[name], partial(in_float64, name))
        yield from (f"{name}: {text}" for text in texts)


def refused_by_all(info: Any, dtype: torch.dtype, config: Config) -> bool:
    """Returns whether the CPU refuses these arguments as well."""
    given = {name: value for name, value in config.arguments.items() if name != "capturable"}
    try:
        trained(info, dtype, CPU, Config(given))
    except Exception:
        return True
    return False


def trained(
    info: Any,
    dtype: torch.dtype,
    device: torch.device,
    config: Config,
    begin: torch.device | None = None,
    wide: torch.dtype | None = None,
) -> dict[str, Any]:
    """Parameters and state after `STEPS` steps, the first two on another device where `begin` names one. `wide`:
    the dtype to compute in, with the same numbers."""
    generator = torch.Generator().manual_seed(11)

    def drawn(shape: tuple[int, ...]) -> torch.Tensor:
        kind = torch.complex64 if dtype.is_complex else torch.float32
        return torch.randn(shape, generator=generator, dtype=kind).to(dtype).to(wide or dtype)

    shapes = SHAPES if info.name == "Muon" else SHAPES + VECTORS
    gapless = info.step_requires_closure  # LBFGS takes no other parameters
    start = [drawn(shape).t() if shape == SHAPES[1] and not gapless else drawn(shape) for shape in shapes]
    aims = [drawn(tuple(value.shape)) for value in start]
    slopes = [[drawn(tuple(value.shape)) for value in start] for _ in range(STEPS)]
    place = begin or device
    first = config.plain(info) if begin else config
    values = first.begin([moved(value, place) for value in start])
    optimizer = info.optim_cls(values, **first.arguments)
    for index, slope in enumerate(slopes):
        if begin is not None and index == 2:
            place, saved = device, optimizer.state_dict()
            values = config.begin([moved(value.detach(), place) for value in values])
            optimizer = info.optim_cls(values, **config.arguments)
            saved["param_groups"] = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict(saved)
        step(info, optimizer, values, moved(slope, place), moved(aims, place), index)
    state = optimizer.state_dict()["state"]
    return {"parameters": [pooled([value.detach() for value in values])], "state": by_name(state)}


def step(info: Any, optimizer: Any, values: list[Any], slopes: list[Any], aims: list[Any], index: int) -> None:
    if info.step_requires_closure:

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            distances = [((value - aim).abs() ** 2).sum() for value, aim in zip(values, aims, strict=True)]
            total = torch.stack(distances).sum()
            total.backward()
            return total

        optimizer.step(closure)
        return
    for position, (value, slope) in enumerate(zip(values, slopes, strict=True)):
        given = slope.to_sparse() if info.only_supports_sparse_grads else slope
        value.grad = None if (index, position) == (1, 2) else given
    optimizer.step()


def by_name(state: dict[Any, Any]) -> list[Any]:
    """The state by name. Tensors of all parameters are one, since they are draws of the same computation."""
    names = sorted({name for each in state.values() for name in each})
    found = [[state[number][name] for number in sorted(state) if name in state[number]] for name in names]
    return [pooled(values) if all(isinstance(value, torch.Tensor) for value in values) else values for values in found]


def pooled(values: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([value.reshape(-1) for value in values])
