"""The oracles of top-k and top-p sampling: which tokens they accept against transformers' warpers, and that samples of
the distribution pass while others of nearly the same do not. The warpers are those of transformers; without it the
candidates are compared with torch.topk and a running sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diopigen.conformance.oracles import Call, Property, answer_of
from diopigen.conformance.oracles.sampling import Ranking
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

Array = np.ndarray[Any, Any]
BATCH, VOCABULARY = 4000, 9


def retained_by_top_k(logits: Array, count: int) -> set[int]:
    """The tokens that TopKLogitsWarper leaves: all scores that are not below the count-th largest."""
    scores = torch.from_numpy(logits)
    least = torch.topk(scores, min(count, scores.numel())).values[-1]
    return set(torch.nonzero(scores >= least).flatten().tolist())


def retained_by_top_p(logits: Array, mass: float) -> set[int]:
    """The tokens that TopPLogitsWarper leaves: all but those whose rising running sum is at most 1 - mass."""
    scores, order = torch.sort(torch.from_numpy(logits))
    sums = scores.softmax(-1).cumsum(-1)
    keeps = sums > 1 - mass
    keeps[-1] = True
    return set(order[keeps].tolist())


@pytest.mark.parametrize("seed", range(20))
def test_candidates_are_those_of_the_warpers(seed: int) -> None:
    logits = np.random.default_rng(seed).normal(size=50) * 3
    for count in (1, 2, 7, 49, 50, 1000):
        ranking = Ranking.of(logits, count, 1.0)
        assert {token for token in range(50) if ranking.may_be(token)} == retained_by_top_k(logits, count)
    for mass in (1e-6, 0.05, 0.5, 0.9, 0.999, 1.0):
        ranking = Ranking.of(logits, 50, mass)
        assert set(ranking.tokens[ranking.chances > 1e-12].tolist()) == retained_by_top_p(logits, mass)
        assert ranking.chances.sum() == pytest.approx(1)
    everything = Ranking.of(logits, 50, 1.0)
    expected = torch.from_numpy(logits).softmax(-1).numpy()
    np.testing.assert_allclose(everything.chances, expected[everything.tokens], atol=1e-12)


def test_the_warpers_are_as_they_are_written_here() -> None:
    processors = pytest.importorskip(
        "transformers.generation.logits_process", reason="transformers is installed for `make test-models` alone"
    )
    ids = torch.zeros(1, 1, dtype=torch.long)
    for seed in range(20):
        logits = np.random.default_rng(seed).normal(size=50) * 3
        scores = torch.from_numpy(logits)[None]
        for count in (1, 7, 49):
            left = processors.TopKLogitsWarper(count)(ids, scores)[0]
            assert set(torch.nonzero(left > -np.inf).flatten().tolist()) == retained_by_top_k(logits, count)
        for mass in (1e-6, 0.05, 0.5, 0.9, 0.999):
            left = processors.TopPLogitsWarper(mass)(ids, scores)[0]
            assert set(torch.nonzero(left > -np.inf).flatten().tolist()) == retained_by_top_p(logits, mass)


def asked(interface: Interface, logits: Array, top_k: Array, top_p: Array) -> Property:
    """Errors that the oracle reports for the tokens of one step of top-k sampling."""
    function = interface.function("diopiTopKSampling")
    assert function is not None
    values: dict[str, Any] = dict.fromkeys(param.name for param in function.params)
    values |= {
        "output_ids": np.zeros((1, BATCH), np.int64), "logits": logits, "workspace": np.zeros(1), "workspace_size": 4,
        "end_ids": np.zeros(BATCH, np.int64), "step": 0, "runtime_top_k": top_k, "runtime_top_p": top_p,
    }  # fmt: skip
    shapes = {name: value.shape for name, value in values.items() if isinstance(value, np.ndarray)}
    found = answer_of(Call(function, values, dict.fromkeys(shapes, "float64"), shapes))["output_ids"]
    assert isinstance(found, Property)
    return found


def sampled(logits: Array, top_k: Array, top_p: Array, numbers: Array) -> Array:
    """Tokens by the definition: those whose interval holds number * top_p among the candidates."""
    tokens = []
    for scores, count, mass, number in zip(logits, top_k, top_p, numbers, strict=True):
        order = sorted(range(len(scores)), key=lambda token: -scores[token])[:count]
        sums = np.cumsum(np.exp(scores[order] - scores[order[0]]))
        tokens.append(order[int(np.searchsorted(sums / sums[-1], number * mass, side="right"))])
    return np.array([tokens], np.int64)


def test_samples_of_the_distribution_pass_and_others_do_not(interface: Interface) -> None:
    source = np.random.default_rng(4)
    logits = source.normal(size=(BATCH, VOCABULARY))
    top_k, top_p = source.integers(1, VOCABULARY + 3, size=BATCH), source.uniform(0.2, 1, size=BATCH)
    rule = asked(interface, logits, top_k, top_p)
    numbers = source.uniform(size=BATCH)
    tokens = sampled(logits, top_k, top_p, numbers)
    assert rule.varies and rule.check(tokens) is None
    # A candidate too many, more of the mass, numbers that are too small, a number for two sequences, a colder softmax.
    assert "not within" in str(rule.check(sampled(logits, top_k + 1, np.ones(BATCH), numbers)))
    assert rule.check(sampled(logits, top_k, top_p**0.8, numbers)) is not None
    assert rule.check(sampled(logits, top_k, top_p, numbers**1.5)) is not None
    assert rule.check(sampled(logits, top_k, top_p, np.repeat(numbers[::2], 2))) is not None
    assert rule.check(sampled(logits * 1.3, top_k, top_p, numbers)) is not None
    # A token of another row of the tokens.
    wrong = tokens.copy()
    wrong[0, 3] = VOCABULARY
    assert rule.check(wrong) is not None
