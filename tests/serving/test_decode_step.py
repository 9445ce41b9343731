"""Operators that a step of decoding runs on the host: docs/serving.md lists them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/serving.md"
PROMPTS = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]


def test_the_document_lists_them(run: Callable[..., dict[str, Any]], models: Callable[[str], Path]) -> None:
    rounds = [{"prompts": PROMPTS, "sampling": {"max_tokens": count}} for count in (4, 4, 20)]
    # Without the reference library each function that the vendor's has not is a fallback of PyTorch, which is counted.
    results = run(model=str(models("llama")), rounds=rounds, variables={"DIOPI_FALLBACK": "off"})
    _, few, many = results["fallbacks"]
    steps = {name: (many[name] - few.get(name, 0)) / 16 for name in many}
    measured = {name: count for name, count in steps.items() if count}
    rows = re.findall(r"^\| `([\w.]+)` \| ([\d.]+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert measured == {name: float(count) for name, count in rows}
