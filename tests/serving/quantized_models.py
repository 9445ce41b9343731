"""Checkpoints in the formats of compressed-tensors, fp8, GPTQ and AWQ, and models of transformers that compute the
same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import tiny_models
import torch
from torch import Tensor

GROUP = 32
"""Weights that share a scale in W4A16, GPTQ and AWQ, and the side of a block of float8."""
FLOAT8 = torch.finfo(torch.float8_e4m3fn)
FUSED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
"""Layers that vLLM computes as one."""
INPUT_SCALE = 0.01
"""Scale of all activations that is written into a checkpoint."""


def linears(model: Any) -> Iterator[tuple[str, Any]]:
    """Layers that are quantized: all linear ones but the last."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            yield name, module


def experts(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Weights of experts, by the names of their layers in a checkpoint."""
    for number, layer in enumerate(model.model.layers):
        if not hasattr(layer.mlp, "experts"):
            return
        gates, down = layer.mlp.experts.gate_up_proj.data, layer.mlp.experts.down_proj.data
        for expert in range(len(down)):
            gate, up = gates[expert].chunk(2)
            for name, matrix in {"gate_proj": gate, "up_proj": up, "down_proj": down[expert]}.items():
                yield f"model.layers.{number}.mlp.experts.{expert}.{name}", matrix


def weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Weights that are quantized: those of linear layers and of experts."""
    yield from ((name, module.weight.data) for name, module in linears(model))
    yield from experts(model)


def save_w4a16(base: Path, folder: Path, bits: int = 4) -> Any:
    """Writes a model with weights of 4 bits in groups of 32, symmetric; returns the dequantized model."""
    model, tensors = _read(base)
    half = 1 << (bits - 1)
    for name, weight in weights(model):
        grouped = weight.unflatten(1, (-1, GROUP))
        scale = grouped.abs().amax(dim=-1) / (half - 1)
        values = torch.round(grouped / scale.unsqueeze(-1)).clamp(-half, half - 1)
        weight.copy_((values * scale.unsqueeze(-1)).flatten(1))
        del tensors[f"{name}.weight"]
        tensors[f"{name}.weight_packed"] = _packed(values.flatten(1).to(torch.int64) + half, bits)
        tensors[f"{name}.weight_scale"] = scale
        tensors[f"{name}.weight_shape"] = torch.tensor(weight.shape)
    form = {"num_bits": bits, "type": "int", "symmetric": True, "strategy": "group", "group_size": GROUP}
    _write(base, folder, tensors, "pack-quantized", form, None, ["lm_head", "re:.*mlp.gate$"])
    return model


def save_w8a16(base: Path, folder: Path) -> Any:
    """The same with weights of 8 bits."""
    return save_w4a16(base, folder, 8)


def save_w4a16_zeros(base: Path, folder: Path) -> Any:
    """Writes a model whose experts have weights of 4 bits in groups of 32 with zeros; returns the dequantized model."""
    model, tensors = _read(base)
    for name, weight in experts(model):
        levels, zeros, scale = _leveled(weight)
        del tensors[f"{name}.weight"]
        tensors[f"{name}.weight_packed"] = _packed(levels.T)
        tensors[f"{name}.weight_scale"] = scale.T.contiguous()
        tensors[f"{name}.weight_zero_point"] = _packed(zeros).T.contiguous()
        tensors[f"{name}.weight_shape"] = torch.tensor(weight.shape)
    form = {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "group", "group_size": GROUP}
    ignored = [name for name, _ in linears(model)]
    _write(base, folder, tensors, "pack-quantized", form, None, [*ignored, "lm_head", "re:.*mlp.gate$"])
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


def save_float8(base: Path, folder: Path, strategy: str) -> Any:
    """Writes a model with weights of float8 with a scale of each "tensor", "channel" or "block" of 32 by 32; returns a
    model that rounds its activations: with a scale of each token, or of 32 features of a token where weights have
    blocks. Layers that vLLM computes as one have one scale of a tensor."""
    model, tensors = _read(base)
    largest = _largest_weights(model)
    for name, module in linears(model):
        rows, columns = module.weight.shape
        tile = {"tensor": (rows, columns), "channel": (1, columns), "block": (GROUP, GROUP)}[strategy]
        tiles = module.weight.data.unflatten(1, (-1, tile[1])).unflatten(0, (-1, tile[0]))
        size = tiles.abs().amax(dim=(1, 3), keepdim=True) if strategy != "tensor" else largest[name].view(1, 1, 1, 1)
        scale = size / FLOAT8.max
        values = (tiles / scale).to(torch.float8_e4m3fn)
        module.weight.data = (values.float() * scale).flatten(2).flatten(0, 1)
        module.register_forward_pre_hook(_rounds_to_float8(GROUP if strategy == "block" else columns))
        tensors[f"{name}.weight"] = values.flatten(2).flatten(0, 1)
        tensors[f"{name}.weight_scale"] = scale.flatten() if strategy == "tensor" else scale.flatten(1)
    common = {"num_bits": 8, "type": "float", "symmetric": True}
    weights = {**common, "strategy": strategy, **({"block_structure": [GROUP, GROUP]} if strategy == "block" else {})}
    activations = {**common, "dynamic": True, "strategy": "token"}
    if strategy == "block":
        activations |= {"strategy": "group", "group_size": GROUP}
    _write(base, folder, tensors, "float-quantized", weights, activations)
    return model


def save_static_float8(base: Path, folder: Path) -> Any:
    """Writes a model with weights and activations of float8 with a known scale of each tensor; returns a model that
    rounds its activations."""
    model, tensors = _read(base)
    largest = _largest_weights(model)
    for name, module in linears(model):
        scale = largest[name] / FLOAT8.max
        values = (module.weight.data / scale).to(torch.float8_e4m3fn)
        module.weight.data = values.float() * scale
        module.register_forward_pre_hook(_rounds_to_float8(0))
        tensors[f"{name}.weight"] = values
        tensors[f"{name}.weight_scale"] = scale
        tensors[f"{name}.input_scale"] = torch.tensor(INPUT_SCALE)
    _write_config(base, folder, tensors, {"quant_method": "fp8", "activation_scheme": "static"})
    return model


def save_float8_experts(base: Path, folder: Path, strategy: str) -> Any:
    """Writes a model whose experts have weights of float8 with a scale of each matrix ("tensor"), "channel" or "block"
    of 32 by 32: those of channels as compressed-tensors, the others as fp8. Returns the dequantized model."""
    model, tensors = _read(base)
    skipped = [name for name, _ in linears(model)]
    skipped += [f"model.layers.{layer}.mlp.gate" for layer in range(len(model.model.layers))]
    for path, matrix in experts(model):
        rows, columns = matrix.shape
        side = {"tensor": (rows, columns), "channel": (1, columns), "block": (GROUP, GROUP)}[strategy]
        tiles = matrix.unflatten(1, (-1, side[1])).unflatten(0, (-1, side[0]))
        scale = tiles.abs().amax(dim=(1, 3), keepdim=True) / FLOAT8.max
        values = (tiles / scale).to(torch.float8_e4m3fn)
        matrix.copy_((values.float() * scale).flatten(2).flatten(0, 1))
        tensors[f"{path}.weight"] = values.flatten(2).flatten(0, 1)
        suffix = "weight_scale_inv" if strategy == "block" else "weight_scale"
        tensors[f"{path}.{suffix}"] = scale.flatten() if strategy == "tensor" else scale.flatten(1)
    if strategy == "channel":
        weights = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel"}
        activations = {**weights, "strategy": "token", "dynamic": True}
        _write(base, folder, tensors, "float-quantized", weights, activations, [*skipped, "lm_head"])
        return model
    config = {"quant_method": "fp8", "activation_scheme": "dynamic", "modules_to_not_convert": skipped}
    _write_config(
        base, folder, tensors, {**config, **({"weight_block_size": [GROUP] * 2} if strategy == "block" else {})}
    )
    return model


def save_cache_scales(folder: Path) -> list[tuple[float, float]]:
    """Adds scales of the caches of keys and values to a checkpoint of fp8; returns those of each layer."""
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    scales = [(0.03125 * (layer + 1), 0.0625 / (layer + 1)) for layer in range(tiny_models.SIZES["num_hidden_layers"])]
    for layer, values in enumerate(scales):
        for name, scale in zip(("k_scale", "v_scale"), values, strict=True):
            tensors[f"model.layers.{layer}.self_attn.{name}"] = torch.tensor(scale)
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    return scales


def _largest_weights(model: Any) -> dict[str, Tensor]:
    """The largest weight of each layer, and of those that vLLM computes as one, by name."""
    sizes = {name: module.weight.data.abs().max() for name, module in linears(model)}
    groups = {name: next((group for group in FUSED if name.rpartition(".")[2] in group), ()) for name in sizes}
    return {
        name: max([sizes[name], *(sizes[f"{name.rpartition('.')[0]}.{one}"] for one in group)])
        for name, group in groups.items()
    }


def save_gptq(base: Path, folder: Path) -> Any:
    """Writes a model with weights of 4 bits as GPTQ stores them, in groups of 32 with zeros; returns the dequantized
    model."""
    model, tensors = _read(base)
    for name, weight in weights(model):
        levels, zeros, scale = _leveled(weight)
        del tensors[f"{name}.weight"]
        tensors[f"{name}.qweight"] = _packed(levels.T).T.contiguous()
        tensors[f"{name}.qzeros"] = _packed(zeros - 1)
        tensors[f"{name}.scales"] = scale
    config = {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False, "sym": False}
    _write_config(base, folder, tensors, {**config, "dynamic": {r"-:.*mlp\.gate$": {}}})
    return model


def save_awq(base: Path, folder: Path) -> Any:
    """Writes a model with weights of 4 bits as AWQ stores them, in groups of 32 with zeros; returns the dequantized
    model."""
    model, tensors = _read(base)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    for name, weight in weights(model):
        levels, zeros, scale = _leveled(weight)
        del tensors[f"{name}.weight"]
        tensors[f"{name}.qweight"] = _packed(levels, order=order)
        tensors[f"{name}.qzeros"] = _packed(zeros, order=order)
        tensors[f"{name}.scales"] = scale
    config = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}
    skipped = {"modules_to_not_convert": ["mlp.gate"]} if next(experts(model), None) else {}
    _write_config(base, folder, tensors, {**config, **skipped})
    return model


def _leveled(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rounds a weight to levels from 0 to 15 with a zero and a scale for each group; returns the levels [depth,
    columns], and the zeros, of which none is 0, and scales [groups, columns]."""
    grouped = weight.T.unflatten(0, (-1, GROUP))
    lowest, highest = grouped.amin(dim=1).clamp(max=0), grouped.amax(dim=1).clamp(min=0)
    scale = (highest - lowest) / 14
    zeros = torch.round(-lowest / scale).clamp(1, 15)
    levels = (torch.round(grouped / scale[:, None]) + zeros[:, None]).clamp(0, 15)
    weight.copy_(((levels - zeros[:, None]) * scale[:, None]).flatten(0, 1).T)
    return levels.flatten(0, 1).to(torch.int64), zeros.to(torch.int64), scale


def _packed(levels: Tensor, bits: int = 4, order: Sequence[int] = ()) -> Tensor:
    """Words of the levels of the last dimension; `order` has the number of the level in each field, the lowest bits
    first; without it they are in their order."""
    fields = levels.unflatten(-1, (-1, 32 // bits))[..., list(order) or list(range(32 // bits))]
    words = (fields << torch.arange(0, 32, bits)).sum(dim=-1)
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)


def _rounds_to_float8(group: int) -> Any:
    """A hook that rounds activations to float8 with a scale for each group of a token; with a known one for 0."""

    def rounds(module: Any, arguments: tuple[Tensor]) -> tuple[Tensor]:
        groups = arguments[0].unflatten(-1, (-1, group or arguments[0].shape[-1]))
        scale = groups.abs().amax(dim=-1, keepdim=True) / FLOAT8.max if group else torch.tensor(INPUT_SCALE)
        levels = (groups / scale).clamp(-FLOAT8.max, FLOAT8.max).to(torch.float8_e4m3fn)
        return ((levels.float() * scale).flatten(-2),)

    return rounds


def _rounds(module: Any, arguments: tuple[Tensor]) -> tuple[Tensor]:
    (x,) = arguments
    module.token_scale = x.abs().amax(dim=-1, keepdim=True) / 127
    return (torch.round(x / module.token_scale).clamp(-128, 127),)


def _scales(scale: Tensor) -> Any:
    return lambda module, _, output: output * module.token_scale * scale.flatten()


def _read(base: Path) -> tuple[Any, dict[str, Tensor]]:
    return tiny_models.load(base), safetensors.torch.load_file(base / "model.safetensors")


def _write(
    base: Path,
    folder: Path,
    tensors: dict[str, Tensor],
    form: str,
    weights: dict[str, Any],
    activations: Any,
    ignored: Sequence[str] = ("lm_head",),
) -> None:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": activations}
    config = {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "ignore": [*ignored],
        "config_groups": {"group_0": group},
    }
    _write_config(base, folder, tensors, config)


def _write_config(base: Path, folder: Path, tensors: dict[str, Tensor], quantization: dict[str, Any]) -> None:
    folder.mkdir()
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    config = json.loads((base / "config.json").read_text())
    config["quantization_config"] = quantization
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
