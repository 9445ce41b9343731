"""The folder of the libraries for the torch of the environment that the tests run in (Makefile, test-serving)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_RELEASE = Path(sys.prefix).name.partition("-")[2]
BUILT = ROOT / "build/tests" / (f"torch-{_RELEASE}" if _RELEASE else "plain")
