"""Training scripts of other libraries, unchanged, with the switch for code written for CUDA: losses are the CPU's.

The libraries are the extra `models` (`make test-models` installs them). Models are small and start at random.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ACCELERATE = """
import json, torch
from accelerate import Accelerator

torch.manual_seed(0)
accelerator = Accelerator(mixed_precision=PRECISION)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
samples = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.arange(32) % 2)
model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(samples, batch_size=8))
losses = []
for inputs, labels in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    losses.append(loss.item())
print(json.dumps({"device": inputs.device.type, "losses": losses}))
"""

TRAINER = """
import json, tempfile, torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(0)
sizes = dict(n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32)
model = GPT2LMHeadModel(GPT2Config(**sizes, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))
samples = [{"input_ids": torch.arange(16) % (7 + i), "labels": torch.arange(16) % (7 + i)} for i in range(16)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, max_steps=4, per_device_train_batch_size=BATCH, report_to=[], logging_steps=1, save_strategy="no",
        disable_tqdm=True, bf16=PRECISION == "bf16", use_cpu=USE_CPU,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=samples)
    trainer.train()
assert model.lm_head.weight is model.transformer.wte.weight
losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print(json.dumps({"device": next(model.parameters()).device.type, "losses": [float(loss) for loss in losses]}))
"""


def run(backend: Any, program: str, tmp_path: Path, devices: int = 1) -> tuple[str, list[float]]:
    script = tmp_path / "script.py"
    script.write_text(program)
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "DIOPI_SIM_DEVICES": str(devices), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **backend.environment(), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    return result["device"], result["losses"]


def need(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed (make test-models)")


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_accelerate(precision: str, backend: Any, tmp_path: Path) -> None:
    need("accelerate")
    program = ACCELERATE.replace("PRECISION", repr(precision))
    device, losses = run(backend, f"import torch_droplet.as_cuda\n{program}", tmp_path)
    expected_device, expected = run(backend, program, tmp_path)
    assert (device, expected_device) == ("droplet", "cpu")
    assert losses == pytest.approx(expected, rel=1e-5 if precision == "no" else 1e-2) and len(losses) == 4


@pytest.mark.parametrize(("precision", "devices"), [("no", 1), ("bf16", 1), ("no", 2)])
def test_the_trainer_of_transformers(precision: str, devices: int, backend: Any, tmp_path: Path) -> None:
    need("transformers")
    need("accelerate")
    program = TRAINER.replace("PRECISION", repr(precision))
    own = program.replace("BATCH", str(4 // devices)).replace("USE_CPU", "False")
    device, losses = run(backend, f"import torch_droplet.as_cuda\n{own}", tmp_path, devices)
    expected_device, expected = run(backend, program.replace("BATCH", "4").replace("USE_CPU", "True"), tmp_path)
    assert (device, expected_device) == ("droplet", "cpu")
    assert losses == pytest.approx(expected, rel=1e-3 if precision == "no" else 1e-2) and len(losses) == 4
