"""Output of the build about the stack of kernels."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from cuda_resources import Kernel, kernels, summary

TOLD = """ptxas info    : 2 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function '_Z4eachI12VectorKernelI3AddffEE' for 'sm_80'
ptxas info    : Function properties for _Z4eachI12VectorKernelI3AddffEE
    {stack} bytes stack frame, {spilled} bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 848 bytes cmem[0], 16 bytes cmem[2]
ptxas info    : Compile time = 17.364 ms
ptxas info    : Compiling entry function '_Z4eachI8SortRows' for 'sm_80'
ptxas info    : Function properties for _Z4eachI8SortRows
    1024 bytes stack frame, 160 bytes spill stores, 80 bytes spill loads
ptxas info    : Function properties for _Z5storev
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, 848 bytes cmem[0]
"""


def test_every_kernel_is_read() -> None:
    assert kernels(TOLD.format(stack=32, spilled=0)) == [
        Kernel("_Z4eachI12VectorKernelI3AddffEE", "sm_80", 32, 0, 32),
        Kernel("_Z4eachI8SortRows", "sm_80", 1024, 240, 255),
    ]


def test_a_stack_is_wrong_where_memory_decides_the_speed() -> None:
    first = "2 kernels: {} with more than 48 bytes of stack, {} that spill as much, 1 that must do neither"
    assert summary(kernels(TOLD.format(stack=32, spilled=0))) == [first.format(1, 1)]
    assert summary(kernels(TOLD.format(stack=64, spilled=0))) == [
        first.format(2, 1),
        "_Z4eachI12VectorKernelI3AddffEE: stack 64, spilled 0, sm_80",
    ]
    assert len(summary(kernels(TOLD.format(stack=0, spilled=64)))) == 2
