"""Code written for CUDA, unchanged, in processes of their own: the switch changes PyTorch for good."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TRAINING = """
import copy, torch
from torch import nn

assert torch.cuda.is_available() and torch.cuda.device_count() == 2
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
expected = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
model = copy.deepcopy(expected).cuda()
assert all(p.is_cuda for p in model.parameters()) and isinstance(device, torch.device)
x, y = torch.randn(8, 4), torch.arange(8) % 3
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, pin_memory=True)
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (expected, model)]
scaler = torch.cuda.amp.GradScaler(enabled=False)
for images, labels in loader:
    losses = []
    for one, optimizer, place in zip((expected, model), optimizers, ("cpu", device)):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=False):
            loss = nn.functional.cross_entropy(
                one(images.to(place, non_blocking=True)), labels.to(place, non_blocking=True)
            )
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    torch.cuda.synchronize()
    assert abs(losses[0] - losses[1]) < 1e-6, losses
print("trained on", next(model.parameters()).device)
"""

NAMES = """
import io, torch
x = torch.zeros(2, 3, device="cuda")
assert x.is_cuda and x.device == torch.device("cuda:0") == torch.device("cuda", 0), x.device
assert torch.ones(2).cuda().is_cuda and torch.ones(2).to("cuda:1").device.index == 1
assert torch.rand_like(x).is_cuda and x.new_ones(2, device="cuda").is_cuda
assert torch.tensor([1.0], device="cuda").is_cuda
assert torch.arange(3, device=torch.device("cuda")).is_cuda and not torch.ones(1).is_cuda
generator = torch.Generator("cuda").manual_seed(3)
assert isinstance(generator, torch.Generator) and torch.rand(3, generator=generator, device="cuda").is_cuda
with torch.autocast("cuda", dtype=torch.bfloat16):
    assert torch.is_autocast_enabled("cuda") and (x @ x.T).dtype == torch.bfloat16
with torch.cuda.amp.autocast(dtype=torch.float16):
    assert (x @ x.T).dtype == torch.float16
stream = torch.cuda.Stream()
assert isinstance(stream, torch.cuda.Stream)
with torch.cuda.stream(stream):
    assert torch.cuda.current_stream() == stream
event = torch.cuda.Event(enable_timing=True)
event.record()
event.synchronize()
assert torch.cuda.memory_allocated() > 0 and torch.cuda.memory.max_memory_allocated() > 0
assert "Allocated memory" in torch.cuda.memory_summary() and torch.cuda.get_device_properties(0).total_memory > 0
state = torch.cuda.get_rng_state()
torch.cuda.set_rng_state(state)
file = io.BytesIO()
torch.save({"x": x}, file)
for location in ("cuda", torch.device("cuda:0"), None):
    file.seek(0)
    assert torch.load(file, map_location=location)["x"].is_cuda
assert torch.ones(2).pin_memory().is_pinned()
assert torch.get_device_module("cuda").current_device() == 0
with torch.device("cuda"):
    assert torch.nn.Linear(2, 2).weight.is_cuda
torch.set_default_device("cuda")
assert torch.zeros(1).is_cuda
torch.set_default_device("cpu")
graph, x = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()):
    y = x + torch.cuda.is_current_stream_capturing()
x.fill_(4)
graph.replay()
assert y.tolist() == [5, 5] and torch.cuda.graphs.graph is torch.cuda.graph
import copy, pickle
assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda:1")
for call in (torch.cuda.make_graphed_callables, torch.cuda.utilization):
    try:
        call()
    except RuntimeError as error:
        assert "has no counterpart on droplet" in str(error), error
    else:
        raise AssertionError(call)
try:
    torch.distributed.init_process_group("nccl")
except RuntimeError as error:
    assert "nccl has no counterpart on droplet" in str(error), error
print("done")
"""

OLD_CHECKPOINT = """
import io, torch
def tag(storage):
    return "cuda:0"
file = io.BytesIO()
torch.serialization.register_package(0, tag, lambda *_: None)
torch.save(torch.arange(3.0), file)
torch.serialization._package_registry[:] = [one for one in torch.serialization._package_registry if one[1] is not tag]
file.seek(0)
loaded = torch.load(file)
assert loaded.is_cuda and loaded.tolist() == [0.0, 1.0, 2.0], loaded
print("loaded")
"""


def run(backend: Any, program: str, tmp_path: Path, **environment: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **backend.environment(), "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("program", "said"), [(TRAINING, "trained on droplet:0\n"), (NAMES, "done\n"), (OLD_CHECKPOINT, "loaded\n")]
)
def test_an_import_is_the_switch(program: str, said: str, backend: Any, tmp_path: Path) -> None:
    assert run(backend, "import torch_droplet, diopi_torch.as_cuda\n" + program, tmp_path) == said


def test_the_environment_is_the_switch_with_the_autoload(backend: Any, tmp_path: Path) -> None:
    # What the entry point of an installed package does.
    hook = tmp_path / "sitecustomize.py"
    hook.write_text("import torch_droplet\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    assert run(backend, TRAINING, tmp_path, DIOPI_AS_CUDA="1", PYTHONPATH=path) == "trained on droplet:0\n"
