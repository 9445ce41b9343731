"""Greedy tokens of an unchanged vLLM on droplet are those of transformers on the CPU in float32."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_models

PROMPTS = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]


@pytest.mark.parametrize("name", ["llama", "qwen3", "qwen3_moe", "gemma2", "deepseek_v3"])
def test_tokens_are_those_of_transformers(
    name: str, run: Callable[..., dict[str, Any]], models: Callable[[str], Path]
) -> None:
    folder = models(name)
    expected = tiny_models.greedy(tiny_models.load(folder), PROMPTS, 24)
    results = run(model=str(folder), rounds=[{"prompts": PROMPTS, "sampling": {"max_tokens": 24}}])
    assert results["platform"] == results["device"] == "droplet"
    assert [request["tokens"] for request in results["rounds"][0]] == expected
