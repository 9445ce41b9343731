"""The estimate of the time that is left: none before it can be trusted, then by the weight of what is done."""

from __future__ import annotations

from diopigen.conformance.run.progress import Remaining, in_words


def test_no_estimate_from_the_first_results() -> None:
    remaining = Remaining(1000)
    assert remaining.seconds(0.0) is None
    remaining.advance(1, 30.0)  # half a minute until the library was loaded
    remaining.advance(1, 30.1)
    assert remaining.seconds(30.1) is None


def test_the_start_does_not_count() -> None:
    remaining = Remaining(1001)
    remaining.advance(1, 100.0)
    remaining.advance(100, 110.0)
    assert remaining.seconds(110.0) == 90.0


def test_heavy_cases_count_for_what_they_weigh() -> None:
    remaining = Remaining(1101)
    remaining.advance(1, 0.0)
    remaining.advance(500, 50.0)
    remaining.advance(100, 60.0)
    assert remaining.seconds(60.0) == 50.0


def test_words() -> None:
    assert in_words(None) == ""
    assert in_words(41.6) == ", about 42 s left"
    assert in_words(200.0) == ", about 3 min left"
