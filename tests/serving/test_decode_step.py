"""Calls of a step of decoding that run on the host: docs/serving.md lists them."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/serving.md"
PROMPTS = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]


def test_the_document_lists_them(
    run: Callable[..., dict[str, Any]], models: Callable[[str], Path], tmp_path: Path
) -> None:
    rounds = [{"prompts": PROMPTS, "sampling": {"max_tokens": count}} for count in (4, 4, 20)]
    results = run(model=str(models("llama")), rounds=rounds, variables={"DIOPI_FALLBACK": "log"})
    assert results["fallbacks"] == [{}, {}, {}]  # by PyTorch, without a kernel of the backend
    texts = re.split(r"^round(?:s end| \d+)$", (tmp_path / "log").read_text(), flags=re.MULTILINE)[1:4]
    _, few, many = (
        collections.Counter(re.findall(r"^diopi: (?:the .* leaves )?diopi(\w+)", text, re.MULTILINE)) for text in texts
    )
    steps = {name: (count - few[name]) / 16 for name, count in many.items() if count != few[name]}
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert steps == {name: float(count) for name, count in rows}
