"""Plans in the cache of PyTorch (`TORCHINDUCTOR_CACHE_DIR`): a second process neither traces gradients nor plans.

The key is PyTorch's, which has the graph, the inputs' forms and PyTorch's version. What else a plan follows from is its
tag: the vendor's libraries, this package and the switches.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx._graph_pickler import GraphPickler, Options
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from ._backend import vendor
from .indices import device_name
from .planner import Plan

_SWITCHES = ("DIOPI_COMPILE_FUSION", "DIOPI_COMPILE_LAYOUTS", "DIOPI_COMPILE_PATTERNS", "DIOPI_KERNEL_CXX")
_MAPPED = Path("/proc/self/maps")


def is_on() -> bool:
    """Returns whether graphs are kept. Those that are shown or reported are planned in each process."""
    shown = os.environ.get("DIOPI_COMPILE_LOG") or os.environ.get("DIOPI_COMPILE_REPORT")
    return os.environ.get("DIOPI_COMPILE_CACHE", "1") != "0" and not shown


def _libraries() -> list[Path]:
    """The libraries of the backend and the vendor that this process has loaded."""
    words = ("diopi", device_name())
    found = set()
    for line in _MAPPED.read_text(encoding="utf-8").splitlines():
        path = line.partition("/")[2]
        if ".so" in path and any(word in Path(path).name for word in words):
            found.add(Path(f"/{path}"))
    return sorted(found)


@functools.cache
def _files() -> str:
    digest = hashlib.blake2b(digest_size=16)
    sources = (*Path(__file__).parent.glob("*.py"), *vendor().folder.glob("*.py"))
    for path in [*sorted(sources), *_libraries()]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def tag(captures: bool) -> str:
    """Inputs of planning other than the graph. Raises `OSError` where the libraries cannot be read."""
    switches = ",".join(f"{name}={os.environ.get(name, '')}" for name in _SWITCHES)
    return f"diopi {_files()} {switches} captures={captures}"


@contextlib.contextmanager
def tagged(captures: bool = False) -> Iterator[None]:
    """PyTorch's cache takes graphs of this backend meanwhile."""
    import torch._functorch.config
    import torch._inductor.codecache
    import torch.compiler.config

    own = f"{torch.compiler.config.cache_key_tag} {tag(captures)}"
    with (
        # PyTorch saves both graphs at once: the backward graph is compiled with the forward graph.
        torch._functorch.config.patch(bundled_autograd_cache=True, force_non_lazy_backward_lowering=True),
        torch.compiler.config.patch(cache_key_tag=own),
        # The key asks inductor for passes of its code generators, none of which makes these graphs: to import them all
        # takes as long as the rest.
        mock.patch.object(torch._inductor.codecache, "init_backend_registration", _nothing),
    ):
        yield


def _nothing() -> None:
    """Registers no code generators."""


def may_keep(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Returns whether the key of PyTorch says all about a graph, which lacks the values of tensors that are in the
    graph, and those of real numbers."""
    if any(isinstance(one, (torch.SymFloat, torch.SymBool)) for one in inputs):
        return False
    return not any(node.op == "get_attr" for node in module.graph.nodes)


@dataclass
class Kept:
    """Plans as they are kept: one with fused kernels, and one without for switches that watch calls one by one. A graph
    with symbols is kept as well, for sizes that its plans are not for."""

    fused: Plan
    single: Plan
    graph: bytes = b""

    @classmethod
    def of(cls, fused: Plan, single: Plan, module: torch.fx.GraphModule | None) -> Kept:
        """Constants leave the device."""
        graph = b"" if module is None else GraphPickler.dumps(module, Options(ops_filter=None))
        return cls(_moved(fused, torch.device("cpu")), _moved(single, torch.device("cpu")), graph)

    def module(self) -> torch.fx.GraphModule:
        """The graph, with symbols of its own."""
        found = GraphPickler.loads(self.graph, FakeTensorMode(shape_env=ShapeEnv()))
        assert isinstance(found, torch.fx.GraphModule)
        return found

    def plan(self, fuses: bool) -> Plan:
        """For the device that it was made for."""
        planned = self.fused if fuses else self.single
        return _moved(planned, torch.device(device_name(), planned.document["device"]))


def _moved(planned: Plan, device: torch.device) -> Plan:
    with unset_fake_temporarily():
        constants = [value.to(device) for value in planned.constants]
    return replace(planned, constants=constants, notes=[])
