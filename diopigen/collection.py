"""The garbage collector, kept away from work that only makes objects that stay."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_to_be_frozen = False


def freeze_what_stays() -> None:
    """For a process that ends with its command: what was made under `no_collection` is in no later collection, not
    even in the one at exit. Elsewhere it could keep cycles alive for ever."""
    global _to_be_frozen
    _to_be_frozen = True
    atexit.register(gc.freeze)


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
            if _to_be_frozen:
                gc.freeze()
            gc.enable()
