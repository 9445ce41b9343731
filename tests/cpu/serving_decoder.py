"""A small decoder that generates tokens for a batch: through functions of the library with caches and flags, and once
more in NumPy, every sequence from its first token on for every token, without any state but its tokens."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cpu_library import CpuLibrary

Array = np.ndarray[Any, Any]

LAYERS, HEADS, KV_HEADS, SIZE, INTER = 2, 4, 2, 4, 24
HIDDEN = HEADS * SIZE
VOCABULARY, PADDED = 29, 32
EPS, THETA = 1e-5, 100.0


@dataclass(frozen=True)
class Weights:
    """The parameters of the model, float32."""

    table: Array
    head: Array
    layers: list[dict[str, Array]]
    norm: Array

    @staticmethod
    def sample(seed: int) -> Weights:
        """Weights that tell tokens and positions apart."""
        source = np.random.default_rng(seed)

        def normal(*shape: int) -> Array:
            return np.asarray(source.normal(size=shape) / np.sqrt(shape[0]), np.float32)

        layers = [
            {
                "norm": (1 + 0.1 * source.normal(size=HIDDEN)).astype(np.float32),
                "qkv": 2 * normal(HIDDEN, (HEADS + 2 * KV_HEADS) * SIZE),
                "qkv_bias": normal((HEADS + 2 * KV_HEADS) * SIZE),
                "bias": normal(HIDDEN),
                "ffn_norm": (1 + 0.1 * source.normal(size=HIDDEN)).astype(np.float32),
                "gate": normal(HIDDEN, INTER),
                "down": normal(INTER, HIDDEN),
                "up": normal(HIDDEN, INTER),
            }
            for _ in range(LAYERS)
        ]
        table = source.normal(size=(VOCABULARY, HIDDEN)).astype(np.float32)
        return Weights(table, 2 * normal(HIDDEN, PADDED), layers, np.ones(HIDDEN, np.float32))


@dataclass(frozen=True)
class Request:
    """Parameters of the requests, one entry for each sequence."""

    prompts: list[list[int]]
    top_ks: list[int]
    top_ps: list[float]
    temperatures: list[float]
    penalties: list[float]
    bad_words: list[list[int]]
    stop_words: list[list[list[int]]]
    end_ids: list[int]
    limits: list[int]
    seeds: list[int]
    steps: int

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt."""
        return max(map(len, self.prompts))

    def by_position(self, b: int, tokens: list[int]) -> list[int]:
        """The tokens of a sequence with the padding of its prompt, which words are compared with like any token."""
        prompt = len(self.prompts[b])
        return tokens[:prompt] + [0] * (self.longest - prompt) + tokens[prompt:]


def word_list(words: list[list[int]], columns: int) -> Array:
    """Tokens joined, and the index behind the last token of each word."""
    found = np.full((2, columns), -1, np.int32)
    tokens = [token for word in words for token in word]
    found[0, : len(tokens)] = tokens
    found[1, : len(words)] = np.cumsum([len(word) for word in words])
    return found


@dataclass
class Server:
    """The state of a batch, as a server holds it, changed by functions of the library alone."""

    cpu: CpuLibrary
    weights: Weights
    request: Request
    ids: Array = field(init=False)
    keys: Array = field(init=False)
    values: Array = field(init=False)
    lengths: Array = field(init=False)
    padding: Array = field(init=False)
    finished: Array = field(init=False)
    cumulated: Array = field(init=False)
    logits: Array = field(init=False)
    should_stop: bool = False

    def __post_init__(self) -> None:
        request = self.request
        batch, room = len(request.prompts), request.longest + request.steps
        self.ids = np.zeros((room, batch), np.int32)
        for b, prompt in enumerate(request.prompts):
            self.ids[: len(prompt), b] = prompt
        # Caches in memory of which they fill a part, with what must not be read.
        whole = np.full((LAYERS, batch, KV_HEADS, room + 3, SIZE + 1), np.nan, np.float32)
        self.keys, self.values = whole[..., :room, :SIZE], whole.copy()[..., :room, :SIZE]
        self.prompt_lengths = np.array([len(prompt) for prompt in request.prompts], np.int32)
        self.lengths = self.prompt_lengths.copy()
        self.padding = np.zeros(batch, np.int32)
        self.finished = np.zeros(batch, bool)
        self.cumulated = np.zeros(batch, np.float32)
        self.generators = [self.cpu.generator(seed) for seed in request.seeds]
        self.top = self._set_up()
        self.cpu.call("diopiUpdatePaddingCount", self.padding, self.prompt_lengths, request.longest, batch)
        # Sampling counts the token that it draws; lengths are those of the caches.
        self.cpu.call("diopiPlusScalarInp", self.lengths, -1, batch)

    def _set_up(self) -> dict[str, Array]:
        request, batch = self.request, len(self.request.prompts)
        top = {}
        for name in ("k", "p"):
            top[f"{name}_ks"] = np.array(request.top_ks, np.int32)
            top[f"{name}_ps"] = np.array(request.top_ps, np.float32)
            top[f"{name}_skip"] = np.zeros(batch, bool)
        own = (top["k_ks"], top["k_ps"], top["k_skip"], batch, 0, batch, 0.0, batch)
        self.cpu.call("diopiSetupTopkRuntimeArgsInp", *own)
        floats = [np.zeros(batch, np.float32) for _ in range(3)]
        own = (top["p_ks"], top["p_ps"], top["p_skip"], batch, 0, batch, 0.0, batch)
        self.cpu.call(
            "diopiSetupToppRuntimeArgsInp",
            *own,
            floats[0],
            floats[1],
            1.0,
            floats[2],
            0.1,
            np.zeros(batch, np.int32),
            -1,
        )
        assert np.array_equal(floats[0], top["p_ps"])
        return top

    def _scratch(self, name: str, *values: Any) -> None:
        """Asks for the size of the scratch memory, at {}, provides it, and calls the function."""
        sizes = [ctypes.c_int64(-1) for value in values if value is MEMORY]
        waiting = iter(sizes)
        asked: list[Any] = []
        for value in values:
            asked.extend((None, next(waiting)) if value is MEMORY else (value,))
        self.cpu.call(name, *asked)
        assert all(size.value >= 0 for size in sizes)
        created = [(np.zeros(size.value // 4 + 1, np.float32), size) for size in sizes]
        provided = iter(created)
        operands: list[Any] = []
        for value in values:
            operands.extend(next(provided) if value is MEMORY else (value,))
        self.cpu.call(name, *operands)

    def _layers(self, x: Array, attend: Any) -> Array:
        """The hidden states after all layers; `attend(layer, x)` is the attention of one."""
        residual = x.copy()
        self.cpu.call("diopiRootMeanSquareNormInp", x, self.weights.layers[0]["norm"], EPS)
        for number, layer in enumerate(self.weights.layers):
            attend(number, x)
            own = (x, residual, layer["bias"], layer["ffn_norm"], EPS)
            self.cpu.call("diopiFusedAddRootMeanSquareNormInp", *own)
            self._scratch("diopiFusedSiluFfnInp", x, layer["gate"], layer["down"], layer["up"], MEMORY, 0)
            last = number + 1 == LAYERS
            scale = self.weights.norm if last else self.weights.layers[number + 1]["norm"]
            self.cpu.call("diopiFusedAddRootMeanSquareNormInp", x, residual, None, scale, EPS)
        return x

    def prefill(self) -> None:
        """Reads the prompts, each with its own length, and draws the first tokens."""
        hidden = np.zeros((len(self.request.prompts), HIDDEN), np.float32)
        for b, prompt in enumerate(self.request.prompts):
            count = len(prompt)
            x = np.zeros((count, HIDDEN), np.float32)
            tokens = np.array(prompt, np.int32)
            self.cpu.call("diopiInputIdsEmbeddingLookupPosEncoding", x, tokens, self.weights.table, count, HIDDEN)

            def attend(number: int, x: Array, b: int = b, count: int = count) -> None:
                layer, caches = self.weights.layers[number], (self.keys[:, b : b + 1], self.values[:, b : b + 1])
                room = self.keys.shape[3]
                self._scratch(
                    "diopiFusedContextAttentionInp", x, layer["qkv"], layer["qkv_bias"], MEMORY, number > 0, MEMORY, 0,
                    *caches, number, HEADS, KV_HEADS, SIZE, room, count, count, SIZE, THETA,
                )  # fmt: skip

            hidden[b] = self._layers(x, attend)[-1]
        self._draw(hidden, self.request.longest)

    def decode(self, step: int) -> None:
        """Reads the tokens at position step - 1 and draws those at step."""
        batch = len(self.request.prompts)
        x = np.zeros((batch, HIDDEN), np.float32)
        self.cpu.call("diopiEmbeddingLookupPosEncoding", x, self.weights.table, self.ids, batch, HIDDEN, step - 1)

        def attend(number: int, x: Array) -> None:
            layer = self.weights.layers[number]
            self._scratch(
                "diopiFusedDecoderAttentionInp", x, layer["qkv"], layer["qkv_bias"], MEMORY, 0, self.keys, self.values,
                self.finished, self.padding, self.lengths, step, number, HEADS, KV_HEADS, SIZE, self.keys.shape[3],
                SIZE, THETA,
            )  # fmt: skip

        self._draw(self._layers(x, attend), step)

    def _draw(self, hidden: Array, step: int) -> None:
        request, batch = self.request, len(self.request.prompts)
        self.logits = np.zeros((batch, PADDED), np.float32)
        self.cpu.call("diopiMm", self.logits, hidden, self.weights.head)
        temperatures = np.array(request.temperatures, np.float32)
        own = (self.logits, None, temperatures, batch, VOCABULARY, PADDED)
        self.cpu.call("diopiBatchApplyTemperaturePenaltyInp", *own)
        penalties = np.array(request.penalties, np.float32)
        self.cpu.call(
            "diopiBatchApplyRepetitionPenaltyInp", self.logits, penalties, self.ids, batch, PADDED, self.prompt_lengths,
            request.longest, step, 2,
        )  # fmt: skip
        bad = word_list(request.bad_words, 8)
        self.cpu.call("diopiBanBadWordsInp", self.logits, self.ids, bad, 0, 8, True, batch, PADDED, step)
        end_ids, logs = np.array(request.end_ids, np.int32), np.zeros(batch, np.float32)
        state = (end_ids, self.finished, self.lengths, step, batch, PADDED)
        results = (self.cumulated, logs, self.generators)
        top = self.top
        self._scratch(
            "diopiTopKSampling",
            self.ids,
            self.logits,
            MEMORY,
            0,
            *state,
            top["k_ks"],
            top["k_ps"],
            top["k_skip"],
            *results,
        )
        memory, size = np.zeros(1, np.int32), ctypes.c_int64(4)
        self._scratch(
            "diopiTopPSampling",
            self.ids,
            self.logits,
            memory,
            size,
            MEMORY,
            0,
            *state,
            top["p_ps"],
            top["p_skip"],
            *results,
        )
        stop = np.stack([word_list(words, 8) for words in request.stop_words])
        self.cpu.call("diopiStopWordsCriterion", self.ids, stop, self.finished, 0, 8, batch, step)
        should_stop, count, limits = np.zeros(1, bool), np.zeros(1, np.int32), np.array(request.limits, np.int32)
        self.cpu.call("diopiLengthCriterion", self.finished, should_stop, count, limits, batch, step)
        assert count[0] == self.finished.sum()
        self.should_stop = bool(should_stop[0])

    def texts(self, last: int) -> list[list[int]]:
        """The tokens of every sequence up to a position, prompts without padding."""
        batch = len(self.request.prompts)
        out = np.full((batch, last + 1), -1, np.int32)
        self.cpu.call(
            "diopiGatherOutput", out, self.ids, self.prompt_lengths, self.request.longest, last + 1, last + 1, batch
        )
        by_sequence = np.zeros((batch, self.ids.shape[0], 1), np.int32)
        own = (by_sequence, self.ids[:, :, None].copy(), self.ids.shape[0], batch, 1)
        self.cpu.call("diopiTransposeAxis01", *own)
        assert np.array_equal(by_sequence[:, :, 0], self.ids.T)
        return [row[row >= 0].tolist() for row in out]


MEMORY = object()


# ---- the same in NumPy, without state -------------------------------------------------------------------------------


def _normalised(x: Array, scale: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * scale)


def _rotated(x: Array) -> Array:
    """Heads [tokens, heads, size] rotated by their position, written with complex numbers."""
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    angles = np.arange(len(x))[:, None] * THETA ** (-2 * np.arange(SIZE // 2) / SIZE)
    rotated = pairs * np.exp(1j * angles)[:, None, :]
    return np.asarray(np.stack([rotated.real, rotated.imag], axis=-1).reshape(x.shape))


def forward(weights: Weights, tokens: list[int]) -> tuple[Array, list[tuple[Array, Array]]]:
    """The scores behind the last token, and keys and values [tokens, kv_heads, size] of each layer."""
    x = weights.table[tokens].astype(np.float64)
    held = []
    for layer in weights.layers:
        projected = _normalised(x, layer["norm"]) @ layer["qkv"].astype(np.float64) + layer["qkv_bias"]
        q, k, v = np.split(projected.reshape(len(tokens), -1, SIZE), [HEADS, HEADS + KV_HEADS], axis=1)
        q, k = _rotated(q), _rotated(k)
        held.append((k, v))
        keys, values = (np.repeat(one, HEADS // KV_HEADS, axis=1) for one in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, keys) / np.sqrt(SIZE)
        scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", shares, values).reshape(len(tokens), HIDDEN) + layer["bias"]
        hidden = _normalised(x, layer["ffn_norm"])
        gate = hidden @ layer["gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (hidden @ layer["up"])) @ layer["down"]
    return _normalised(x, weights.norm)[-1] @ weights.head, held


def scores_of(request: Request, b: int, logits: Array, tokens: list[int]) -> Array:
    """The scores that a sequence samples from, over the vocabulary without its padding."""
    scores = logits[:VOCABULARY] / (request.temperatures[b] + 1e-6)
    for token in set(tokens):
        penalty = request.penalties[b]
        scores[token] = scores[token] / penalty if scores[token] > 0 else scores[token] * penalty
    history = request.by_position(b, tokens)
    for word in request.bad_words:
        if word[-1] > 0 and (len(word) == 1 or history[-(len(word) - 1) :] == word[:-1]):
            scores[word[-1]] = -np.inf
    return scores


def selected(request: Request, b: int, scores: Array, number: float) -> tuple[int, float]:
    """The token that a number in [0, 1) draws, and how far it is from drawing another, of the mass."""
    top_k, top_p = request.top_ks[b], request.top_ps[b]
    count = (top_k or 1) if top_k or not top_p else len(scores)
    order = sorted(range(len(scores)), key=lambda token: (-scores[token], token))[:count]
    shares = np.exp(scores[order] - scores[order[0]])
    sums = np.cumsum(shares) / shares.sum()
    at = number * (top_p or 1.0)
    position = int(np.searchsorted(sums, at, side="right"))
    edges = np.concatenate([[0.0], sums[:-1]]) if position else sums[:-1]
    return order[position], float(np.abs(edges - at).min(initial=1.0))
