"""The tools under the names that users of ditorch's op_tools know, with `start()` and `stop()` and its variables.

`OP_CAPTURE_LIST`, `OP_CAPTURE_DISABLE_LIST` and the like are read when a tool starts: names of API functions or
operators, or regular expressions, separated by commas.
"""

from __future__ import annotations

import os
from typing import Any

from optools.capturing import Capture
from optools.casting import Cast
from optools.comparing import Compare
from optools.falling_back import Fallback
from optools.mode import Selection
from optools.overflowing import Overflows
from optools.timing import Timing


class _FromEnvironment:
    """Reads the lists of a tool when it starts."""

    LISTS = ""
    selection: Selection

    def begin(self) -> None:
        """Selects calls by the variables."""
        own = os.environ.get(f"{self.LISTS}_LIST", "")
        left_out = os.environ.get(f"{self.LISTS}_DISABLE_LIST", "")
        self.selection = Selection("" if own == ".*" else own, exclude=left_out)
        super().begin()  # type: ignore[misc]  # that of the tool


class OpCapture(_FromEnvironment, Capture):
    """Captures calls: `OP_CAPTURE_LIST`, `OP_CAPTURE_DISABLE_LIST`."""

    LISTS = "OP_CAPTURE"

    def __init__(self, folder: str = "op_tools_results/op_capture_results", **options: Any) -> None:
        super().__init__(folder, **options)


class OpAutoCompare(_FromEnvironment, Compare):
    """Compares calls with the CPU: `OP_AUTOCOMPARE_LIST`, `OP_AUTOCOMPARE_DISABLE_LIST`."""

    LISTS = "OP_AUTOCOMPARE"


class OpTimeMeasure(_FromEnvironment, Timing):
    """Measures calls: `OP_TIME_MEASURE_LIST`, `OP_TIME_MEASURE_DISABLE_LIST`; prints the times in the end."""

    LISTS = "OP_TIME_MEASURE"

    def end(self) -> None:
        super().end()
        print(self.table())


class OpFallback(_FromEnvironment, Fallback):
    """Runs calls on the CPU: `OP_FALLBACK_LIST`, `OP_FALLBACK_DISABLE_LIST`."""

    LISTS = "OP_FALLBACK"


class OpOverflowCheck(_FromEnvironment, Overflows):
    """Finds inf and NaN: `OP_OVERFLOW_CHECK_LIST`, `OP_OVERFLOW_CHECK_DISABLE_LIST`."""

    LISTS = "OP_OVERFLOW_CHECK"


class OpDtypeCast(_FromEnvironment, Cast):
    """Casts calls: `OP_DTYPE_CAST_LIST`, `OP_DTYPE_CAST_DISABLE_LIST`, `OP_DTYPE_CAST_DICT` as
    `torch.float16->torch.float32,torch.bfloat16->torch.float32`."""

    LISTS = "OP_DTYPE_CAST"

    def begin(self) -> None:
        from optools.casting import dtypes_of

        if text := os.environ.get("OP_DTYPE_CAST_DICT", ""):
            self.dtypes = dtypes_of(text)
        super().begin()
