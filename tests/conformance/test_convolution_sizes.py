"""The sizes by norms that bound convolutions by transforms: never below the sum of the sizes of the terms."""

from __future__ import annotations

import numpy as np
import pytest

from diopigen.conformance.oracles.convolution import _Filters
from diopigen.conformance.oracles.windows import Sliding
from diopigen.conformance.products import size_of_product


@pytest.mark.parametrize("groups", [1, 2])
def test_norms_bound_the_sum_of_the_sizes(groups: int) -> None:
    source = np.random.default_rng(3)
    images, weight = source.standard_normal((2, 4, 5, 6)), source.standard_normal((6, 4 // groups, 3, 3))
    filters = _Filters(weight, groups, Sliding((3, 3), (1, 1), (1, 1), (1, 1)))
    responses = source.standard_normal((2, 6, 5, 6))
    assert filters.has_transforms
    absolute = [np.abs(array) for array in (images, weight, responses)]
    bounds = [
        (
            filters.size_of_responses(images, (5, 6)),
            filters.responses(size_of_product, absolute[0], (5, 6), absolute[1]),
        ),
        (filters.size_of_placed(responses, (5, 6)), filters.placed(size_of_product, absolute[2], (5, 6), absolute[1])),
        (filters.size_of_correlated(images, responses), filters.correlated(size_of_product, absolute[0], absolute[2])),
    ]
    for by_norms, by_terms in bounds:
        assert by_norms.shape == by_terms.shape
        assert np.all(by_norms >= by_terms * (1 - 1e-12))
        # A bound that is far above what it bounds would let faults pass.
        assert np.median(by_norms / by_terms) < 16


def test_steps_and_gaps_keep_the_bound_by_terms() -> None:
    weight = np.ones((1, 1, 3, 3))
    assert not _Filters(weight, 1, Sliding((3, 3), (2, 1), (0, 0), (1, 1))).has_transforms
    assert not _Filters(weight, 1, Sliding((3, 3), (1, 1), (0, 0), (1, 2))).has_transforms
