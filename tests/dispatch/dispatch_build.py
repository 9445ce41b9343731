"""The dispatch library and what it is between, as the root build leaves them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from artefacts import ROOT, artefact


@dataclass(frozen=True)
class Libraries:
    runtime: Path
    dispatch: Path
    vendor: Path
    reference: Path


def built_libraries() -> Libraries:
    """All four."""
    names = ("libdiopirt.so", "libdiopi_dispatch.so", "dispatch/libvendor.so", "dispatch/libreference.so")
    return Libraries(*map(artefact, names))


def clean_environment(libraries: Libraries) -> dict[str, str]:
    """The environment without the switches of this machine."""
    retained = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    named = {"DIOPI_VENDOR_LIBRARY": str(libraries.vendor), "DIOPI_REFERENCE_LIBRARY": str(libraries.reference)}
    return {**retained, **named, "PYTHONPATH": str(ROOT)}
