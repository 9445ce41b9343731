"""A 7B decoder as it is served: its prompt and its tokens by the fused layers with caches, and what chooses a token."""

from __future__ import annotations

import torch
from torch import Tensor

from diopigen.conformance.cases.aten_calls import Seen
from tracing.noted import filled, note
from tracing.recorder import Recorder

BATCH, PROMPT, ROOM = 4, 32, 64
"""Sequences, tokens of a prompt, positions that caches have room for."""
WIDTH, HEADS, HIDDEN, WORDS, LAYERS = 4096, 32, 11008, 32000, 32
TYPE = "float16"
REASON = "caches of 32 layers in the model; a call uses one of them"


def _empty(*shape: int) -> Seen:
    return filled(shape, "normal", TYPE)


def _scratch(name: str, size: int) -> dict[str, object]:
    return {name: _empty(size), f"{name}_size": 2 * size}


def _attention(tokens: int) -> dict[str, object]:
    cache = _empty(1, BATCH, HEADS, ROOM, WIDTH // HEADS)
    return {
        "inoutput": _empty(tokens, WIDTH),
        # products of 4096 terms: weights of a trained model keep their results near 1
        "qkv_weight": filled((WIDTH, 3 * WIDTH), "uniform(-0.03, 0.03)", TYPE),
        **_scratch("workspace", 1 << 24),
        "key_cache": cache,
        "value_cache": cache,
        "layer_id": 0,
        "local_head_num": HEADS,
        "local_kv_head_num": HEADS,
        "size_per_head": WIDTH // HEADS,
        "max_seq_len": ROOM,
        "rotary_embedding": WIDTH // HEADS,
    }


def _feed_forward(tokens: int) -> None:
    """The half of a layer behind its attention, and the normalisation in front of the next one."""
    hidden, scale = _empty(tokens, WIDTH), _empty(WIDTH)
    note("FusedAddRootMeanSquareNormInp", inoutput=hidden, residual=hidden, scale=scale, eps=1e-5)
    one = filled((WIDTH, HIDDEN), "uniform(-0.03, 0.03)", TYPE)
    two = filled((HIDDEN, WIDTH), "uniform(-0.03, 0.03)", TYPE)
    note("FusedSiluFfnInp", inoutput=hidden, weight1=one, weight2=two, weight3=one, **_scratch("workspace", 1 << 24))
    note("FusedAddRootMeanSquareNormInp", inoutput=hidden, residual=hidden, scale=scale, eps=1e-5)


def _prompts() -> None:
    tokens, table = BATCH * PROMPT, _empty(WORDS, WIDTH)
    words = filled((tokens,), f"integers(0, {WORDS})", "int64")
    numbers = {"input_lengths": tokens, "hidden_units": WIDTH}
    note("InputIdsEmbeddingLookupPosEncoding", input_ids=words, embedding_table=table, **numbers)
    note("RootMeanSquareNormInp", inoutput=_empty(tokens, WIDTH), scale=_empty(WIDTH), eps=1e-5)
    for layer in range(LAYERS):
        prepared = {**_scratch("pre_work", 1 << 20), "is_prepared": layer > 0}
        lengths = {"max_q_len": PROMPT, "max_kv_len": PROMPT}
        note("FusedContextAttentionInp", why=REASON, **_attention(tokens), **prepared, **lengths)
        _feed_forward(tokens)


LENGTHS = (32, 20, 27, 8)
"""Tokens of each prompt; the others of 32 positions are padding."""


def _decode(step: int) -> None:
    """One token for each sequence, up to the scores of the next one."""
    table = _empty(WORDS, WIDTH)
    ids = filled((ROOM, BATCH), f"integers(0, {WORDS})", "int64")
    note(
        "EmbeddingLookupPosEncoding",
        embedding_table=table,
        all_ids=ids,
        batch_size=BATCH,
        hidden_units=WIDTH,
        step=step,
    )
    note("RootMeanSquareNormInp", inoutput=_empty(BATCH, WIDTH), scale=_empty(WIDTH), eps=1e-5)
    padding = filled((BATCH,), tuple(PROMPT - length for length in LENGTHS), "int64")
    lengths = filled((BATCH,), tuple(step - PROMPT + length for length in LENGTHS), "int64")
    counts = {"total_padding_tokens": padding, "sequence_lengths": lengths, "step": step + 1}
    finished = filled((BATCH,), (False, False, True, False), "bool")
    for _ in range(LAYERS):
        note("FusedDecoderAttentionInp", why=REASON, **_attention(BATCH), **counts, finished=finished)
        _feed_forward(BATCH)


def _penalties(step: int, rows: int) -> None:
    logits, ids = _empty(rows, WORDS), filled((ROOM, rows), f"integers(0, {WORDS})", "int64")
    sizes = {"batch_size": rows, "vocab_size": WORDS}
    warm = filled((rows,), "uniform(0.5, 1.5)")
    note("BatchApplyTemperaturePenaltyInp", logits=logits, temperatures=warm, vocab_size_padd=WORDS, **sizes)
    note(
        "BatchApplyRepetitionPenaltyInp",
        logits=logits,
        penalties=filled((rows,), "uniform(1, 1.3)"),
        output_ids=ids,
        input_lengths=filled((rows,), tuple(LENGTHS[row * BATCH // rows] for row in range(rows)), "int64"),
        max_input_length=PROMPT,
        step=step,
        penalty_type=2,
        **sizes,
    )
    # two words that must not appear, of two tokens and of one
    banned = filled((2, 3), ((450, 4799, 2), (2, 3, -1)), "int64")
    note("BanBadWordsInp", logits=logits, output_ids=ids, bad_words=banned, bad_words_len=3, step=step, **sizes)


def _sample(step: int) -> None:
    """Top-k for some sequences and top-p for the others, and whether a sequence is over."""
    ids = filled((ROOM, BATCH), f"integers(0, {WORDS})", "int64")
    ends = filled((BATCH,), (2, 2, 2, 2), "int64")
    k, p = filled((BATCH,), (40, 0, 1, 0), "int64"), filled((BATCH,), (0.9, 0.8, 1.0, 0.95))
    state = {
        "end_ids": ends,
        "finished": filled((BATCH,), (False, False, True, False), "bool"),
        "sequence_lengths": filled((BATCH,), tuple(step - PROMPT + length for length in LENGTHS), "int64"),
        "step": step,
        "batch_size": BATCH,
        "vocab_size_padded": WORDS,
        "cum_log_probs": filled((BATCH,), "uniform(-60, 0)"),
    }
    # scores of a trained model: a few tokens have most of the probability
    logits = filled((BATCH, WORDS), "peaks(14)", TYPE)
    setup = {"top_ks": k, "top_ps": p, "batch_size": BATCH, "top_ks_size": BATCH, "top_ps_size": BATCH}
    note("SetupTopkRuntimeArgsInp", **setup)
    note("SetupToppRuntimeArgsInp", **setup)
    note(
        "TopKSampling",
        output_ids=ids,
        logits=logits,
        **_scratch("workspace", 1 << 20),
        runtime_top_k=filled((BATCH,), (40, 1, 1, 1), "int64"),
        runtime_top_p=p,
        skip_decode=filled((BATCH,), (False, True, False, True), "bool"),
        **state,
    )
    note(
        "TopPSampling",
        output_ids=ids,
        logits=logits,
        persistent_workspace=filled((1 << 18,), "zeros", "int64"),
        persistent_workspace_size=1 << 21,
        **_scratch("workspace", 1 << 20),
        runtime_top_p=p,
        skip_decode=filled((BATCH,), (True, False, True, False), "bool"),
        **state,
    )
    _ends(step, BATCH)


def _ends(step: int, rows: int) -> None:
    """Returns whether a stop word or the longest length ends a sequence, and what is counted for the next step."""
    ids = filled((ROOM, rows), f"integers(0, {WORDS})", "int64")
    finished = filled((rows,), (False, False, True, False) * (rows // BATCH), "bool")
    words = filled((rows, 2, 3), (((13, 13, 2), (2, 3, -1)),) * rows, "int64")
    note(
        "StopWordsCriterion",
        output_ids=ids,
        stop_words=words,
        finished=finished,
        stop_words_len=3,
        batch_size=rows,
        step=step,
    )
    limits = filled((rows,), tuple(PROMPT + 1 + row for row in range(rows)), "int64")
    note("LengthCriterion", finished=finished, sequence_limit_length=limits, batch_size=rows, step=step)
    lengths = filled((rows,), f"integers(0, {PROMPT})", "int64")
    note("PlusScalarInp", inoutput=lengths, val=1, size=rows)


def _beams(logits: Tensor, sums: Tensor, history: Tensor, cache: Tensor, parents: Tensor) -> None:
    """A step of beam search: the best continuations of all beams, whose histories and caches are moved along."""
    rows = logits.shape[0]
    beams = rows // BATCH
    _penalties(PROMPT, rows)
    scores = torch.log_softmax(logits.float(), -1) + sums
    _, positions = torch.topk(scores.view(BATCH, beams * WORDS), 2 * beams)
    torch.div(positions, WORDS, rounding_mode="floor")
    torch.remainder(positions, WORDS)
    torch.index_select(history, 1, parents)
    for _ in range(2):
        torch.index_select(cache, 1, parents)
    _ends(PROMPT, rows)


def served_7b(recorder: Recorder) -> None:
    """4 sequences, whose prompts are padded to 32 tokens."""
    hidden, words = (torch.empty(shape, dtype=torch.float16) for shape in ((BATCH, WIDTH), (WIDTH, WORDS)))
    logits, cache = (
        torch.empty(shape, dtype=torch.float16) for shape in ((16, WORDS), (1, 16, HEADS, ROOM, WIDTH // HEADS))
    )
    history, parents = torch.zeros(ROOM, 16, dtype=torch.int64), torch.zeros(16, dtype=torch.int64)
    sums = torch.empty(16, 1)
    with torch.no_grad():
        with recorder.during("prefill"):
            _prompts()
        with recorder.during("decode"):
            prompt = filled((BATCH,), LENGTHS, "int64")
            none = filled((BATCH,), "zeros", "int64")
            note(
                "UpdatePaddingCount",
                total_padding_count=none,
                input_lengths=prompt,
                max_input_length=PROMPT,
                batch_size=BATCH,
            )
            _decode(PROMPT)
            torch.mm(hidden, words)
        with recorder.during("sampling"):
            _penalties(PROMPT, BATCH)
            _sample(PROMPT)
        with recorder.during("beam"):
            _beams(logits, sums, history, cache, parents)
        with recorder.during("output"):
            ids = filled((ROOM, BATCH), f"integers(0, {WORDS})", "int64")
            note(
                "GatherOutput",
                ids=ids,
                context_length=prompt,
                max_context_len=PROMPT,
                max_gen_step=PROMPT + 1,
                max_output_len=ROOM,
                batch_size=BATCH,
            )
            rotated = filled((ROOM, BATCH, 1), f"integers(0, {WORDS})", "int64")
            note("TransposeAxis01", input=rotated, dim0=ROOM, dim1=BATCH, dim2=1)
