"""Calls of graphs that are in the library, by number."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ._backend import extension

Runner = Callable[[list[Any]], list[Any]]
"""Runs a graph for a list of tensors, which it empties, and returns its results."""


@functools.cache
def _module() -> Any:
    """Module that calls graphs without PyTorch's dispatcher, if it was built."""
    return extension("diopi_graphs")


def program_runner(number: int) -> Runner:
    """Runs a program for sizes that do not change."""
    if _module() is not None:
        run: Runner = _module().program(number)
        return run

    def through_dispatcher(inputs: list[Any]) -> list[Any]:
        torch.ops.diopi.stage.default(inputs)
        inputs.clear()
        return list(torch.ops.diopi.run_program.default(number))

    return through_dispatcher


def saved_runner(number: int) -> Runner:
    """Runs a saved graph."""
    if _module() is not None:
        run: Runner = _module().saved(number)
        return run
    return lambda inputs: list(torch.ops.diopi.run_graph.default(number, inputs))
