"""Progress of a run, and its estimated end. Nothing is printed here."""

from __future__ import annotations

from dataclasses import dataclass

TRUSTED_SECONDS = 2.0
TRUSTED_FRACTION = 0.02


@dataclass(slots=True)
class Remaining:
    """Estimates the time that is left, from the weights of cases and the time since the first result.

    What comes before the first result (processes start, the library loads) says nothing about the cases.
    """

    total: int
    """The sum of all weights: how many ordinary cases the run is worth."""
    done: int = 0
    _first: float | None = None
    _before: int = 0

    def advance(self, weight: int, now: float) -> None:
        """Counts a finished case; `now` is in seconds of a monotonic clock."""
        self.done += weight
        if self._first is None:
            self._first, self._before = now, self.done

    def seconds(self, now: float) -> float | None:
        """Seconds that are left, or None while too little is done for an estimate."""
        if self._first is None:
            return None
        passed, measured = now - self._first, self.done - self._before
        if passed < TRUSTED_SECONDS or measured < TRUSTED_FRACTION * self.total:
            return None
        return passed / measured * max(0, self.total - self.done)


def in_words(seconds: float | None) -> str:
    """`about 40 s left`, `about 3 min left`, or nothing for None."""
    if seconds is None:
        return ""
    return f", about {seconds:.0f} s left" if seconds < 100 else f", about {seconds / 60:.0f} min left"
