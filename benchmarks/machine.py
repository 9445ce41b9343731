"""The machine that a benchmark ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The processor's name, as Linux has it, else the architecture."""
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.machine()


def describe() -> str:
    """One line: processor, cores that this process may use, processes that want to run, system and Python."""
    cores = len(os.sched_getaffinity(0))
    system = f"{platform.system()} {' '.join(platform.libc_ver()).strip()}".strip()
    load = os.getloadavg()[0]
    return f"{processor()}, {cores} cores, load {load:.1f}; {system}, Python {platform.python_version()}"
