"""The C++ compiler that builds what diopigen brings along as sources."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from diopigen.diagnostics import failure


def compiler(code: str, product: str) -> list[str]:
    """The words of $CXX, else the first of c++, g++ and clang++, through ccache where it is installed. Without one a
    `Failure` of the rule `code` says that `product` cannot be built."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if found is None:
        fix = "install g++ or clang++, or name a compiler in CXX"
        raise failure(code, f"there is no C++ compiler to build {product} with", fix=fix)
    cached = shutil.which("ccache")
    return [cached, found] if cached else [found]


def compile_or_fail(command: Sequence[str], code: str, product: str) -> None:
    """Runs a command of the compiler. Where it fails, a `Failure` of the rule `code` shows it with its last output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said, failed = done.stderr[-2000:], done.returncode != 0
    except OSError as error:  # $CXX names no program
        said, failed = f"{command[0]}: {error.strerror}", True
    if failed:
        text = f"{product} does not compile: {shlex.join(command)}\n{said}"
        raise failure(code, text, fix="name a compiler of C++17 in CXX")
