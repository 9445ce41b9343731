"""Random generators for operators that draw numbers."""

from __future__ import annotations

import ctypes
from typing import Any


class Generator:
    """A random generator with a seed. Calls advance it, so that each gives other numbers.

    It belongs to the process, not to a library; `Library.generator` makes one.
    """

    def __init__(self, module: Any, seed: int = 0, offset: int = 0) -> None:
        self._end = module["diopi_end_generator"]
        self.handle: ctypes.c_void_p | None = module["diopi_generator"](seed, offset)

    def __del__(self) -> None:
        handle, self.handle = getattr(self, "handle", None), None
        if handle is not None:
            self._end(handle)
