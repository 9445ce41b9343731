"""Sampling of the next token: which tokens may be drawn and how often, and what follows from the ones that were.

Candidates are in falling order of their logits, equal ones in rising order of tokens. A uniform number below the mass
of the candidates falls into the running sum of their probabilities, so the candidate at which the mass ends counts with
the part of its probability that is inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, Property, oracle
from diopigen.conformance.oracles.random import independent
from diopigen.conformance.oracles.serving_layers import asks_for_size, sizes_of, unchanged
from diopigen.contract.tolerance import epsilon

_ENOUGH = 50
_SIGMAS = 5.5
_SLACK = 1e-4
"""Error bound of running sums in float32 at the end of the mass, as a fraction of the sum of all candidates."""
_LOG_SLACK = 64 * epsilon("float32")


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates of one sequence."""

    tokens: Array
    lower: Array
    """Start of the interval of each candidate, as a fraction of the sum of all."""
    upper: Array
    mass: float

    @staticmethod
    def of(logits: Array, count: int, mass: float) -> Ranking:
        """The `count` likeliest tokens."""
        tokens = np.argsort(-logits, kind="stable")[:count]
        weights = np.exp(logits[tokens] - logits[tokens[0]])
        upper = np.cumsum(weights) / weights.sum()
        return Ranking(tokens, upper - weights / weights.sum(), upper, mass)

    @property
    def chances(self) -> Array:
        """Number of times each candidate is drawn; only the likeliest if the mass is 0."""
        inside = np.minimum(self.upper, self.mass) - np.minimum(self.lower, self.mass)
        first = (np.arange(len(self.tokens)) == 0).astype(np.float64)
        return np.asarray(inside / self.mass if self.mass > 0 else first)

    def may_be(self, token: int) -> bool:
        """Returns whether a token can be drawn, or could but for the roundings of the running sum."""
        rank = np.flatnonzero(self.tokens == token)
        if not rank.size or self.upper[rank[0]] == self.lower[rank[0]]:
            return False
        return rank[0] == 0 or bool(self.lower[rank[0]] < self.mass + _SLACK)

    def middle(self, token: int) -> tuple[float, float]:
        """The middle of the interval of a token, of the mass, and the standard deviation of the middles that are drawn
        around their mean, one half."""
        middles = np.cumsum(self.chances) - self.chances / 2
        rank = int(np.flatnonzero(self.tokens == token)[0])
        return float(middles[rank]), math.sqrt(float((self.chances * (middles - 0.5) ** 2).sum()))


@dataclass(frozen=True, slots=True)
class Draws:
    """Probabilities that a call samples from."""

    call: Call
    rankings: dict[int, Ranking]
    """Of the sequences that draw; the others are skipped or have ended."""

    @staticmethod
    def of(call: Call, top_k: bool) -> Draws:
        """The rankings by `runtime_top_k`, or over all tokens."""
        logits = call.wide("logits")
        rankings = {}
        for b in range(len(logits)):
            if not _flag(call, "skip_decode", b) and not _flag(call, "finished", b):
                count = int(call["runtime_top_k"][b]) if top_k else logits.shape[1]
                rankings[b] = Ranking.of(logits[b], count, float(call["runtime_top_p"][b]))
        return Draws(call, rankings)

    def complaint(self, output_ids: Array) -> str | None:
        """Describes the error of the tokens."""
        call, step = self.call, int(self.call["step"])
        expected = np.array(call["output_ids"])
        for b in range(expected.shape[1]):
            if b in self.rankings:
                token = int(output_ids[step, b])
                if not self.rankings[b].may_be(token):
                    return f"sequence {b} draws token {token}, which is not within its candidates and their mass"
                expected[step, b] = token
            elif not _flag(call, "skip_decode", b):
                expected[step, b] = call["end_ids"][b]
        if not np.array_equal(expected, output_ids):
            where = np.argwhere(expected != output_ids)[0].tolist()
            return f"element {where} is {output_ids[tuple(where)]} instead of {expected[tuple(where)]}"
        return self._distribution(output_ids[step])

    def _distribution(self, drawn: Array) -> str | None:
        """Returns whether many sequences draw their tokens as often as they must."""
        if len(self.rankings) < _ENOUGH:
            return None
        vocabulary = self.call.shapes["logits"][1]
        chances = np.zeros((len(self.rankings), vocabulary))
        for row, ranking in enumerate(self.rankings.values()):
            chances[row, ranking.tokens] = ranking.chances
        tokens = drawn[list(self.rankings)].astype(np.int64)
        for token in range(vocabulary):
            spread = math.sqrt(float((chances[:, token] * (1 - chances[:, token])).sum()))
            count, mean = int((tokens == token).sum()), float(chances[:, token].sum())
            if abs(count - mean) > _SIGMAS * spread + 1e-3:
                return f"token {token} is drawn {count} times instead of about {mean:.0f}"
        pairs = [ranking.middle(token) for ranking, token in zip(self.rankings.values(), tokens, strict=True)]
        middles, deviations = (np.array(column) for column in zip(*pairs, strict=True))
        off = float((middles - 0.5).sum()) / max(math.sqrt(float((deviations**2).sum())), 1e-3)
        if abs(off) > _SIGMAS:
            side = "likely" if off < 0 else "unlikely"
            return f"{side} tokens are drawn too often, by {abs(off):.1f} standard deviations over all sequences"
        undecided = deviations > 0.1
        return independent(middles[undecided], 0.5, deviations[undecided])

    @property
    def varies(self) -> bool:
        """Returns whether so many sequences have a choice that two calls in a row do not draw the same."""
        choices = sum(float(ranking.chances.max()) < 0.9 for ranking in self.rankings.values())
        return choices >= _ENOUGH

    def finished(self, output_ids: Array) -> Array:
        """Sequences that have ended after the call that drew these tokens."""
        call = self.call
        found = np.array(call["finished"])
        for b in self.rankings:
            found[b] = output_ids[int(call["step"]), b] == call["end_ids"][b]
        return found

    def log_probabilities(self, output_ids: Array, among_candidates: bool) -> dict[int, float]:
        """Logarithms of the probabilities of what was drawn, over the vocabulary or among the candidates."""
        logits, found = self.call.wide("logits"), {}
        for b, ranking in self.rankings.items():
            scores = logits[b][ranking.tokens] if among_candidates else logits[b]
            largest = scores.max()
            own = float(logits[b, int(output_ids[int(self.call["step"]), b])])
            found[b] = own - float(largest + np.log(np.exp(scores - largest).sum()))
        return found


def _flag(call: Call, name: str, b: int) -> bool:
    return call.has(name) and bool(call[name][b])


def _answer(call: Call, draws: Draws, *, among_candidates: bool) -> Answer:
    answer: dict[str, Expected | Property] = {"output_ids": Property(draws.complaint, varies=draws.varies)}
    if call.has("finished"):

        def wrong_end(found: Array, output_ids: Array) -> str | None:
            wrong = np.flatnonzero(found != draws.finished(output_ids))
            return f"sequence {wrong[0]} has ended or goes on against its token" if wrong.size else None

        answer["finished"] = Property(wrong_end, ("output_ids",))
    if call.has("sequence_lengths"):
        grown = np.array([int(b in draws.rankings) for b in range(call.shapes["logits"][0])], dtype=np.int64)
        answer["sequence_lengths"] = Expected(call["sequence_lengths"].astype(np.int64) + grown)

    def logs(name: str, begin: Array, among_candidates: bool) -> Property:
        size = 1 + np.abs(call.wide("logits")).max(axis=1, initial=0)

        def check(found: Array, output_ids: Array) -> str | None:
            expected = begin.astype(np.float64).copy()
            for b, log in draws.log_probabilities(output_ids, among_candidates).items():
                expected[b] = log + (begin[b] if name == "cum_log_probs" else 0)
            off = np.abs(found - expected) > _LOG_SLACK * (size + np.abs(expected))
            off |= ~np.isin(np.arange(len(found)), list(draws.rankings)) & (found != begin)
            wrong = np.flatnonzero(off)
            return f"sequence {wrong[0]}: {found[wrong[0]]} instead of {expected[wrong[0]]}" if wrong.size else None

        return Property(check, ("output_ids",))

    if call.has("cum_log_probs"):
        answer["cum_log_probs"] = logs("cum_log_probs", np.asarray(call["cum_log_probs"]), False)
    if call.has("output_log_probs"):
        answer["output_log_probs"] = logs("output_log_probs", np.asarray(call["output_log_probs"]), among_candidates)
    return answer


_RESULTS = ("output_ids", "finished", "sequence_lengths", "cum_log_probs", "output_log_probs")


@oracle("TopKSampling")
def _top_k(call: Call) -> Answer:
    if asks_for_size(call, "workspace"):
        return {**sizes_of("workspace"), **unchanged(call, *_RESULTS)}
    return _answer(call, Draws.of(call, top_k=True), among_candidates=True)


@oracle("TopPSampling")
def _top_p(call: Call) -> Answer:
    if asks_for_size(call, "persistent_workspace", "workspace"):
        sizes = sizes_of("persistent_workspace", "workspace")
        return {**sizes, **unchanged(call, *_RESULTS, "runtime_top_p")}
    return {**_answer(call, Draws.of(call, top_k=False), among_candidates=False), **unchanged(call, "runtime_top_p")}
