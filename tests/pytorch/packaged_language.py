"""Models of transformers for texts."""

from __future__ import annotations

from typing import Any

import transformers
from packaged_model import PackageModel, classified, loss_of, tokens

_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 64}
_FORWARD = {**_SMALL, "intermediate_size": 64}
_GROUPED = {**_FORWARD, "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0}
_STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_GENERATED = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}


def _decoder(name: str, config: str, model: str, **options: Any) -> PackageModel:
    def make() -> Any:
        return getattr(transformers, model)(getattr(transformers, config)(**options))

    return PackageModel("transformers", name, make, tokens(), loss_of, _GENERATED, _expert_by_expert)


def _expert_by_expert(network: Any) -> None:
    """PyTorch's product of groups has no float64."""
    if hasattr(network.config, "_experts_implementation"):
        network.config._experts_implementation = "eager"


def _classifier(name: str, config: str, model: str, **options: Any) -> PackageModel:
    def make() -> Any:
        return getattr(transformers, model)(getattr(transformers, config)(**options))

    return PackageModel("transformers", name, make, classified(), loss_of)


def _pair(name: str, config: str, model: str, **options: Any) -> PackageModel:
    """An encoder and a decoder."""

    def make() -> Any:
        return getattr(transformers, model)(getattr(transformers, config)(**options))

    return PackageModel("transformers", name, make, tokens(), loss_of, _GENERATED)


MODELS = (
    _decoder(
        "gpt2", "GPT2Config", "GPT2LMHeadModel", n_layer=2, n_head=4, n_embd=32, vocab_size=64, n_positions=64,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1,
    ),
    _decoder("llama", "LlamaConfig", "LlamaForCausalLM", **_GROUPED),
    _decoder("mistral", "MistralConfig", "MistralForCausalLM", sliding_window=8, **_GROUPED),
    _decoder("qwen2", "Qwen2Config", "Qwen2ForCausalLM", **_GROUPED),
    _decoder("qwen3", "Qwen3Config", "Qwen3ForCausalLM", head_dim=8, **_GROUPED),
    _decoder("gemma2", "Gemma2Config", "Gemma2ForCausalLM", head_dim=8, **_GROUPED),
    _decoder("phi3", "Phi3Config", "Phi3ForCausalLM", **_GROUPED),
    _decoder("mixtral", "MixtralConfig", "MixtralForCausalLM", num_local_experts=4, **_GROUPED),
    _decoder("olmo2", "Olmo2Config", "Olmo2ForCausalLM", **_GROUPED),
    _decoder(
        "gpt_neox", "GPTNeoXConfig", "GPTNeoXForCausalLM", max_position_embeddings=64, hidden_dropout=0.0,
        attention_dropout=0.0, **_FORWARD,
    ),
    _decoder("opt", "OPTConfig", "OPTForCausalLM", ffn_dim=64, word_embed_proj_dim=32, dropout=0.0, **_SMALL),
    _decoder(
        "mamba", "MambaConfig", "MambaForCausalLM", hidden_size=32, num_hidden_layers=2, vocab_size=64, state_size=8,
    ),
    _classifier("bert", "BertConfig", "BertForSequenceClassification", **_FORWARD, **_STILL),
    _classifier("roberta", "RobertaConfig", "RobertaForSequenceClassification", **_FORWARD, **_STILL),
    _classifier(
        "distilbert", "DistilBertConfig", "DistilBertForSequenceClassification", dim=32, n_layers=2, n_heads=4,
        hidden_dim=64, vocab_size=64, dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0,
    ),
    _classifier(
        "electra", "ElectraConfig", "ElectraForSequenceClassification", embedding_size=32, **_FORWARD, **_STILL,
    ),
    _classifier("deberta_v2", "DebertaV2Config", "DebertaV2ForSequenceClassification", **_FORWARD, **_STILL),
    _pair(
        "t5", "T5Config", "T5ForConditionalGeneration", d_model=32, d_ff=64, d_kv=8, num_layers=2, num_heads=4,
        vocab_size=64, dropout_rate=0.0, decoder_start_token_id=0,
    ),
    _pair(
        "bart", "BartConfig", "BartForConditionalGeneration", d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=64,
        dropout=0.0, max_position_embeddings=64, forced_eos_token_id=None,
    ),
)  # fmt: skip
