"""Models train on the device as on the CPU: as near to the truth, without the CPU's help, and nothing is left."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from model_runs import FACTOR, FLOOR, Model, Run, chosen, distances, train
from models import LlamaDecoder
from run_kind import ROOT, WHOLE

CPU = torch.device("cpu")
PRECISIONS = {"float32": None, "float16": torch.float16, "bfloat16": torch.bfloat16}
SAMPLED = ("float32", "bfloat16")
MODELS = chosen(WHOLE)


@functools.cache
def truth(model: Model) -> Run:
    return train(model, CPU, torch.float64)


@functools.cache
def on_cpu(model: Model, autocast: torch.dtype | None) -> dict[str, float]:
    """Largest error of the CPU. oneDNN has an LSTM in 16 bits on some processors alone; PyTorch's own
    kernels run on all."""
    farthest: dict[str, float] = {}
    for has_onednn in (False, True) if autocast is None else (False,):
        with torch.backends.mkldnn.flags(enabled=has_onednn, allow_tf32=False):
            found = distances(train(model, CPU, autocast=autocast), truth(model))
        farthest = {what: max(far, farthest.get(what, 0.0)) for what, far in found.items()}
    return farthest


@pytest.mark.parametrize("precision", PRECISIONS if WHOLE else SAMPLED)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_training(model: Model, precision: str, droplet: Any, nothing_left: None, fallbacks: Any) -> None:
    autocast = PRECISIONS[precision]
    own = train(model, droplet, autocast=autocast)
    fallen = fallbacks()
    near, reached = on_cpu(model, autocast), distances(own, truth(model))
    for what, far in reached.items():
        allowed = FACTOR * max(near[what], FLOOR[autocast or torch.float32])
        assert far <= allowed, f"{what} are {far:.2e} from the truth, those of the CPU {near[what]:.2e}"
    assert own.losses[-1] < own.losses[0]
    assert fallen == {}


@torch.no_grad()
def test_decoder_continues_with_its_cache(droplet: Any, nothing_left: None, fallbacks: Any) -> None:
    """Token by token with a cache gives what reading all at once gives, and what the CPU gives."""
    torch.manual_seed(3)
    network = LlamaDecoder()
    tokens = torch.randint(64, (2, 5))
    expected = network.continued(tokens, 8)
    there = network.to(droplet)
    own = there.continued(tokens.to(droplet), 8)
    assert torch.equal(own.cpu(), expected)
    assert torch.equal(there(own[:, :-1])[:, 4:].argmax(-1).cpu(), expected[:, 5:])
    assert fallbacks() == {}


@pytest.mark.skipif("DIOPI_SIM_DELAY" in os.environ, reason="this is the delayed run")
def test_training_on_a_slow_device(backend: Any, tmp_path: Path) -> None:
    """The same with random delays before kernels and copies, which show what does not wait for a stream."""
    variables = {"DIOPI_SIM_DELAY": "1,50", "DIOPI_SIM_ORDER_CHECK": "1"}
    chosen = "" if WHOLE else "(mlp or unet or llama or lstm) and float32"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k", chosen or "test_"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
