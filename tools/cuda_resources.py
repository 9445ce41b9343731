"""Report of ptxas on kernels: the stack and the registers of a thread, and spills.

    nvcc -Xptxas -v ... 2>&1 | python tools/cuda_resources.py

prints the kernels with a stack frame. `tools/build_cuda.py` asks it about what it has compiled.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

ENGINES = ("VectorKernel", "CopyKernel", "ExchangeKernel", "FoldInRows", "FoldInColumns")
"""Kernels whose speed is that of memory: what they keep must be in registers."""
MOST_STACK = 48
"""Bytes that the sine of a large angle takes, and calls of functions: not elements. The same for what is spilled."""

_PARTS = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<architecture>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled kernel; all sizes in bytes for each thread, `name` as the linker knows it."""

    name: str
    architecture: str
    stack: int
    spilled: int
    registers: int

    @property
    def is_wrong(self) -> bool:
        """Returns whether memory would wait for its stack."""
        return any(engine in self.name for engine in ENGINES) and max(self.stack, self.spilled) > MOST_STACK


def kernels(text: str) -> list[Kernel]:
    """The kernels in the output of ptxas."""
    return [
        Kernel(
            match["name"],
            match["architecture"],
            int(match["stack"]),
            int(match["stores"]) + int(match["loads"]),
            int(match["registers"]),
        )
        for match in _PARTS.finditer(text)
    ]


def summary(found: Iterable[Kernel]) -> list[str]:
    """A line about all, and one for each kernel that is wrong."""
    found = list(found)
    stacked = [kernel for kernel in found if kernel.stack > MOST_STACK]
    spilling = [kernel for kernel in found if kernel.spilled > MOST_STACK]
    engines = sum(any(engine in kernel.name for engine in ENGINES) for kernel in found)
    lines = [
        f"{len(found)} kernels: {len(stacked)} with more than {MOST_STACK} bytes of stack, "
        f"{len(spilling)} that spill as much, {engines} that must do neither"
    ]
    for kernel in found:
        if kernel.is_wrong:
            lines.append(f"{kernel.name}: stack {kernel.stack}, spilled {kernel.spilled}, {kernel.architecture}")
    return lines


def main() -> int:
    found = kernels(sys.stdin.read())
    print("\n".join(summary(found)))
    for kernel in sorted(found, key=lambda kernel: -kernel.stack):
        if kernel.stack:
            print(f"{kernel.stack:6} stack {kernel.spilled:6} spilled {kernel.registers:4} registers  {kernel.name}")
    return 1 if any(kernel.is_wrong for kernel in found) else 0


if __name__ == "__main__":
    sys.exit(main())
