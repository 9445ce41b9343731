"""Time of a case, independent of the load of the machine."""

from __future__ import annotations

import contextlib
import os
import time

_WAITED = "/proc/thread-self/schedstat"
"""Of the calling thread, in nanoseconds: how long it ran, and how long it was ready to run and had no processor."""


class CaseClock:
    """Seconds since it was made or started anew.

    Where the library computes on the host, those that this thread had a processor for. Other threads share its work,
    and those that look for more count for nothing. A device computes while the host sleeps: there it is the time that
    passes, less that for which this thread waited for a processor, as far as the system says. So neither depends on the
    load, and shards that are balanced by it stay so.
    """

    def __init__(self, *, on_host: bool) -> None:
        self._on_host = on_host
        self._file = -1
        if not on_host:
            with contextlib.suppress(OSError):
                self._file = os.open(_WAITED, os.O_RDONLY | os.O_CLOEXEC)
        self.start()

    def start(self) -> None:
        """Begins at zero."""
        self._started = self._now()

    def seconds(self) -> float:
        """Seconds since the start."""
        return max(0.0, self._now() - self._started)

    def _now(self) -> float:
        if self._on_host:
            return time.thread_time()
        return time.perf_counter() - self._waited()

    def _waited(self) -> float:
        if self._file < 0:
            return 0.0
        words = os.pread(self._file, 128, 0).split()
        return int(words[1]) / 1e9 if len(words) > 1 else 0.0
