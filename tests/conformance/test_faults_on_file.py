"""The faults and waivers in impl/cpu/faults are about code that is there: a rename or an edit must not empty them.

`python -m lab mutate-sources` finds the exact location; here the text is looked for, without reading C++.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ROOT / "impl/cpu/faults"


def entries(name: str) -> list[dict[str, Any]]:
    (found,) = (value for value in yaml.safe_load((FAULTS / name).read_text()).values() if isinstance(value, list))
    return found


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@cache
def sources() -> dict[str, str]:
    """The text of all sources that faults are injected into, by name from the root."""
    folders = ("impl/core", "impl/cpu", "generated/cpu", "runtime/kernels/include")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cpp")]
    return {path.relative_to(ROOT).as_posix(): plain(path.read_text()) for path in files}


@pytest.mark.parametrize("fault", entries("named.yaml"), ids=lambda fault: fault["name"])
def test_a_named_fault_is_about_code_that_is_there(fault: dict[str, Any]) -> None:
    assert plain(fault["find"]) in sources().get(fault["file"], "")


@pytest.mark.parametrize("waiver", entries("waivers.yaml"), ids=lambda waiver: f"{waiver['file']}: {waiver['code']}")
def test_a_waiver_is_about_code_that_is_there(waiver: dict[str, Any]) -> None:
    texts = [text for file, text in sources().items() if fnmatchcase(file, waiver["file"])]
    function = waiver.get("function", "").rpartition("::")[2].rstrip("*")
    code = [plain(part) for part in waiver["code"].split("*") if part.strip()]
    assert any(function in text and all(part in text for part in code) for text in texts)
