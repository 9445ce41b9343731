"""The bookkeeping of serving: which tokens a sequence holds, which words they complete, when it ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def _words(tokens: Array, ends: Array) -> Iterator[list[int]]:
    """The words of a list: tokens joined, and the index behind the last token of each word up to the first negative."""
    begin = 0
    for end in ends.tolist():
        if end < 0:
            return
        yield tokens[begin:end].tolist()
        begin = end


@oracle("BanBadWordsInp")
def _ban(call: Call) -> Answer:
    logits = call.wide("logits").copy()
    step, offset = int(call["step"]), int(call["id_offset"])
    for b in range(len(logits)):
        tokens, ends = call["bad_words"] if call["share_words"] else call["bad_words"][b]
        history = call["output_ids"][:step, offset + b].tolist()
        for word in _words(tokens, ends):
            before = word[:-1]
            completes = not before or history[-len(before) :] == before
            if completes and 0 < word[-1] < logits.shape[1]:
                logits[b, word[-1]] = -np.inf
    return {"logits": Expected(logits)}


@oracle("StopWordsCriterion")
def _stop(call: Call) -> Answer:
    finished = np.array(call["finished"])
    for b in range(len(finished)):
        history = call["output_ids"][: int(call["step"]) + 1, int(call["id_offset"]) + b].tolist()
        finished[b] |= any(history[-len(word) :] == word for word in _words(*call["stop_words"][b]))
    return {"finished": Expected(finished)}


@oracle("LengthCriterion")
def _length(call: Call) -> Answer:
    finished = call["finished"] | (int(call["step"]) >= call["sequence_limit_length"])
    count = np.asarray([int(finished.sum())])
    return {
        "finished": Expected(finished),
        "should_stop": Expected(count == len(finished)),
        "finished_sum": Expected(count),
    }


@oracle("GatherOutput")
def _gather(call: Call) -> Answer:
    found = np.array(call["output_ids"])
    longest, read = int(call["max_context_len"]), int(call["max_gen_step"])
    for b, length in enumerate(call["context_length"].tolist()):
        tokens = [token for at, token in enumerate(call["ids"][:read, b].tolist()) if not length <= at < longest]
        count = min(len(tokens), found.shape[1])
        found[b, :count] = tokens[:count]
    return {"output_ids": Expected(found)}


@oracle("TransposeAxis01")
def _transpose(call: Call) -> Answer:
    return {"output": Expected(np.swapaxes(call["input"], 0, 1))}


@oracle("EmbeddingLookupPosEncoding")
def _look_up_step(call: Call) -> Answer:
    tokens = call["all_ids"][int(call["step"])].astype(np.int64)
    return {"from_tensor": Expected(call["embedding_table"][tokens])}


@oracle("InputIdsEmbeddingLookupPosEncoding")
def _look_up(call: Call) -> Answer:
    return {"from_tensor": Expected(call["embedding_table"][call["input_ids"].astype(np.int64)])}


def _requested(call: Call) -> tuple[Array, Array]:
    """Parameters of each sequence: its own top_k and top_p, or the number for all."""
    shape = call.shapes["top_ks"]
    k = call["top_ks"].astype(np.int64) if int(call["top_ks_size"]) > 1 else np.full(shape, int(call["top_k"]))
    p = call.wide("top_ps") if int(call["top_ps_size"]) > 1 else np.full(shape, float(call["top_p"]))
    return np.where((k == 0) & (p == 0), 1, k), p


@oracle("SetupTopkRuntimeArgsInp")
def _set_up_top_k(call: Call) -> Answer:
    k, p = _requested(call)
    mass = np.where((k > 0) & (p == 0), 1, p)
    return {
        "top_ks": Expected(np.minimum(k, 1024)),
        "top_ps": Expected(np.clip(mass, 0, 1)),
        "skip_decode": Expected(k == 0),
    }


@oracle("SetupToppRuntimeArgsInp")
def _set_up_top_p(call: Call) -> Answer:
    k, p = _requested(call)
    decay, least = float(call["top_p_decay"]), float(call["top_p_min"])

    def for_all(value: float) -> Expected:
        return Expected(np.full(k.shape, value))

    return {
        "top_ks": Expected(k),
        "top_ps": Expected(np.clip(p, 0, 1)),
        "skip_decode": Expected(k > 0),
        "initial_top_p_buf": Expected(np.clip(p, 0, 1)),
        "top_p_decay_buf": for_all(decay if 0 < decay <= 1 else 1.0),
        "top_p_min_buf": for_all(least if 0 < least <= 1 else 0.5),
        "top_p_reset_ids_buf": Expected(np.full(k.shape, int(call["top_p_reset_ids"]))),
    }
