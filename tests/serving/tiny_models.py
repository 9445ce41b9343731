"""Tiny randomly initialised decoders, and the tokens that transformers generates with them on the CPU.

Weights are larger than those of an initialisation, so that the tokens vary. The best one leads by a margin that no
rounding of float32 reaches, which `greedy` asserts.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

transformers: Any = importlib.import_module("transformers")

SIZES: dict[str, Any] = {
    "vocab_size": 264,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": 256,
}
MARGIN = 1e-5
"""Smallest lead of the best logit over the second one: ten times the rounding of logits, which are near 1."""


def config(name: str) -> Any:
    """The configuration of a model by name."""
    match name:
        case "llama":
            return transformers.LlamaConfig(**SIZES)
        case "qwen3":
            return transformers.Qwen3Config(**SIZES, head_dim=16)
        case "qwen3_moe":
            experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True}
            return transformers.Qwen3MoeConfig(**SIZES, head_dim=16, **experts)
        case "gemma2":
            caps = {"attn_logit_softcapping": 20.0, "final_logit_softcapping": 15.0, "sliding_window": 8}
            sizes = {**SIZES, "tie_word_embeddings": True}  # vLLM knows no other
            return transformers.Gemma2Config(**sizes, head_dim=16, query_pre_attn_scalar=16, **caps)
        case "deepseek_v3":
            heads = {"qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "num_key_value_heads": 4}
            ranks = {"q_lora_rank": 24, "kv_lora_rank": 32}
            experts = {
                "n_routed_experts": 8,
                "num_experts_per_tok": 2,
                "n_shared_experts": 1,
                "moe_intermediate_size": 32,
            }
            groups = {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 1.5}
            gating = {"topk_method": "noaux_tc", "scoring_func": "sigmoid"}  # for vLLM, which knows others
            return transformers.DeepseekV3Config(**{**SIZES, **heads}, **ranks, **experts, **groups, **gating)
    raise ValueError(f"no model is called {name}")


def save(name: str, folder: Path) -> None:
    """Writes the weights of a model, float32, and its configuration."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config(name), torch_dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    model.save_pretrained(folder)


def load(folder: Path) -> Any:
    """The model of a folder, on the CPU in float32."""
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, torch_dtype=torch.float32, attn_implementation="eager"
    ).eval()


def greedy(model: Any, prompts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Greedy tokens of each prompt, computed without a cache."""
    results = []
    for prompt in prompts:
        tokens = list(prompt)
        for _ in range(count):
            with torch.no_grad():
                logits = model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
            best = logits.topk(2)
            assert best.values[0] - best.values[1] > MARGIN, f"the best tokens tie: {best.values.tolist()}"
            tokens.append(int(best.indices[0]))
        results.append(tokens[len(prompt) :])
    return results


def save_tokenizer(folder: Path) -> None:
    """Writes a tokenizer of bytes: tokens 0 to 255, and the end of a text, 256."""
    import tokenizers

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    model = tokenizers.models.BPE(vocab={letter: index for index, letter in enumerate(alphabet)}, merges=[])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    text = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    text.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    text.save_pretrained(folder)
