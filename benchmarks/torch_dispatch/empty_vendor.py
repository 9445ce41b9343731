"""The vendor's library whose kernels do nothing, compiled for a benchmark."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path) -> Path:
    """`libvendor.so` in a folder."""
    library = folder / "libvendor.so"
    own = [f"-I{ROOT / 'generated/include'}", f"-I{ROOT / 'runtime/include'}"]
    sources = [Path(__file__).with_name("vendor.cpp"), ROOT / "runtime/src/host_device.cpp"]
    command = ["g++", "-O2", "-fPIC", "-shared", "-std=c++17", *own, *sources, "-o", library]
    subprocess.run(list(map(str, command)), check=True)
    return library


def environment(vendor: Path) -> dict[str, str]:
    """The variables under which PyTorch's backend runs over it, and what it lacks is an error."""
    return {**os.environ, "DIOPI_VENDOR_LIBRARY": str(vendor), "DIOPI_FALLBACK": "off"}
