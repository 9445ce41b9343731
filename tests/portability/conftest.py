"""Tests of tools/portability import its modules by their names, as its command does."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/portability"))
