"""The garbage collector, kept away from work that only makes objects that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector away.

    A spec is half a million small objects that all stay alive: while they are created, or others in addition, the
    collector would walk them again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
