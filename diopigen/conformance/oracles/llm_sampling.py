"""The oracles of masks and penalties of logits, and of the draw of the next token: request by request."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, Property, oracle

_SLACK = 1e-5
"""Error bound of sums of probabilities in float32: tokens so near to a limit may stay or go."""


def _probabilities(logits: Array) -> Array:
    weights = np.exp(logits - logits.max(initial=-np.inf))
    return np.asarray(weights / weights.sum())


def _masked(logits: Array, top_k: int, top_p: float, min_p: float) -> tuple[Array, Array]:
    """Masks of the tokens that stay, and of those so near to a limit that they may go or stay."""
    stays, is_near = np.ones(logits.shape, dtype=bool), np.zeros(logits.shape, dtype=bool)
    if 0 < top_k < len(logits):
        stays &= logits >= np.sort(logits)[-top_k]
    if min_p > 0:
        fraction = np.exp(logits - logits.max())
        is_near |= stays & (np.abs(fraction - min_p) < _SLACK) & (logits < logits.max())
        stays &= (fraction >= min_p) | (logits == logits.max())
    if top_p < 1:
        order = np.argsort(-np.where(stays, logits, -np.inf), kind="stable")
        p = _probabilities(np.where(stays, logits, -np.inf))[order]
        above = np.cumsum(p) - p
        keep = above < top_p
        keep[0] = True
        near = np.abs(above - top_p) < _SLACK
        near[0] = False
        is_near[order] |= near & stays[order]
        stays[order] &= keep
    return stays, is_near


@oracle("MaskLogitsInp")
def _mask_logits(call: Call) -> Answer:
    logits = call.wide("logits")
    values, free = logits.copy(), np.zeros(logits.shape, dtype=bool)
    for row, x in enumerate(logits):
        if not x.size:
            continue
        limits = [
            call[name][row] if call.has(name) else usual for name, usual in (("top_k", 0), ("top_p", 1), ("min_p", 0))
        ]
        stays, free[row] = _masked(x, int(limits[0]), float(limits[1]), float(limits[2]))
        values[row] = np.where(stays, x, -np.inf)
    return {"logits": Expected(values, free=free)}


@oracle("PenalizeLogitsInp")
def _penalize_logits(call: Call) -> Answer:
    logits = call.wide("logits")
    values, size = logits.copy(), np.abs(logits)
    for row, x in enumerate(logits):
        prompt, output = (
            np.bincount(tokens[(tokens >= 0) & (tokens < len(x))], minlength=len(x))
            for tokens in (np.asarray(call[name])[row].astype(np.int64) for name in ("prompt_tokens", "output_tokens"))
        )
        repetition, frequency, presence = (float(call[name][row]) for name in ("repetition", "frequency", "presence"))
        is_held = prompt + output > 0
        repeated = np.where(is_held, np.where(x > 0, x / repetition, x * repetition), x)
        values[row] = repeated - frequency * output - presence * (output > 0)
        size[row] = np.abs(repeated) + abs(frequency) * output + abs(presence) * (output > 0)
    return {"logits": Expected(values, size)}


@oracle("SampleTokens")
def _draw_tokens(call: Call) -> Answer:
    logits, uniforms = call.wide("logits"), call.wide("uniforms")

    def complaint(tokens: Array) -> str | None:
        for row, token in enumerate(tokens.tolist()):
            if not 0 <= token < logits.shape[1]:
                return f"token {token} of request {row} is outside of the vocabulary"
            p = _probabilities(logits[row])
            end = p[: token + 1].sum()
            if p[token] == 0 or not end - p[token] - _SLACK <= uniforms[row] <= end + _SLACK:
                part = f"[{end - p[token]}, {end})"
                return f"token {token} of request {row} has the part {part}, without {uniforms[row]}"
        return None

    return {"tokens": Property(complaint)}
