"""Names the wheel of a vendor's package for PyTorch after what its libraries were built for.

Written by `diopigen scaffold --with-torch`; `diopigen sync` brings it up to date. It is the build backend of
pyproject.toml, hatchling with hooks: the wheel gets the tag of the Python and the machine, `+torch2.14` in its version,
and requires that torch. So pip refuses a wheel that would not work, or installs the right torch. An sdist, which has no
libraries, is compiled first.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import hatchling.build as _backend
from hatchling.build import *  # noqa: F403 the other functions of a build backend
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_ROOT = Path(__file__).resolve().parent.parent


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Build requirements, which pip installs in an isolated environment: for an sdist, the tools that compile it."""
    return [*_backend.get_requires_for_build_wheel(config_settings), *(_compiled_with() if _is_sdist() else ())]


if hasattr(_backend, "prepare_metadata_for_build_wheel"):  # pip takes the metadata out of the wheel

    def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: dict[str, Any] | None = None) -> str:
        """The metadata of the wheel, which follows from its libraries."""
        if _is_sdist():
            _build()
        return _backend.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """The wheel."""
    if _is_sdist():
        _build()
    return _backend.build_wheel(wheel_directory, config_settings, metadata_directory)


class Tag(BuildHookInterface):
    """Sets the tag, and refuses a wheel without libraries."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if not _libraries():
            raise SystemExit("no libraries: cmake --preset torch && cmake --build --preset torch")
        python = _built_for("Python")
        interpreter = "py3-none" if python is None else f"cp{python.replace('.', '')}-cp{python.replace('.', '')}"
        machine = re.sub(r"[^a-z0-9]", "_", sysconfig.get_platform().lower())
        build_data["pure_python"] = False
        build_data["tag"] = f"{interpreter}-{machine}"


class Requirements(MetadataHookInterface):
    """Adds the torch that the libraries were built for to `dependencies` of [tool.hatch.metadata.hooks.custom]."""

    def update(self, metadata: dict[str, Any]) -> None:
        torch = _built_for("torch")
        metadata["dependencies"] = [*self.config["dependencies"], *([f"torch=={torch}.*"] if torch else [])]


def version(own: str) -> str:
    """The version of the package with the torch that its libraries were built for, as in `0.1.0+torch2.14`."""
    torch = _built_for("torch")
    return f"{own}+torch{torch}" if torch else own


def _libraries() -> list[Path]:
    return sorted(_ROOT.glob("torch_*/lib/*.so"))


def _built_for(product: str) -> str | None:
    """The minor release of torch or Python that the libraries name; None where none does."""
    mark = re.compile(rf"diopigen: built for {product} ([0-9]+\.[0-9]+)".encode())
    releases = {found[1].decode() for path in _libraries() if (found := mark.search(path.read_bytes()))}
    if len(releases) > 1:
        raise SystemExit(f"libraries for {product} {' and '.join(sorted(releases))}: build all of them again")
    return next(iter(releases), None)


def _is_sdist() -> bool:
    return (_ROOT / "PKG-INFO").is_file() and not _libraries()


def _compiled_with() -> list[str]:
    """Requirements of the package: torch; CMake; and the diopigen of the same version."""
    lines = (_ROOT / "PKG-INFO").read_text(encoding="utf-8").splitlines()
    own = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]
    return [
        "cmake>=3.24",
        *own,
        *(name.replace("diopi-torch", "diopigen") for name in own if name.startswith("diopi-torch")),
    ]


def _build() -> None:
    """Runs the commands of README.md, with the torch of this Python. What hatchling wrote into the sdist goes: it has
    neither the version nor the requirements of what is built."""
    configure = ["--preset", "torch", f"-DPython3_EXECUTABLE={sys.executable}"]
    for words in (configure, ["--build", "--preset", "torch", "--parallel", str(os.cpu_count() or 1)]):
        try:
            subprocess.run(["cmake", *words], cwd=_ROOT, check=True)
        except FileNotFoundError:
            raise SystemExit("an sdist is built with CMake: pip install cmake") from None
        except subprocess.CalledProcessError:
            raise SystemExit(f"cmake {' '.join(words)} failed: see above") from None
    (_ROOT / "PKG-INFO").unlink()
