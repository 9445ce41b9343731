"""Names the wheel of a vendor's package for PyTorch after what its libraries were built for.

Written by `diopigen scaffold --with-torch`; `diopigen sync` brings it up to date. hatchling loads it, as pyproject.toml
says: the wheel gets the tag of the Python and the machine, `+torch2.14` in its version, and requires that torch. So pip
refuses a wheel that would not work, or installs the right torch.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_ROOT = Path(__file__).resolve().parent.parent


class Tag(BuildHookInterface):
    """Sets the tag, builds the libraries of an unpacked sdist, and refuses a wheel without libraries."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if self._is_compiled():
            _build()
        if not _libraries():
            raise SystemExit("no libraries: cmake --preset torch && cmake --build --preset torch")
        python = _built_for("Python")
        interpreter = "py3-none" if python is None else f"cp{python.replace('.', '')}-cp{python.replace('.', '')}"
        machine = re.sub(r"[^a-z0-9]", "_", sysconfig.get_platform().lower())
        build_data["pure_python"] = False
        build_data["tag"] = f"{interpreter}-{machine}"

    def dependencies(self) -> list[str]:
        """What pip installs to compile an sdist in an environment of its own. The wheel will require that torch."""
        if not self._is_compiled():
            return []
        return ["cmake>=3.24", "ninja", *self.config.get("compiled-with", ()), *self.metadata.core.dependencies]

    def _is_compiled(self) -> bool:
        return self.target_name == "wheel" and (_ROOT / "PKG-INFO").is_file() and not _libraries()


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


def _build() -> None:
    """Runs the commands of README.md, with the torch of this Python."""
    for words in (["--preset", "torch", f"-DPython3_EXECUTABLE={sys.executable}"], ["--build", "--preset", "torch"]):
        try:
            subprocess.run(["cmake", *words], cwd=_ROOT, check=True)
        except FileNotFoundError:
            raise SystemExit("an sdist is built with CMake: pip install cmake") from None
        except subprocess.CalledProcessError:
            raise SystemExit(f"cmake {' '.join(words)} failed: see above") from None
