"""Models of transformers for pictures and sounds, and of peft."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from packaged_model import Batch, PackageModel, images, loss_of, tokens

_LAYERS = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip


def _model(config: str, model: str, **options: Any) -> Any:
    return getattr(transformers, model)(getattr(transformers, config)(**options))


def _vit() -> Any:
    return _model("ViTConfig", "ViTForImageClassification", num_labels=4, **_LAYERS)


def _dinov2() -> Any:
    return _model("Dinov2Config", "Dinov2ForImageClassification", num_labels=4, **_LAYERS)


def _convnext() -> Any:
    sizes = {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2, "num_labels": 4}
    return _model("ConvNextConfig", "ConvNextForImageClassification", **sizes)


def _clip() -> Any:
    text = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    every: Any = transformers  # some of its names are there on demand
    config = every.CLIPConfig(
        text_config={**text, "vocab_size": 64, "max_position_embeddings": 16, "eos_token_id": 1},
        vision_config=_LAYERS,
        projection_dim=16,
    )
    return every.CLIPModel(config)


def _pairs(generator: torch.Generator) -> Batch:
    pictures = images(name="pixel_values")(generator)
    return {**pictures, "input_ids": tokens()(generator)["input_ids"], "return_loss": True}


def _whisper() -> Any:
    return _model(
        "WhisperConfig", "WhisperForConditionalGeneration", d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=64,
        num_mel_bins=8, max_source_positions=16, max_target_positions=32, decoder_start_token_id=2, pad_token_id=0,
        bos_token_id=1, eos_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip


def _sounds(generator: torch.Generator) -> Batch:
    return {
        "input_features": torch.randn(2, 8, 32, generator=generator),
        "labels": torch.randint(2, 64, (2, 6), generator=generator),
    }


def _wav2vec2() -> Any:
    return _model(
        "Wav2Vec2Config", "Wav2Vec2ForCTC", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, vocab_size=16, conv_dim=[16, 16], conv_kernel=[8, 4], conv_stride=[4, 2],
        num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2, hidden_dropout=0.0, attention_dropout=0.0,
        activation_dropout=0.0, feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0, apply_spec_augment=False,
        ctc_loss_reduction="mean", ctc_zero_infinity=True,
    )  # fmt: skip


def _waves(generator: torch.Generator) -> Batch:
    return {
        "input_values": torch.randn(2, 400, generator=generator),
        "labels": torch.randint(1, 16, (2, 5), generator=generator),
    }


def _lora() -> Any:
    import peft

    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 32, "vocab_size": 64, "n_positions": 64}
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    base = _model("GPT2Config", "GPT2LMHeadModel", **sizes, **still, bos_token_id=1, eos_token_id=1)
    return peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))


def _adalora() -> Any:
    import peft

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    base = _model("LlamaConfig", "LlamaForCausalLM", vocab_size=64, num_key_value_heads=2, **sizes)
    config = peft.AdaLoraConfig(init_r=4, target_r=2, total_step=8, target_modules=["q_proj", "v_proj"])
    return peft.get_peft_model(base, config)


_GENERATED = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
MODELS = (
    PackageModel("transformers", "vit", _vit, images(name="pixel_values", labels=4), loss_of),
    PackageModel("transformers", "dinov2", _dinov2, images(name="pixel_values", labels=4), loss_of),
    PackageModel("transformers", "convnext", _convnext, images(name="pixel_values", labels=4), loss_of),
    PackageModel("transformers", "clip", _clip, _pairs, loss_of),
    PackageModel("transformers", "whisper", _whisper, _sounds, loss_of, {"max_new_tokens": 6}),
    PackageModel("transformers", "wav2vec2", _wav2vec2, _waves, loss_of),
    PackageModel("peft", "lora", _lora, tokens(), loss_of, _GENERATED),
    PackageModel("peft", "adalora", _adalora, tokens(), loss_of, _GENERATED),
)
