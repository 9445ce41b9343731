"""Training scripts of other libraries, unchanged: losses are the CPU's.

With the switch for code written for CUDA they train on the device by themselves; without it where the library, or the
script, accepts the name of a device. The libraries are the extra `models` (`make test-models` installs them). Models
are small and start at random.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest
from install_models import APART

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

LIGHTNING = """
import json, tempfile, torch
import pytorch_lightning as lightning

class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
        self.losses, self.validated = [], []

    def training_step(self, batch, index):
        inputs, labels = batch
        loss = torch.nn.functional.cross_entropy(self.layers(inputs), labels)
        self.log("loss", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        self.validated.append((self.layers(batch[0]).argmax(1) == batch[1]).float().mean().item())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

lightning.seed_everything(0)
samples = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.arange(32) % 2)
loaders = [torch.utils.data.DataLoader(samples, batch_size=8) for _ in range(2)]
model = Classifier()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=2, precision=PRECISION, accelerator=ACCELERATOR, devices=1, default_root_dir=folder, logger=False,
        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0, num_sanity_val_steps=1,
    )
    trainer.fit(model, *loaders)
    trainer.save_checkpoint(folder + "/last.ckpt")
    state = torch.load(folder + "/last.ckpt", map_location="cpu", weights_only=False)["state_dict"]
assert all(torch.equal(tensor, state[name].cpu()) for name, tensor in model.cpu().state_dict().items())
assert len(model.validated) == 1 + 2 * 4
print(json.dumps({"device": trainer.strategy.root_device.type, "losses": model.losses}))
"""

# In the form of references/classification/train.py of torchvision: --device, --amp, warmup and cosine, label smoothing,
# weight decay apart for normalization, an average of the weights, clipping, evaluation, checkpoints.
REFERENCE = """
import argparse, json, math, sys, tempfile, torch
from sklearn.datasets import load_digits
from torch import nn
from torchvision.models import get_model

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    return parser.parse_args()

def parameters_of(model, decay):
    norms = [p for m in model.modules() if isinstance(m, nn.BatchNorm2d) for p in m.parameters(recurse=False)]
    others = [p for p in model.parameters() if not any(p is norm for norm in norms)]
    return [{"params": norms, "weight_decay": 0.0}, {"params": others, "weight_decay": decay}]

def train_one_epoch(model, average, criterion, optimizer, loader, device, scaler, losses):
    model.train()
    for step, (image, target) in enumerate(loader):
        image, target = image.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.amp.autocast(device.type, enabled=scaler is not None):
            loss = criterion(model(image), target)
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        average.update_parameters(model)
        losses.append(loss.item())
    if torch.cuda.is_available():
        assert torch.cuda.max_memory_allocated() > 0
        torch.cuda.synchronize()

def evaluate(model, criterion, loader, device):
    model.eval()
    with torch.inference_mode():
        for image, target in loader:
            image, target = image.to(device, non_blocking=True), target.to(device, non_blocking=True)
            output = model(image)
            _, predicted = output.topk(5, 1, True, True)
            correct = predicted.t().eq(target[None])
            yield from (criterion(output, target).item(), correct[:1].flatten().sum(dtype=torch.float32).item())

args = arguments()
device = torch.device(args.device)
torch.manual_seed(0)
loaded = load_digits()
images = torch.from_numpy(loaded.images[:48]).float()[:, None].repeat(1, 3, 4, 4) / 16
dataset = torch.utils.data.TensorDataset(images, torch.from_numpy(loaded.target[:48]).long())
sampler = torch.utils.data.RandomSampler(dataset)
loader = torch.utils.data.DataLoader(dataset, batch_size=16, sampler=sampler, pin_memory=True)
model = get_model("mobilenet_v3_small", weights=None, num_classes=10, dropout=0.0)
model.to(device)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(parameters_of(model, 1e-4), lr=0.02, momentum=0.9, nesterov=True)
scaler = torch.amp.GradScaler(device.type) if args.amp else None
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=1)
main = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs - 1)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, main], milestones=[1])
average = torch.optim.swa_utils.AveragedModel(
    model, device=device, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
)
losses = []
for epoch in range(args.epochs):
    train_one_epoch(model, average, criterion, optimizer, loader, device, scaler, losses)
    scheduler.step()
losses += [*evaluate(model, criterion, loader, device), *evaluate(average, criterion, loader, device)]
with tempfile.NamedTemporaryFile() as file:
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "average": average}
    torch.save({name: part.state_dict() for name, part in parts.items()}, file.name)
    checkpoint = torch.load(file.name, map_location="cpu", weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(checkpoint[name])
train_one_epoch(model, average, criterion, optimizer, loader, device, scaler, losses)
print(json.dumps({"device": next(model.parameters()).device.type, "losses": losses}))
"""


DECODING = """
import json, torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
sizes = dict(vocab_size=97, hidden_size=64, intermediate_size=128, num_hidden_layers=2)
config = LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2, attn_implementation=ATTENTION)
tokens = torch.randint(0, 97, (2, 7)).to(DEVICE)
model = LlamaForCausalLM(config).eval().to(DEVICE)
call = CALL
cache, values = DynamicCache(config=config), []
with torch.no_grad():
    for _ in range(5):
        scores = call(input_ids=tokens, past_key_values=cache, use_cache=True).logits[:, -1]
        tokens = scores.argmax(-1, keepdim=True)
        values += [*tokens.flatten().tolist(), *scores.flatten().tolist()]
assert [layer.keys.shape[2] for layer in cache.layers] == [11, 11]
for layer in cache.layers:
    values += [*layer.keys.flatten().tolist(), *layer.values.flatten().tolist()]
print(json.dumps({"device": cache.layers[0].keys.device.type, "losses": values}))
"""

PLACED = """
import json, tempfile, torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
config = GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=100, n_positions=32, bos_token_id=0, eos_token_id=0)
tokens = torch.arange(5).view(1, 5)
with tempfile.TemporaryDirectory() as folder:
    GPT2LMHeadModel(config).save_pretrained(folder)
    model = GPT2LMHeadModel.from_pretrained(folder, device_map=MAP, max_memory=MEMORY)
parameter = next(model.parameters())
scores = model(tokens.to(parameter.device)).logits
print(json.dumps({"device": parameter.device.type, "losses": scores.flatten().tolist()}))
"""


def completed(
    backend: Any,
    program: str,
    tmp_path: Path,
    devices: int = 1,
    arguments: tuple[str, ...] = (),
    variables: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(program)
    environment = {
        "PYTHONPATH": os.pathsep.join(paths()),
        "DIOPI_SIM_DEVICES": str(devices),
        "HF_HUB_OFFLINE": "1",
        **(variables or {}),
    }
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=tmp_path,  # scripts save models
        env={**os.environ, **backend.environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def run(backend: Any, program: str, tmp_path: Path, *options: Any, **named: Any) -> tuple[str, list[float]]:
    """The type of the device and the losses that the program prints in its last line."""
    return printed(completed(backend, program, tmp_path, *options, **named))


def printed(done: subprocess.CompletedProcess[str]) -> tuple[str, list[float]]:
    result = json.loads(done.stdout.splitlines()[-1])
    return result["device"], result["losses"]


DECLARED = "import packaged_pictures\n"
"""Declares the operators of a torchvision whose wheel is for another torch."""


NAMED = {"ACCELERATE_TORCH_DEVICE": "droplet"}
"""Registers the name of a device with accelerate."""


def paths() -> list[str]:
    """Without that torchvision: libraries that find it would use it, whether it loads or not."""
    return [path for path in sys.path if path != str(APART)]


def need(name: str) -> None:
    if importlib.util.find_spec(name) is None and PathFinder.find_spec(name, [str(APART)]) is None:
        pytest.skip(f"{name} is not installed (make test-models)")


def close(precision: str) -> float:
    """Permitted relative difference of losses: bfloat16 has 8 bits."""
    return 1e-4 if precision in ("no", "32-true") else 1e-2


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_accelerate(precision: str, switch: bool, backend: Any, tmp_path: Path) -> None:
    need("accelerate")
    program = ACCELERATE.replace("PRECISION", repr(precision))
    if switch:
        device, losses = run(backend, f"import torch_droplet, diopi_torch.as_cuda\n{program}", tmp_path)
    else:
        device, losses = run(backend, f"import torch_droplet\n{program}", tmp_path, variables=NAMED)
    expected_device, expected = run(backend, program, tmp_path)
    assert (device, expected_device) == ("droplet", "cpu")
    assert losses == pytest.approx(expected, rel=close(precision)) and len(losses) == 4


@pytest.mark.parametrize("memory", ["None", "{0: 10**4, 1: 10**7}", "{'cpu': 10**7}"])
def test_weights_are_loaded_to_the_devices(memory: str, backend: Any, tmp_path: Path) -> None:
    """By `device_map="auto"`, within the memory of each."""
    need("transformers")
    need("accelerate")
    program = PLACED.replace("MEMORY", memory)
    device, scores = run(backend, "import torch_droplet\n" + program.replace("MAP", "'auto'"), tmp_path, 2)
    _, expected = run(backend, program.replace("MAP", "'cpu'").replace(memory, "None"), tmp_path)
    assert device == ("cpu" if "cpu" in memory else "droplet")
    assert scores == pytest.approx(expected, abs=1e-5)


def test_files_of_safetensors(backend: Any, tmp_path: Path) -> None:
    """Their library has a list of devices of its own: docs/pytorch.md has two lines instead."""
    need("safetensors")
    program = """
import json, safetensors, safetensors.torch, torch, torch_droplet
model = torch.nn.Linear(3, 2).to("droplet")
safetensors.torch.save_file(model.state_dict(), "model.safetensors")
expected = model.weight.sum().item()
torch.nn.init.zeros_(model.weight)
try:
    safetensors.torch.load_file("model.safetensors", device="droplet")
except safetensors.SafetensorError:
    weights = safetensors.torch.load_file("model.safetensors")
    model.load_state_dict({name: tensor.to("droplet") for name, tensor in weights.items()})
    print(json.dumps({"device": model.weight.device.type, "losses": [model.weight.sum().item(), expected]}))
"""
    device, (found, expected) = run(backend, program, tmp_path)
    assert device == "droplet" and found == expected != 0


@pytest.mark.parametrize(
    ("precision", "devices", "switch"),
    [("no", 1, True), ("bf16", 1, True), ("no", 2, True), ("no", 1, False), ("bf16", 1, False)],
)
def test_the_trainer_of_transformers(precision: str, devices: int, switch: bool, backend: Any, tmp_path: Path) -> None:
    need("transformers")
    need("accelerate")
    program = TRAINER.replace("PRECISION", repr(precision))
    own = program.replace("BATCH", str(4 // devices)).replace("USE_CPU", "False")
    package, variables = ("torch_droplet, diopi_torch.as_cuda", {}) if switch else ("torch_droplet", NAMED)
    device, losses = run(backend, f"import {package}\n{own}", tmp_path, devices, variables=variables)
    expected_device, expected = run(backend, program.replace("BATCH", "4").replace("USE_CPU", "True"), tmp_path)
    assert (device, expected_device) == ("droplet", "cpu")
    assert losses == pytest.approx(expected, rel=1e-3 if precision == "no" else 1e-2) and len(losses) == 4


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_llama_decodes_with_a_growing_cache(dynamic: bool | None, attention: str, backend: Any, tmp_path: Path) -> None:
    """Compiled, it gives the tokens, scores, keys and values of the CPU in eager mode."""
    need("transformers")
    program = DECODING.replace("ATTENTION", repr(attention))
    compiled = f"torch.compile(model, backend='diopi', dynamic={dynamic})"
    own = program.replace("DEVICE", "'droplet'").replace("CALL", compiled)
    device, values = run(backend, f"import torch_droplet\n{own}", tmp_path)
    expected_device, expected = run(backend, program.replace("DEVICE", "'cpu'").replace("CALL", "model"), tmp_path)
    assert (device, expected_device) == ("droplet", "cpu")
    assert values == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("accelerator", ["auto", "gpu"])
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_the_trainer_of_lightning(precision: str, accelerator: str, backend: Any, tmp_path: Path) -> None:
    need("pytorch_lightning")
    program = LIGHTNING.replace("PRECISION", repr(precision))
    own = program.replace("ACCELERATOR", repr(accelerator))
    device, losses = run(backend, f"import torch_droplet, diopi_torch.as_cuda\n{own}", tmp_path)
    expected_device, expected = run(backend, program.replace("ACCELERATOR", "'cpu'"), tmp_path)
    assert (device, expected_device) == ("droplet", "cpu")
    assert losses == pytest.approx(expected, rel=close(precision)) and len(losses) == 8


def test_lightning_without_the_switch_warns_that_it_selects_the_cpu(backend: Any, tmp_path: Path) -> None:
    """It has no way to name a device that it does not know."""
    need("pytorch_lightning")
    program = LIGHTNING.replace("PRECISION", "'32-true'")
    done = completed(backend, f"import torch_droplet\n{program.replace('ACCELERATOR', repr('auto'))}", tmp_path)
    device, losses = printed(done)
    assert device == "cpu" and len(losses) == 8
    fix = "import diopi_torch.as_cuda, or set DIOPI_AS_CUDA=1"
    assert f"Lightning does not know droplet and selects the CPU: {fix}" in done.stderr
    done = completed(backend, f"import torch_droplet\n{program.replace('ACCELERATOR', repr('cpu'))}", tmp_path)
    assert printed(done)[0] == "cpu" and "does not know droplet" not in done.stderr


def test_accelerate_without_a_name_warns_that_it_selects_the_cpu(backend: Any, tmp_path: Path) -> None:
    need("accelerate")
    program = f"import torch_droplet\n{ACCELERATE}".replace("PRECISION", "'no'")
    done = completed(backend, program, tmp_path)
    assert printed(done)[0] == "cpu"
    fix = "set ACCELERATE_TORCH_DEVICE=droplet, or import diopi_torch.as_cuda, or set DIOPI_AS_CUDA=1"
    assert f"accelerate does not know droplet and selects the CPU: {fix}" in done.stderr
    done = completed(backend, program.replace("Accelerator(", "Accelerator(cpu=True, "), tmp_path)
    assert printed(done)[0] == "cpu" and "does not know droplet" not in done.stderr


@pytest.mark.parametrize(("switch", "amp"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_script_in_the_form_of_torchvisions(switch: bool, amp: bool, backend: Any, tmp_path: Path) -> None:
    for name in ("sklearn", "torchvision"):
        need(name)
    found = {"PYTHONPATH": os.pathsep.join([*paths(), str(APART)])}
    wanted = ("--amp",) if amp else ()
    package, chosen = (
        ("torch_droplet, diopi_torch.as_cuda", ()) if switch else ("torch_droplet", ("--device", "droplet"))
    )
    program = f"import {package}\n{DECLARED}{REFERENCE}"
    device, losses = run(backend, program, tmp_path, arguments=(*chosen, *wanted), variables=found)
    expected_device, expected = run(
        backend, DECLARED + REFERENCE, tmp_path, arguments=("--device", "cpu", *wanted), variables=found
    )
    assert (device, expected_device) == ("droplet", "cpu") and len(losses) == len(expected)
    assert losses == pytest.approx(expected, rel=2e-2 if amp else 1e-3)
