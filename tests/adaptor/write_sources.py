"""Writes the sources of `shim_builds.BUILDS` and of the mock vendor, and builds.cmake, which names them.

Usage: write_sources.py FOLDER. The root build runs it when it is configured. Files that are right are left alone, so
that nothing is compiled for their sake.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from artefacts import ROOT
from mock_vendor import mock_source
from shim_builds import BUILDS

from diopigen.console import Session
from diopigen.emit.adaptor.library import emit_adaptors


def main(folder: Path) -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    put(folder / "vendor.cpp", mock_source(interface).encode())
    lines = []
    for name, build in BUILDS.items():
        for path, content in emit_adaptors(interface, build.resolved(interface), ROOT / "templates").items():
            put(folder / name / path, content)
        for path, text in build.texts.items():
            put(folder / name / path, text.encode())
        texts = " ".join(f"{name}/{path}" for path in build.texts)
        lines.append(f"diopi_shims({name} {build.names or 'own'} {build.kernels or 'none'} {texts})\n")
    put(folder / "builds.cmake", "".join(lines).encode())


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
