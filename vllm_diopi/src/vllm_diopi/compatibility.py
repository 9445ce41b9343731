"""The one module that knows releases of vLLM: those supported, and what they need besides the plugin's interface."""

from __future__ import annotations

import importlib.metadata
import os
import re
from types import ModuleType

import torch

SUPPORTED = ("0.30", "0.31", "0.32", "0.33")
"""Minor releases of vLLM whose interface of plugins is the one used here."""


def require_vllm() -> None:
    """Raises `ImportError` for a release that is not in `SUPPORTED`."""
    version = importlib.metadata.version("vllm")
    match = re.match(r"\d+\.\d+", version)
    if match is None or match.group() not in SUPPORTED:
        fix = f"pip install --no-deps 'vllm=={SUPPORTED[-2]}.*'"
        raise ImportError(f"vllm-diopi supports vLLM {SUPPORTED[0]} to {SUPPORTED[-1]}, and this is {version}: {fix}")


def settle_processes() -> None:
    """Selects spawned worker processes, since a forked child cannot use a device that its parent has started, and the
    first version of the model runner, since the second one is written in Triton."""
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")


def provide_streams(module: ModuleType) -> None:
    """Lets the names of streams that the model runner reads from `torch.cuda` be those of the device's module.

    The rest of `torch.cuda` stays as it is, so that `torch.cuda.is_available()` remains false.
    """
    for name in ("Event", "Stream", "current_stream", "stream"):
        setattr(torch.cuda, name, getattr(module, name))
