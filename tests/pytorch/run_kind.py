"""Kind of run: `make test-torch` runs everything, `make test` a few samples of each."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHOLE = os.environ.get("DIOPIGEN_TORCH_TESTS") == "whole"
