"""Prints the functions of a step of decoding by their share of its bytes, as docs/serving.md has them.

A step reads all weights and caches for one token of each request, so that bytes bound its time. Bytes of a call are
those that no kernel can avoid (`diopigen.conformance.speed.work`). Caches count whole: those of the tables hold just
the keys of their requests, and values that are the first elements of keys (latent attention) are the same memory.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from diopigen import api
from diopigen.conformance.cases.models import model_cases
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case, Operand
from diopigen.conformance.speed.work import work_of
from diopigen.diagnostics import Sink

ROOT = Path(__file__).resolve().parent.parent
MODELS = ("vllm_llama8b", "vllm_qwen3_moe", "vllm_gemma2", "vllm_deepseek_v3")


def caches(case: Case) -> int:
    """Bytes of the caches that attention reads."""
    keys, values = (case.arguments.get(name) for name in ("key_cache", "value_cache"))
    if case.function != "diopiPagedAttentionVarLen" or not isinstance(keys, Operand) or not isinstance(values, Operand):
        return 0
    is_latent = keys.shape[2] == 1 and values.shape[3] < keys.shape[3]
    elements = sum(math.prod(one.shape) for one in ((keys,) if is_latent else (keys, values)))
    return elements * STORAGE[keys.dtype].itemsize


def shares() -> dict[str, dict[str, float]]:
    """Shares of each model's bytes by function and model, the largest ones first."""
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    interface = api.load(where, Sink()).interface
    tables = api.models(where, Sink())
    found: dict[str, dict[str, float]] = {}
    for name in MODELS:
        total: Counter[str] = Counter()
        for call, case in zip(tables[name].calls, model_cases(interface, tables[name]), strict=True):
            function = interface.function(call.function)
            assert function is not None, "checked with the tables"
            total[call.function] += call.count * (work_of(function, case).bytes + caches(case))
        for function_name, moved in total.items():
            found.setdefault(function_name, {})[name] = moved / total.total()
    return dict(sorted(found.items(), key=lambda one: (-sum(one[1].values()), one[0])))


def rows() -> list[str]:
    """The rows of the table in Markdown: a function, and its share in each model or a dash. Functions with less than
    0.05% of each model are left out."""
    least = 0.0005
    return [
        f"| `{name}` | {' | '.join(f'{one[model]:.1%}' if model in one else '-' for model in MODELS)} |"
        for name, one in shares().items()
        if max(one.values()) >= least
    ]


if __name__ == "__main__":
    print("\n".join(rows()))
