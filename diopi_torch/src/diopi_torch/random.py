"""Random numbers of the device, as `torch.cuda.random`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .indices import device_index

__all__ = [
    "default_generators",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

_operators = torch.ops.diopi


class _Generators:
    """The default generators by index."""

    def __getitem__(self, index: int) -> torch.Generator:
        if not 0 <= index < len(self):
            raise IndexError(f"there is no device {index}; there are {len(self)}")
        return _operators.default_generator(index)

    def __len__(self) -> int:
        return int(_operators.device_count())

    def __iter__(self) -> Iterator[torch.Generator]:
        return (self[index] for index in range(len(self)))


default_generators = _Generators()


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    default_generators[device_index(None)].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices."""
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the current device's generator by chance."""
    return int(default_generators[device_index(None)].seed())


def seed_all() -> None:
    """Seeds the generators of all devices by chance, all alike."""
    manual_seed_all(seed())


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return int(default_generators[device_index(None)].initial_seed())


def get_rng_state(device: Any = None) -> torch.Tensor:
    """The state of a device's generator: 16 bytes."""
    return default_generators[device_index(device)].get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
    """Sets it."""
    default_generators[device_index(device)].set_state(new_state.cpu())


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices."""
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets them."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
