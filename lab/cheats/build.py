"""Builds the libraries of cheats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diopigen.conformance.run.compiler import compile_or_fail, compiler
from diopigen.package import package_data, package_root
from lab.cheats.model import Cheat

NATIVE = Path(__file__).resolve().parent / "native"
PASSING = package_root() / "tests/conformance/tiny_library.c"
"""A library of a few functions that passes: part of each cheat under other names, and by itself the reference that some
cheats forward to."""
LIBRARY_NAME = "libdiopi_impl.so"
_RENAMED = (
    "diopiAdd", "diopiAddInp", "diopiRelu", "diopiLogicalNot", "diopiSoftmax", "diopiMaskedSelect", "diopiUniformInp",
    "diopiGetVendorName", "diopiGetImplVersion", "diopiGetLastErrorString", "initLibrary", "finalizeLibrary",
)  # fmt: skip
_CODE, _PRODUCT = "cheat-build", "a cheat"
_CPP = ("-std=c++17", "-O1", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror")


class Workshop:
    """Compiles cheats; what they share is compiled once."""

    def __init__(self, folder: Path) -> None:
        """Compiles into `folder`. Raises `Failure` without a compiler."""
        self.folder = folder
        self.words = compiler(_CODE, _PRODUCT)
        shared = folder / "shared"
        shared.mkdir(parents=True, exist_ok=True)
        self.includes = [f"-I{package_data(name)}" for name in ("runtime/include", "generated/include")]
        self.reference = shared / LIBRARY_NAME
        right, skeleton = shared / "right.o", shared / "skeleton.o"
        renamed = [f"-D{name}={name.replace('diopi', 'right', 1)}" for name in _RENAMED[:-2]]
        renamed += [f"-D{name}=right_{name}" for name in _RENAMED[-2:]]
        plain = ["-x", "c", str(PASSING), "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC"]
        self._compile([*plain, "-shared", "-o", str(self.reference), "-lm"])
        self._compile([*plain, *renamed, "-c", "-o", str(right)])
        self._compile([*_CPP, "-c", str(NATIVE / "skeleton.cpp"), "-o", str(skeleton)])
        self.objects = [str(right), str(skeleton)]

    def build(self, cheat: Cheat, folder: Path, options: Sequence[str] = ()) -> Path:
        """The library of a cheat in `folder`, which it regards as its own."""
        library = folder / LIBRARY_NAME
        paths = {
            "FOLDER": folder,
            "LIBRARY": library,
            "REFERENCE": self.reference,
            "PACKAGE": package_root() / "diopigen",
        }
        defined = [f'-D{name}="{path}"' for name, path in paths.items()]
        link = [word.replace("REFERENCE", str(self.reference)) for word in cheat.link]
        objects = self.objects if cheat.skeleton else []
        target = folder / "cheat.o"
        self._compile([*_CPP, *defined, *options, "-c", str(cheat.source), "-o", str(target)])
        self._compile(["-shared", "-pthread", "-o", str(library), str(target), *objects, *link, "-lm", "-ldl"])
        target.unlink()
        return library

    def _compile(self, words: Sequence[str]) -> None:
        compile_or_fail([*self.words, *self.includes, *words], _CODE, _PRODUCT)
