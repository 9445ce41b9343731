"""The loss of connectionist temporal classification, over the states blank, class, blank, class, ..., blank."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def _targets(call: Call) -> list[list[int]]:
    """The classes that each sample must read as."""
    targets, lengths = call["targets"], [int(length) for length in call["target_lengths"]]
    if targets.ndim == 2:
        return [[int(label) for label in row[:length]] for row, length in zip(targets, lengths, strict=True)]
    ends = np.cumsum(lengths)
    return [[int(label) for label in targets[end - length : end]] for end, length in zip(ends, lengths, strict=True)]


def _states(target: list[int], blank: int) -> list[int]:
    """The class of each state."""
    found = [blank]
    for label in target:
        found += [label, blank]
    return found


def _forward(log_probs: Array, states: list[int]) -> Array:
    """The logarithm of the chance of being in a state after a step, [steps, states], for one sample."""
    steps = log_probs.shape[0]
    alpha = np.full((steps, len(states)), -np.inf, log_probs.dtype)
    for step in range(steps):
        for state, label in enumerate(states):
            if step == 0:
                before = 0.0 if state < 2 else -np.inf
            else:
                before = alpha[step - 1, state]
                if state > 0:
                    before = np.logaddexp(before, alpha[step - 1, state - 1])
                if state > 1 and states[state - 2] != label:
                    before = np.logaddexp(before, alpha[step - 1, state - 2])
            alpha[step, state] = before + log_probs[step, label]
    return alpha


def _loss(alpha: Array) -> Any:
    """Minus the logarithm of the chance of ending in one of the last two states; without steps only an empty target
    can be read."""
    if alpha.shape[0] == 0:
        return 0.0 if alpha.shape[1] == 1 else np.inf
    return -np.logaddexp.reduce(alpha[-1, -2:])


@oracle("CTCLoss")
def _ctc(call: Call) -> Answer:
    log_probs, targets = call.wide("log_probs"), _targets(call)
    steps, samples = log_probs.shape[:2]
    shape = (samples, steps, 2 * max(map(len, targets), default=0) + 1)
    alpha, losses = np.full(shape, -np.inf, log_probs.dtype), np.zeros(samples, log_probs.dtype)
    for sample, target in enumerate(targets):
        length = int(call["input_lengths"][sample])
        own = _forward(log_probs[:length, sample], _states(target, call["blank"]))
        alpha[sample, :length, : own.shape[1]] = own
        losses[sample] = _loss(own)
    answer: dict[str, Any] = {
        "log_alpha": Expected(alpha, 1 + np.abs(alpha)),
        "neg_log_likelihood": Expected(losses, 1 + np.abs(losses)),
    }
    retained = np.where(np.isinf(losses), 0.0, losses) if call["zero_infinity"] else losses
    if call["reduction"] == "ReductionMean":
        retained = retained / np.maximum([len(target) for target in targets], 1)
    total = {"ReductionNone": retained, "ReductionMean": retained.mean(), "ReductionSum": retained.sum()}[
        call["reduction"]
    ]
    answer["out"] = Expected(np.asarray(total), 1 + np.abs(total))
    return answer


@oracle("CTCLossBackward")
def _ctc_backward(call: Call) -> Answer:
    log_probs, targets = call.wide("log_probs"), _targets(call)
    samples = log_probs.shape[1]
    grad_output = np.broadcast_to(call.wide("grad_output"), (samples,))
    if call["reduction"] == "ReductionMean":
        grad_output = grad_output / (samples * np.maximum([len(target) for target in targets], 1))
    found, size = np.zeros_like(log_probs), np.zeros_like(log_probs)
    for sample, target in enumerate(targets):
        loss, length = call.wide("neg_log_likelihood")[sample], int(call["input_lengths"][sample])
        if call["zero_infinity"] and np.isinf(loss):
            continue
        states, own = _states(target, call["blank"]), log_probs[:length, sample]
        alpha = call.wide("log_alpha")[sample, :length, : len(states)]
        # Read backwards, a sequence has the same chances: beta is the forward variable of the reversed one.
        beta = _forward(own[::-1], states[::-1])[::-1, ::-1]
        visits = np.full(own.shape, -np.inf, own.dtype)
        for state, label in enumerate(states):
            visits[:, label] = np.logaddexp(visits[:, label], alpha[:, state] + beta[:, state])
        chance, share = np.exp(own), np.exp(visits + loss - own)
        found[:length, sample] = (chance - share) * grad_output[sample]
        size[:length, sample] = (chance + share * (1 + abs(loss))) * abs(grad_output[sample])
    return {"grad_input": Expected(found, size)}
