"""Checkpoints in the format of compressed-tensors, and models of transformers that compute what they mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import safetensors.torch
import tiny_models
import torch
from torch import Tensor

GROUP = 32
"""Weights that share a scale in W4A16."""


def linears(model: Any) -> Iterator[tuple[str, Any]]:
    """Layers that are quantized: all linear ones but the last."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            yield name, module


def save_w4a16(base: Path, folder: Path) -> Any:
    """Writes a model with weights of 4 bits in groups of 32, symmetric; returns the dequantized model."""
    model, tensors = _read(base)
    for name, module in linears(model):
        grouped = module.weight.data.unflatten(1, (-1, GROUP))
        scale = grouped.abs().amax(dim=-1) / 7
        values = torch.round(grouped / scale.unsqueeze(-1)).clamp(-8, 7)
        module.weight.data = (values * scale.unsqueeze(-1)).flatten(1)
        nibbles = (values.flatten(1).to(torch.int64) + 8).unflatten(1, (-1, 8))
        packed = (nibbles << torch.arange(0, 32, 4)).sum(dim=-1)
        del tensors[f"{name}.weight"]
        tensors[f"{name}.weight_packed"] = torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)
        tensors[f"{name}.weight_scale"] = scale
        tensors[f"{name}.weight_shape"] = torch.tensor(module.weight.shape)
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": GROUP}
    _write(base, folder, tensors, "pack-quantized", weights, None)
    return model


def save_w8a8(base: Path, folder: Path) -> Any:
    """Writes a model with weights of int8 by channel and activations of int8 by token; returns a model that rounds its
    activations."""
    model, tensors = _read(base)
    for name, module in linears(model):
        scale = module.weight.data.abs().amax(dim=1, keepdim=True) / 127
        values = torch.round(module.weight.data / scale).clamp(-128, 127)
        module.weight.data = values
        module.register_forward_pre_hook(_rounds)
        module.register_forward_hook(_scales(scale))
        tensors[f"{name}.weight"] = values.to(torch.int8)
        tensors[f"{name}.weight_scale"] = scale
    weights = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}
    activations = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True}
    _write(base, folder, tensors, "int-quantized", weights, activations)
    return model


def _rounds(module: Any, arguments: tuple[Tensor]) -> tuple[Tensor]:
    (x,) = arguments
    module.token_scale = x.abs().amax(dim=-1, keepdim=True) / 127
    return (torch.round(x / module.token_scale).clamp(-128, 127),)


def _scales(scale: Tensor) -> Any:
    return lambda module, _, output: output * module.token_scale * scale.flatten()


def _read(base: Path) -> tuple[Any, dict[str, Tensor]]:
    return tiny_models.load(base), safetensors.torch.load_file(base / "model.safetensors")


def _write(
    base: Path, folder: Path, tensors: dict[str, Tensor], form: str, weights: dict[str, Any], activations: Any
) -> None:
    folder.mkdir()
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    config = json.loads((base / "config.json").read_text())
    group = {"targets": ["Linear"], "weights": weights, "input_activations": activations}
    config["quantization_config"] = {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": group},
    }
    (folder / "config.json").write_text(json.dumps(config))


def save_lora(folder: Path, rank: int) -> dict[str, Tensor]:
    """Writes an adapter of the queries and values of the tiny Llama; returns what it adds to weights, by layer."""
    torch.manual_seed(1)
    sizes = tiny_models.SIZES
    head = sizes["hidden_size"] // sizes["num_attention_heads"]
    rows = {"q_proj": sizes["hidden_size"], "v_proj": head * sizes["num_key_value_heads"]}
    tensors, added = {}, {}
    for layer in range(sizes["num_hidden_layers"]):
        for name, count in rows.items():
            down, up = torch.randn(rank, sizes["hidden_size"]) / 4, torch.randn(count, rank) / 4
            path = f"model.layers.{layer}.self_attn.{name}"
            tensors[f"base_model.model.{path}.lora_A.weight"] = down
            tensors[f"base_model.model.{path}.lora_B.weight"] = up
            added[path] = up @ down
    folder.mkdir()
    safetensors.torch.save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": list(rows), "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return added
