"""Generates tokens for a batch through the serving functions of the interface alone; scores come from diopiMm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from model import EPS, HEADS, HIDDEN, KV_HEADS, LAYERS, PADDED, SIZE, THETA, VOCABULARY, Array, Layer, Request, Weights

from diopigen.calling import Generator, Library


class Server:
    """The state of a batch: tokens, caches, lengths and flags. Functions of the library alone change it."""

    def __init__(self, library: Library, weights: Weights, request: Request) -> None:
        self.library, self.weights, self.request = library, weights, request
        self.called: set[str] = set()
        """The functions that were called."""
        batch, room = request.batch, request.longest + request.steps
        self.ids = np.zeros((room, batch), np.int32)
        for b, prompt in enumerate(request.prompts):
            self.ids[: len(prompt), b] = prompt
        self.keys = np.zeros((LAYERS, batch, KV_HEADS, room, SIZE), np.float32)
        self.values = np.zeros_like(self.keys)
        self.prompt_lengths = np.array([len(prompt) for prompt in request.prompts], np.int32)
        self.lengths = self.prompt_lengths.copy()
        self.padding = np.zeros(batch, np.int32)
        self.finished = np.zeros(batch, bool)
        self.generators = [Generator(seed) for seed in request.seeds]
        self.top_k, self.top_p = self._samplers()
        self._do(
            "UpdatePaddingCount", total_padding_count=self.padding, input_lengths=self.prompt_lengths,
            max_input_length=request.longest, batch_size=batch,
        )  # fmt: skip
        # Sampling counts the token that it draws; lengths are those of the caches.
        self._do("PlusScalarInp", inoutput=self.lengths, val=-1, size=batch)

    def generate(self) -> list[list[int]]:
        """The tokens of each sequence, prompt included, until all have ended or the steps are used up."""
        step, last = self.request.longest, self.request.longest + self.request.steps - 1
        stopped = self._draw(self._prefill(), step)
        while not stopped and step < last:
            step += 1
            stopped = self._draw(self._decode(step), step)
        return self._texts(step)

    def _do(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Calls a function and stores in the arrays of the caller what it wrote to them."""
        self.called.add(f"diopi{name}")
        found = self.library.call(f"diopi{name}", **arguments)
        for key, value in found.items():
            if isinstance(arguments.get(key), np.ndarray):
                arguments[key][...] = value
        return found

    def _with_memory(self, name: str, *memories: str, **arguments: Any) -> dict[str, Any]:
        """The same for a function that asks for scratch memory: the first call says how much."""
        sizes = {f"{memory}_size": -1 for memory in memories}
        asked = self._do(name, **arguments, **dict.fromkeys(memories), **sizes)
        sizes = {key: asked[key] for key in sizes}
        types = {"persistent_workspace": np.int32}
        memory = {one: np.zeros(sizes[f"{one}_size"] // 4 + 1, types.get(one, np.float32)) for one in memories}
        return self._do(name, **arguments, **memory, **sizes)

    def _samplers(self) -> tuple[dict[str, Array], dict[str, Array]]:
        request, batch = self.request, self.request.batch
        found = []
        for _ in range(2):
            ks, ps = np.array(request.top_ks, np.int32), np.array(request.top_ps, np.float32)
            found.append({"top_ks": ks, "top_ps": ps, "skip_decode": np.zeros(batch, bool)})
        sizes = {"batch_size": batch, "top_k": 0, "top_ks_size": batch, "top_p": 0.0, "top_ps_size": batch}
        self._do("SetupTopkRuntimeArgsInp", **found[0], **sizes)
        own = {name: np.zeros(batch, np.float32) for name in ("initial_top_p_buf", "top_p_decay_buf", "top_p_min_buf")}
        self._do(
            "SetupToppRuntimeArgsInp", **found[1], **sizes, **own, top_p_decay=1.0, top_p_min=0.1,
            top_p_reset_ids_buf=np.zeros(batch, np.int32), top_p_reset_ids=-1,
        )  # fmt: skip
        return found[0], found[1]

    def _layers(self, x: Array, attend: Callable[[int, Layer, Array], object]) -> Array:
        """The hidden states after all layers; `attend` replaces x by the attention of a layer."""
        layers, residual = self.weights.layers, x.copy()
        self._do("RootMeanSquareNormInp", inoutput=x, scale=layers[0].norm, eps=EPS)
        for number, layer in enumerate(layers):
            attend(number, layer, x)
            add = {"inoutput": x, "residual": residual, "eps": EPS}
            self._do("FusedAddRootMeanSquareNormInp", **add, bias=layer.bias, scale=layer.ffn_norm)
            ffn = {"weight1": layer.gate, "weight2": layer.down, "weight3": layer.up, "fusion_level": 0}
            self._with_memory("FusedSiluFfnInp", "workspace", inoutput=x, **ffn)
            scale = self.weights.norm if number + 1 == len(layers) else layers[number + 1].norm
            self._do("FusedAddRootMeanSquareNormInp", **add, bias=None, scale=scale)
        return x

    def _heads(self, number: int, layer: Layer) -> dict[str, Any]:
        return {
            "qkv_weight": layer.qkv, "qkv_bias": layer.qkv_bias, "fusion_level": 0, "layer_id": number,
            "local_head_num": HEADS, "local_kv_head_num": KV_HEADS, "size_per_head": SIZE,
            "max_seq_len": self.keys.shape[3], "rotary_embedding": SIZE, "rope_theta": THETA,
        }  # fmt: skip

    def _prefill(self) -> Array:
        """Reads the prompts, each with its own length, and returns the hidden states of their last tokens."""
        hidden = np.zeros((self.request.batch, HIDDEN), np.float32)
        for b, prompt in enumerate(self.request.prompts):
            count, keys, values = len(prompt), self.keys[:, b : b + 1].copy(), self.values[:, b : b + 1].copy()
            x = np.zeros((count, HIDDEN), np.float32)
            self._do(
                "InputIdsEmbeddingLookupPosEncoding", from_tensor=x, input_ids=np.array(prompt, np.int32),
                embedding_table=self.weights.table, input_lengths=count, hidden_units=HIDDEN,
            )  # fmt: skip
            caches = {"key_cache": keys, "value_cache": values, "max_q_len": count, "max_kv_len": count}

            def attend(number: int, layer: Layer, x: Array, caches: dict[str, Any] = caches) -> None:
                self._with_memory(
                    "FusedContextAttentionInp", "pre_work", "workspace", inoutput=x, is_prepared=number > 0, **caches,
                    **self._heads(number, layer),
                )  # fmt: skip

            hidden[b] = self._layers(x, attend)[-1]
            self.keys[:, b : b + 1], self.values[:, b : b + 1] = keys, values
        return hidden

    def _decode(self, step: int) -> Array:
        """Reads the tokens before position `step`; the hidden states of each sequence."""
        batch = self.request.batch
        x = np.zeros((batch, HIDDEN), np.float32)
        self._do(
            "EmbeddingLookupPosEncoding", from_tensor=x, embedding_table=self.weights.table, all_ids=self.ids,
            batch_size=batch, hidden_units=HIDDEN, step=step - 1,
        )  # fmt: skip

        def attend(number: int, layer: Layer, x: Array) -> None:
            self._with_memory(
                "FusedDecoderAttentionInp", "workspace", inoutput=x, key_cache=self.keys, value_cache=self.values,
                finished=self.finished, total_padding_tokens=self.padding, sequence_lengths=self.lengths,
                step=step, **self._heads(number, layer),
            )  # fmt: skip

        return self._layers(x, attend)

    def _draw(self, hidden: Array, step: int) -> bool:
        """Draws the tokens at position `step`; whether all sequences have ended."""
        request, batch = self.request, self.request.batch
        logits = np.zeros((batch, PADDED), np.float32)
        self._do("Mm", out=logits, input=hidden, mat2=self.weights.head)
        self._do(
            "BatchApplyTemperaturePenaltyInp", logits=logits, bias=None, batch_size=batch, vocab_size=VOCABULARY,
            temperatures=np.array(request.temperatures, np.float32), vocab_size_padd=PADDED,
        )  # fmt: skip
        self._do(
            "BatchApplyRepetitionPenaltyInp", logits=logits, penalties=np.array(request.penalties, np.float32),
            output_ids=self.ids, batch_size=batch, vocab_size=PADDED, input_lengths=self.prompt_lengths,
            max_input_length=request.longest, step=step, penalty_type=2,
        )  # fmt: skip
        bad = _joined(request.bad_words)
        self._do(
            "BanBadWordsInp", logits=logits, output_ids=self.ids, bad_words=bad, id_offset=0,
            bad_words_len=bad.shape[1], share_words=True, batch_size=batch, vocab_size=PADDED, step=step,
        )  # fmt: skip
        state = {
            "output_ids": self.ids, "logits": logits, "fusion_level": 0, "finished": self.finished, "step": step,
            "end_ids": np.array(request.end_ids, np.int32), "sequence_lengths": self.lengths, "batch_size": batch,
            "vocab_size_padded": PADDED, "generators": self.generators,
            "cum_log_probs": np.zeros(batch, np.float32), "output_log_probs": np.zeros(batch, np.float32),
        }  # fmt: skip
        k, p = self.top_k, self.top_p
        self._with_memory(
            "TopKSampling", "workspace", **state, runtime_top_k=k["top_ks"], runtime_top_p=k["top_ps"],
            skip_decode=k["skip_decode"],
        )  # fmt: skip
        self._with_memory(
            "TopPSampling", "persistent_workspace", "workspace", **state, runtime_top_p=p["top_ps"],
            skip_decode=p["skip_decode"],
        )  # fmt: skip
        stop = np.stack([_joined(words) for words in request.stop_words])
        self._do(
            "StopWordsCriterion", output_ids=self.ids, stop_words=stop, finished=self.finished, id_offset=0,
            stop_words_len=stop.shape[2], batch_size=batch, step=step,
        )  # fmt: skip
        should_stop = np.zeros(1, bool)
        self._do(
            "LengthCriterion", finished=self.finished, should_stop=should_stop, finished_sum=np.zeros(1, np.int32),
            sequence_limit_length=np.array(request.limits, np.int32), batch_size=batch, step=step,
        )  # fmt: skip
        return bool(should_stop[0])

    def _texts(self, last: int) -> list[list[int]]:
        """The tokens up to a position, one row to a sequence, without padding and what follows its end."""
        request, batch = self.request, self.request.batch
        by_sequence = np.zeros((batch, self.ids.shape[0], 1), np.int32)
        own = {"input": self.ids[:, :, None].copy(), "dim0": self.ids.shape[0], "dim1": batch, "dim2": 1}
        self._do("TransposeAxis01", output=by_sequence, **own)
        rows = np.full((batch, last + 1), -1, np.int32)
        self._do(
            "GatherOutput", output_ids=rows, ids=by_sequence[:, :, 0].T.copy(), context_length=self.prompt_lengths,
            max_context_len=request.longest, max_gen_step=last + 1, max_output_len=last + 1, batch_size=batch,
        )  # fmt: skip
        # The cache holds all tokens but the last; a sequence that has ended counts no further.
        return [row[: length + 1].tolist() for row, length in zip(rows, self.lengths, strict=True)]


def _joined(words: tuple[tuple[int, ...], ...], columns: int = 8) -> Array:
    """Tokens of all words, and below them the index behind the last token of each word; -1 fills up."""
    found = np.full((2, columns), -1, np.int32)
    tokens = [token for word in words for token in word]
    found[0, : len(tokens)] = tokens
    found[1, : len(words)] = np.cumsum([len(word) for word in words])
    return found
