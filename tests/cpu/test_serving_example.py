"""examples/serving: a decoder that generates tokens through serving functions, on the CPU library and on droplet."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import artefact

from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/serving"


def generated(library: str, *options: str, **variables: str) -> list[str]:
    """Output of the command, line by line."""
    command = [sys.executable, EXAMPLE / "generate.py", "--lib", artefact(library), *options]
    command += ["--runtime", artefact("libdiopirt.so")]
    done = subprocess.run(list(map(str, command)), env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_tokens_are_those_of_the_page_and_of_plain_torch(interface: Interface) -> None:
    compare = ["--compare"] if importlib.util.find_spec("torch") else []
    lines = generated("libdiopi_impl.so", *compare)
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert "\n".join(lines[:4]) in page
    assert lines[4:] == ["plain PyTorch gives the same tokens"] * len(compare)
    serving = sum(function.header == "functions_lmdeploy.h" for function in interface.functions)
    assert lines[3] == f"{serving + 1} functions of the interface called", "all of the header, and diopiMm"


@pytest.mark.slow
def test_droplet_generates_the_same_and_draws_reproducibly() -> None:
    libraries = {
        "DIOPI_VENDOR_LIBRARY": str(artefact("droplet/injected/libdiopi_impl.so")),
        "DIOPI_REFERENCE_LIBRARY": str(artefact("libdiopi_impl.so")),
    }
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert "\n".join(generated("libdiopi_dispatch.so", **libraries)) in page
    drawn = generated("libdiopi_dispatch.so", "--sample", **libraries)
    assert drawn == generated("libdiopi_impl.so", "--sample")
    assert drawn[0] not in page
