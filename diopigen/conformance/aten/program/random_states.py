"""Random generators of torch as the suite has them: a seed, and an offset that a call advances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


class RandomStates:
    """The default generator of a device. An offset is the number of a state that was left by a call, from 1."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._states: dict[tuple[int, int], Any] = {}
        self.generator = _default_generator(device)

    def entered(self, seeds: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """Sets the state of the first of the request's generators, and returns its seed and offset."""
        if not seeds or self.generator is None:
            return None
        seed, offset = seeds[0]
        self.generator.manual_seed(seed)
        if offset and (seed, offset) in self._states:
            self.generator.set_state(self._states[(seed, offset)])
        return seed, offset

    def left(self, entered: tuple[int, int] | None, count: int) -> list[tuple[int, int]]:
        """Seeds and offsets after the call."""
        if entered is None:
            return [(0, 0)] * count
        seed, offset = entered
        self._states[(seed, offset + 1)] = self.generator.get_state()
        if len(self._states) > _MOST:
            self._states.pop(next(iter(self._states)))
        return [(seed, offset + 1)] * count


_MOST = 64
"""States that are remembered."""


def _default_generator(device: Any) -> Any:
    if device.type in ("cpu", "meta"):
        return torch.default_generator
    module = torch.get_device_module(device)
    generators = getattr(module, "default_generators", None)
    index = device.index if device.index is not None else 0
    if generators is not None and index < len(generators):
        return generators[index]
    return None
