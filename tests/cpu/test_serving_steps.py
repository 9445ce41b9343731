"""Serving as a sequence of calls: a batch is generated with caches, lengths and flags, and after every step all of them
are what the tokens so far say, computed from the first one on."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from cpu_library import CpuLibrary
from serving_decoder import LAYERS, VOCABULARY, Request, Server, Weights, forward, scores_of, selected
from test_random_values import philox_by_hand

REQUEST = Request(
    prompts=[[3, 7, 11, 2, 9], [5], [1, 4, 8, 8], [20, 21]],
    top_ks=[1, 6, 0, 1024],  # greedy; some; by mass alone; all
    top_ps=[0.0, 0.9, 0.8, 1.0],
    temperatures=[1.0, 0.8, 1.3, 1.0],
    penalties=[1.0, 1.2, 1.0, 1.5],
    bad_words=[[6], [8, 12], [0]],
    stop_words=[[], [], [], []],
    end_ids=[6, 6, 6, 6],  # which is banned
    limits=[99, 99, 99, 99],
    seeds=[11, 12, 13, 14],
    steps=12,
)  # fmt: skip


def number_of(seed: int, call: int) -> float:
    """The number that a sequence samples in a call: top-k and top-p sampling take four words each in every step."""
    words = philox_by_hand(seed, (0, 0, 4 * call, 0))
    return float(((words[1] << 32 | words[0]) >> 11) * 2.0**-53)


def expected_tokens(weights: Weights, request: Request) -> tuple[list[list[int]], list[int]]:
    """The tokens of all sequences with their prompts, and the position at which each ends, or the last one."""
    texts = [list(prompt) for prompt in request.prompts]
    ends = [request.longest + request.steps - 1] * len(texts)
    for b, text in enumerate(texts):
        for turn in range(request.steps):
            step = request.longest + turn
            scores = scores_of(request, b, forward(weights, text)[0], text)
            by_mass = not request.top_ks[b] and request.top_ps[b] > 0
            token, margin = selected(request, b, scores, number_of(request.seeds[b], 2 * turn + by_mass))
            assert request.top_ks[b] == 1 or margin > 1e-4, "the draw must not depend on roundings"
            text.append(token)
            history = request.by_position(b, text)
            stopped = any(history[-len(word) :] == word for word in request.stop_words[b])
            if token == request.end_ids[b] or stopped or step >= request.limits[b]:
                ends[b] = step
                break
    return texts, ends


def with_ends(weights: Weights) -> Request:
    """The request, with a stop word, an end token and a limit that its own tokens reach at different steps."""
    texts, _ = expected_tokens(weights, REQUEST)
    generated = [text[len(prompt) :] for text, prompt in zip(texts, REQUEST.prompts, strict=True)]
    # The last token of all is a stop word, too, for the sequence that ends last.
    stop_words = [[[VOCABULARY - 1, 1], generated[0][2:5]], [], [], [generated[3][-2:]]]
    return replace(REQUEST, stop_words=stop_words, end_ids=[6, generated[1][6], 6, 6], limits=[99, 99, 7, 99])


@pytest.mark.parametrize("ends", [False, True], ids=["to the last step", "until all have ended"])
def test_every_step_follows_from_the_tokens(cpu: CpuLibrary, ends: bool) -> None:
    weights = Weights.sample(5)
    request = with_ends(weights) if ends else REQUEST
    texts, last = expected_tokens(weights, request)
    if ends:
        assert len(set(last)) == 4 and min(last) > request.longest, "sequences end at different steps"
    server = Server(cpu, weights, request)
    np.testing.assert_array_equal(server.padding, [request.longest - len(prompt) for prompt in request.prompts])
    step = request.longest
    while step < request.longest + request.steps:
        held_before = server.keys.copy()
        if step == request.longest:
            server.prefill()
        else:
            server.decode(step)
        for b, text in enumerate(texts):
            prompt = len(request.prompts[b])
            runs = last[b] >= step
            tokens = text[: prompt + step - request.longest + 1] if runs else text
            # Tokens, flags and lengths.
            assert server.ids[step, b] == (tokens[-1] if runs else request.end_ids[b]), (step, b)
            assert server.finished[b] == (ends and last[b] <= step), (step, b)
            assert server.lengths[b] == len(tokens) - 1, (step, b)
            # Scores and caches: all tokens but the last have been read.
            if runs:
                logits, held = forward(weights, tokens[:-1])
                scores = scores_of(request, b, logits, tokens[:-1])
                np.testing.assert_allclose(server.logits[b, :VOCABULARY], scores, rtol=1e-4, atol=1e-4)
                assert (server.logits[b, VOCABULARY:] < -1e38).all()
                for layer in range(LAYERS):
                    for cache, expected in zip((server.keys, server.values), held[layer], strict=True):
                        own = cache[layer, b]
                        np.testing.assert_allclose(
                            own[:, : len(tokens) - 1], expected.swapaxes(0, 1), rtol=1e-4, atol=1e-4
                        )
                        assert np.isnan(own[:, len(tokens) - 1 :]).all(), "positions that are not reached yet"
            else:
                np.testing.assert_array_equal(server.keys[:, b], held_before[:, b])
        assert server.should_stop == all(server.finished)
        if server.should_stop:
            break
        step += 1
    final = min(step, request.longest + request.steps - 1)
    generated = [len(text) for text in texts]
    for text, found, length in zip(texts, server.texts(final), generated, strict=True):
        assert found[:length] == text
    assert server.should_stop == ends
    assert np.isfinite(server.cumulated).all() and (server.cumulated < 0).all()


def test_a_sequence_does_not_depend_on_the_others(cpu: CpuLibrary) -> None:
    """Neither on their prompts, which change its padding, nor on its index in the batch."""
    weights = Weights.sample(5)
    lists = [one.name for one in fields(Request) if one.name not in ("steps", "bad_words")]
    of_two: dict[str, Any] = {name: [getattr(REQUEST, name)[b] for b in (3, 1)] for name in lists}
    pair = replace(REQUEST, **of_two)
    tokens = []
    for request, batch in ((REQUEST, (3, 1)), (pair, (0, 1))):
        server = Server(cpu, weights, request)
        server.prefill()
        for step in range(request.longest + 1, request.longest + request.steps):
            server.decode(step)
        tokens.append([server.ids[request.longest :, b].tolist() for b in batch])
    assert tokens[0] == tokens[1]
