"""A step of decoding of vLLM's own models at their published sizes, on the meta device: what `vllm_diopi` calls.

Run by the Python of build/serving, with the libraries of a device, since vLLM builds its layers for one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any
from unittest import mock

import torch

from diopigen.conformance.cases.aten_calls import AtenCall, Seen
from tracing.recorder import Recorder

REQUESTS, KEYS, BLOCK = 8, 1024, 16
"""Requests of the step, keys of each one with the new one, positions of a block."""
LARGEST = 1 << 26
"""Elements of a matrix; larger ones are divided by rows, so that oracles need neither much memory nor time."""
TOGETHER = 2
"""Experts of a call."""


@dataclass(frozen=True)
class Decoder:
    """A model of vLLM: its name in the tables, what it is, its architecture, and its configuration."""

    name: str
    doc: str
    architecture: str
    config: dict[str, Any]


DECODERS = (
    Decoder(
        "vllm_llama8b",
        "Llama 3.1 8B",
        "LlamaForCausalLM",
        {
            "model_type": "llama",
            "vocab_size": 128256,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "rope_theta": 500000.0,
        },
    ),
    Decoder(
        "vllm_qwen3_moe",
        "Qwen3 30B-A3B, 128 experts, 8 of each token",
        "Qwen3MoeForCausalLM",
        {
            "model_type": "qwen3_moe",
            "vocab_size": 151936,
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
            "norm_topk_prob": True,
        },
    ),
    Decoder(
        "vllm_gemma2",
        "Gemma 2 9B, caps of scores and logits, a window of 4,096 in every other layer",
        "Gemma2ForCausalLM",
        {
            "model_type": "gemma2",
            "vocab_size": 256000,
            "hidden_size": 3584,
            "intermediate_size": 14336,
            "num_hidden_layers": 42,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 256,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
            "sliding_window": 4096,
            "tie_word_embeddings": True,
        },
    ),
    Decoder(
        "vllm_deepseek_v3",
        "DeepSeek V3, latent attention, 256 experts in 8 groups, 8 of each token, and a shared one",
        "DeepseekV3ForCausalLM",
        {
            "model_type": "deepseek_v3",
            "vocab_size": 129280,
            "hidden_size": 7168,
            "intermediate_size": 18432,
            "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "num_key_value_heads": 128,
            "q_lora_rank": 1536,
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "n_routed_experts": 256,
            "num_experts_per_tok": 8,
            "n_shared_experts": 1,
            "moe_intermediate_size": 2048,
            "n_group": 8,
            "topk_group": 4,
            "first_k_dense_replace": 3,
            "routed_scaling_factor": 2.5,
            "topk_method": "noaux_tc",
            "scoring_func": "sigmoid",
        },
    ),
)


def doc(decoder: Decoder) -> str:
    return (
        f"{decoder.doc}, in bfloat16 by vLLM: a greedy step of decoding of {REQUESTS} requests with {KEYS} keys each."
    )


def trace(decoder: Decoder, recorder: Recorder) -> None:
    """Records the step in the phase `decode`."""
    import transformers
    from vllm.config import set_current_vllm_config
    from vllm.engine.arg_utils import EngineArgs

    options = {**decoder.config, "architectures": [decoder.architecture], "max_position_embeddings": 8192}
    with tempfile.TemporaryDirectory() as folder:
        transformers.AutoConfig.for_model(**options).save_pretrained(folder)
        config = EngineArgs(
            model=folder,
            dtype="bfloat16",
            skip_tokenizer_init=True,
            max_model_len=2 * KEYS,
            max_num_seqs=REQUESTS,
            block_size=BLOCK,
            enforce_eager=True,
        ).create_engine_config()
    with set_current_vllm_config(config), torch.inference_mode():
        model = _model(config)
        _step(model, config, recorder)
    recorder.calls = [part for call in recorder.calls for part in _reduced(call)]


def _model(config: Any) -> Any:
    from vllm.distributed import destroy_model_parallel, init_distributed_environment, initialize_model_parallel
    from vllm.model_executor.model_loader.utils import initialize_model, process_weights_after_loading
    from vllm.plugins import load_general_plugins
    from vllm.utils.torch_utils import set_default_torch_dtype

    load_general_plugins()
    with torch.device("cpu"):
        if not torch.distributed.is_initialized():
            init_distributed_environment(1, 0, f"file://{tempfile.mkdtemp()}/store", 0, "gloo")
        destroy_model_parallel()  # groups of experts are made for models that have some
        initialize_model_parallel(1, 1)
    with set_default_torch_dtype(torch.bfloat16), torch.device("meta"):
        model = initialize_model(vllm_config=config)
        process_weights_after_loading(model, config.model_config, torch.device("meta"))
    return model


def _numbers(values: list[int], dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """A tensor on the meta device whose values the table has."""
    tensor = torch.empty(len(values), dtype=dtype, device="meta")
    tensor.values_of_table = tuple(values)  # type: ignore[attr-defined]  # for `seen`
    return tensor


def _step(model: Any, config: Any, recorder: Recorder) -> None:
    from vllm.forward_context import set_forward_context
    from vllm_diopi.latent_attention import DiopiLatentMetadata

    from vllm_diopi import functions
    from vllm_diopi import layers as plugin

    layers = config.compilation_config.static_forward_context
    _open(layers.values())
    attention = {name: layer for name, layer in layers.items() if hasattr(layer, "kv_cache")}
    blocks = REQUESTS * KEYS // BLOCK
    for layer in attention.values():
        is_latent = hasattr(layer, "kv_lora_rank")
        shape = (
            (blocks, BLOCK, layer.head_size) if is_latent else (blocks, layer.num_kv_heads, BLOCK, 2 * layer.head_size)
        )
        layer.kv_cache = torch.empty(shape, dtype=torch.bfloat16, device="meta")
    batch = DiopiLatentMetadata(
        num_tokens=REQUESTS,
        query_start_loc=_numbers([*range(REQUESTS + 1)]),
        seq_lens=_numbers([KEYS] * REQUESTS),
        block_table=torch.empty(REQUESTS, KEYS // BLOCK, dtype=torch.int32, device="meta"),
        is_causal=True,
        num_decodes=REQUESTS,
    )
    slots = _numbers([*accumulate([KEYS] * REQUESTS, initial=-1)][1:], torch.int64)
    tokens = torch.empty(REQUESTS, dtype=torch.int64, device="meta")
    positions = _numbers([KEYS - 1] * REQUESTS, torch.int64)
    described = {"num_tokens": REQUESTS, "slot_mapping": dict.fromkeys(attention, slots)}
    with (
        set_forward_context(dict.fromkeys(attention, batch), config, **described),
        mock.patch("vllm._custom_ops.topk_softmax", plugin.topk_softmax),
        recorder.during("decode"),
    ):
        functions.compute_slot_mapping(batch.query_start_loc, positions, batch.block_table, BLOCK)
        logits = model.compute_logits(model(tokens, positions))
        logits.argmax(-1)


def _open(layers: Iterable[Any]) -> None:
    """Has layers call their functions, in place of operators of vLLM's that a recorder cannot look into."""
    from vllm.model_executor.layers.fused_moe.runner import moe_runner

    for layer in layers:
        layer.use_direct_call = True
        if hasattr(layer, "_forward_entry"):
            has_shared = layer._shared_experts is not None
            layer._forward_entry = moe_runner._moe_forward_shared if has_shared else moe_runner._moe_forward


def _reduced(call: AtenCall) -> Iterator[AtenCall]:
    """The call, or several smaller ones that read as many bytes of weights together."""
    arguments = call.arguments
    weight = arguments.get("weight")
    if call.overload == "diopi::fused_experts":
        selected, (matrices, *sizes) = arguments["experts"].shape[1], arguments["gate_up_weight"].shape
        why = f"{REQUESTS} tokens and {matrices} experts in the model; a call has a token and {TOGETHER} of its experts"
        one = {
            "input": replace(arguments["input"], shape=(1, sizes[1])),
            "gate_up_weight": replace(arguments["gate_up_weight"], shape=(TOGETHER, *sizes)),
            "down_weight": replace(arguments["down_weight"], shape=(TOGETHER, sizes[1], sizes[0] // 2)),
            "weights": Seen((1, TOGETHER), "float32"),
            "experts": replace(arguments["experts"], shape=(1, TOGETHER), values=(tuple(range(TOGETHER)),)),
        }
        part = replace(call, arguments={**arguments, **one}, results=(one["input"],), why=why)
        yield from [part] * (REQUESTS * selected // TOGETHER)
    elif isinstance(weight, Seen) and weight.shape[0] * weight.shape[-1] > LARGEST:
        rows, columns = weight.shape
        parts = next(n for n in range(2, rows) if rows % n == 0 and rows // n * columns <= LARGEST)
        cut = {**arguments, "weight": replace(weight, shape=(rows // parts, columns))}
        if call.overload == "embedding":
            yield replace(call, arguments=cut, why=f"a table of {rows} rows in the model")
        else:
            results = (replace(call.results[0], shape=(*call.results[0].shape[:-1], rows // parts)),)
            why = f"{rows} columns in the model; a call has {rows // parts}"
            yield from [replace(call, arguments=cut, results=results, why=why)] * parts
    else:
        yield call
