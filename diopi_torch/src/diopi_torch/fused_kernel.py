"""The source of a fused kernel, for one set of buffers or for several.

Several sets are the chains of an optimizer's parameters, whatever their sizes: kernels of a graph none of which waits
for another, and that differ in nothing but sizes and buffers, become one launch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from .fused_prelude import PRELUDE, ROWS
from .fused_rows import row_lines
from .fused_source import Chain, functions_of, loop_lines
from .symbolic import maximum, truncated

MOST_BUFFERS = 1024
"""Of one launch."""
FEWEST_SINGLE = 4
"""Operators without a neighbour that are worth a launch together."""

_ARGUMENTS = "    void* const* buffers, const int64_t* numbers, int64_t first, int64_t last) {"
_ENTRY = ('extern "C" __attribute__((visibility("default"))) void KERNEL_NAME(', _ARGUMENTS)


def source_of(chain: Chain, is_list: bool = False) -> tuple[str, str]:
    """The source of a kernel and its name, which follows from the source. With `is_list` the launch has several sets of
    buffers, whose chunks are the items."""
    lines = [PRELUDE, *([ROWS] if chain.has_rows else []), *functions_of(chain)]
    body = row_lines(chain) if chain.has_rows else loop_lines(chain)
    if is_list:
        lines += ["", "void step(", _ARGUMENTS, *body, "}", "", "}  // namespace", "", *_ENTRY, *_chunks(chain), "}"]
    else:
        lines += ["", "}  // namespace", "", *_ENTRY, *body, "}"]
    text = "\n".join([*lines, ""])
    name = "fused_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return text.replace("KERNEL_NAME", name), name


def _chunks(chain: Chain) -> list[str]:
    """The loop over chunks, which finds the set of each."""
    count = len(chain.inner)
    width = 3 + chain.rank * (1 + count)
    return [
        "    // numbers: the sets; of each its first chunk, its items, the items of a chunk, then those of its step.",
        "    int64_t set = 0;",
        "    for (int64_t chunk = first; chunk < last; ++chunk) {",
        f"        while (set + 1 < numbers[0] && numbers[1 + (set + 1) * {width}] <= chunk) {{",
        "            ++set;",
        "        }",
        f"        const int64_t* own = numbers + 1 + set * {width};",
        "        const int64_t begin = (chunk - own[0]) * own[2];",
        "        const int64_t end = begin + own[2] < own[1] ? begin + own[2] : own[1];",
        f"        step(buffers + set * {count}, own + 3, begin, end);",
        "    }",
    ]


def numbers_of(sets: Sequence[tuple[Any, Any, Sequence[Any]]]) -> tuple[list[Any], Any, Any]:
    """The numbers of a launch for sets with items, items that are worth a thread, and numbers; its chunks, and how many
    of them are worth a thread."""
    numbers: list[Any] = [len(sets)]
    chunks: Any = 0
    work: Any = 0.0
    for items, grain, own in sets:
        numbers += [chunks, items, grain, *own]
        chunks += -(-items // grain)
        work += items / grain
    return numbers, chunks, maximum(1, truncated(chunks / maximum(work, 1.0)))
