"""Brings up the trees of kestrel that tests run. Usage: write_sources.py FOLDER NAME..., names of FORMS. The root build
runs it when it is configured. Files that are right are left alone, so that nothing is compiled for their sake."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).parent))

from kestrel_tree import CONVERSIONS, bring_up
from torch_build import settle

FORMS: dict[str, dict[str, Any]] = {
    "kestrel": {},
    "kestrel_converted": {"conversions": CONVERSIONS},
    "kestrel_faulty": {"conversions": CONVERSIONS, "faults": True},
}


def main(folder: Path, names: list[str]) -> None:
    for name in names:
        stage = folder / f"{name}.stage"
        shutil.rmtree(stage, ignore_errors=True)
        bring_up(stage, **FORMS[name])
        settle(stage, folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
