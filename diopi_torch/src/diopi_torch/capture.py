"""Graphs of captured work, as `torch.cuda.graphs`. `torch.accelerator.Graph` captures the same."""

from __future__ import annotations

import gc
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from .streams import is_current_stream_capturing

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]


class Graph(torch._C._acceleratorGraph):
    """Work of a stream that is captured once and replayed with the same memory."""

    def __new__(cls, keep_graph: bool = False) -> Graph:
        made: Graph = super().__new__(cls, keep_graph)
        return made

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Captures what the current stream gets from now on, with memory of `pool`."""
        super().capture_begin(pool=pool, capture_error_mode=capture_error_mode)


CUDAGraph = Graph


def graph_pool_handle() -> tuple[int, int]:
    """A pool of memory that several graphs may share."""
    pool: tuple[int, int] = torch.ops.diopi.new_pool()
    return pool


class graph:
    """A context that captures the work of its block, which does not run, on `stream` or on one of its own."""

    def __init__(
        self,
        cuda_graph: Graph,
        pool: tuple[int, int] | None = None,
        stream: torch.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.graph = cuda_graph
        self.pool = pool
        self.stream = torch.Stream() if stream is None else stream
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        torch.accelerator.synchronize()
        if torch.compiler.config.force_cudagraph_gc:
            gc.collect()
        torch.accelerator.empty_cache()
        self.stream.__enter__()
        try:
            self.graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.stream.__exit__(None, None, None)
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.graph.capture_end()
            if kind is not None:
                self.graph.reset()
        except RuntimeError:
            if kind is None:  # else the exception of the block says more
                raise
        finally:
            self.stream.__exit__(None, None, None)


def _require_capturable(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """A step whose count is a number of the host would be the same in each replay."""
    if not is_current_stream_capturing():
        return
    for group in optimizer.param_groups:
        if not group.get("capturable", True) and not group.get("fused"):
            raise RuntimeError(f"a graph captures a step of {type(optimizer).__name__} only with capturable=True")


register_optimizer_step_pre_hook(_require_capturable)
