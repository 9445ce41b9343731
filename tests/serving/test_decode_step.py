"""Calls of a step of decoding that run on the host: docs/serving.md says that there are none."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quantized_models

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/serving.md"
PROMPTS = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
SAMPLED = {"temperature": 0.9, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "repetition_penalty": 1.1, "seed": 5}
"""Parameters that the document names."""


@pytest.mark.parametrize(
    ("name", "sampling"),
    [(name, {}) for name in ("llama", "qwen3_moe", "qwen3_moe w4a16", "gemma2", "deepseek_v3")] + [("llama", SAMPLED)],
    ids=["llama", "qwen3_moe", "qwen3_moe w4a16", "gemma2", "deepseek_v3", "sampled"],
)
def test_no_function_of_a_step_runs_on_the_host(
    name: str,
    sampling: dict[str, Any],
    run: Callable[..., dict[str, Any]],
    models: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    rounds: list[dict[str, Any]] = [
        {"prompts": PROMPTS, "sampling": {**sampling, "max_tokens": count}} for count in (4, 4, 20)
    ]
    name, *form = name.split()
    folder = models(name)
    if form:
        folder = tmp_path / "quantized"
        getattr(quantized_models, f"save_{form[0]}")(models(name), folder)
    results = run(model=str(folder), rounds=rounds, variables={"DIOPI_FALLBACK": "log"})
    assert results["fallbacks"] == [{}, {}, {}]  # by PyTorch, without a kernel of the backend
    log = (tmp_path / "log").read_text()
    start, _, few, many = (
        collections.Counter(re.findall(r"^diopi: (?:the .* leaves )?diopi(\w+)", text, re.MULTILINE))
        for text in re.split(r"^round(?:s end| \d+)$", log, flags=re.MULTILINE)[:4]
    )
    assert start["Cos"] and start["Sin"], "the log shows such calls"
    assert {name: count - few[name] for name, count in many.items() if count != few[name]} == {}
    page = DOCUMENT.read_text()
    assert "No function of a step" in page and all(f"`{name}`" in page for name in SAMPLED if sampling)
