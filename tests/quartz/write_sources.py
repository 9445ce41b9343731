"""Brings up the tree of quartz that tests run. Usage: write_sources.py FOLDER. The root build runs it when it is
configured. Files that are right are left alone, so that nothing is compiled for their sake."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).parent))

from quartz_tree import bring_up
from torch_build import settle


def main(folder: Path) -> None:
    stage = folder / "quartz.stage"
    shutil.rmtree(stage, ignore_errors=True)
    bring_up(stage)
    settle(stage, folder / "quartz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
