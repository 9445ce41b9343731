"""The wheel of torchvision next to a torch without CUDA.

The wheel of the registry is one for CUDA: its library names those of CUDA, and does not load without them. It calls
them only for tensors on CUDA, so empty libraries of these names, which offer what it asks for, let it load: its
operators on the CPU, its schemas and gradients are then its own.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

CUDA = re.compile("(__)?cuda|_ZNK?(3c10|2at)4cuda")
"""Names of functions and variables of CUDA, and of torch's libraries for it."""


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def needed(library: Path) -> tuple[list[str], list[str]]:
    """Libraries of CUDA that a library asks for, and the names that it takes from them."""
    dynamic = re.findall(r"NEEDED.*\[(.+)\]", "\n".join(_lines("readelf", "--dynamic", "--wide", str(library))))
    names = [line.split()[-1] for line in _lines("nm", "--dynamic", "--undefined-only", str(library))]
    return [name for name in dynamic if "cuda" in name], [name for name in names if CUDA.match(name)]


def stand_ins(library: Path, folder: Path) -> list[Path]:
    """Compiles a library of each name that `library` asks for, with functions that return 0."""
    libraries, names = needed(library)
    made = []
    for name in libraries:
        own = [one.partition("@")[0] for one in names if ("@" in one) == name.startswith("libcudart")]
        made.append(_compiled(folder / name, own))
    return made


def _compiled(path: Path, names: Sequence[str]) -> Path:
    """A library with these names, of the version that is its own name."""
    source, script = path.with_suffix(".c"), path.with_suffix(".map")
    source.write_text("".join(f"void *{name}(void) {{ return 0; }}\n" for name in names))
    script.write_text(f"{path.name} {{ global: *; }};\n")
    # Names without a version fit a library that asks for none.
    versions = [f"-Wl,--version-script={script}"] if path.name.startswith("libcudart") else []
    words = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{path.name}", *versions, "-o", str(path), str(source)]
    subprocess.run(words, check=True)
    return path


def load(folder: Path) -> bool:
    """Prepares `import torchvision` from a wheel that was unpacked in `folder`. Returns whether one is there."""
    library = next(folder.glob("torchvision/_C*.so"), None)  # since 0.29 _C_stable.so
    if library is None:
        return False
    if torch.version.cuda is None:
        with tempfile.TemporaryDirectory() as made:
            for path in stand_ins(library, Path(made)):
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return True
