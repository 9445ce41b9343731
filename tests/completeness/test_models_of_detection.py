"""Functions of detection and serving in model tables: all but those that are named with the reason, and the table in
docs/conformance.md has the number of each model."""

from __future__ import annotations

from pathlib import Path

from diopigen import api
from diopigen.diagnostics import Sink

ROOT = Path(__file__).resolve().parents[2]
HEADERS = frozenset({"functions_mmcv.h", "functions_lmdeploy.h"})

WITHOUT_MODEL = {
    "SoftmaxFocalLossMmcv": "published detectors take the sigmoid form",
    "SoftmaxFocalLossBackwardMmcv": "published detectors take the sigmoid form",
}
"""Functions that no model calls, each with the reason."""


def test_every_function_is_called_by_a_model_or_named() -> None:
    interface = api.load(api.workspace(), Sink(), check=False).interface
    every = {function.name for function in interface.functions if function.header in HEADERS}
    page = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    reached: set[str] = set()
    for name, model in api.models(api.workspace(), Sink()).items():
        own = every & model.functions().keys()
        reached |= own
        assert not own or f"| `{name}` | {len(own)} |" in page
    assert {name.removeprefix("diopi") for name in every - reached} == WITHOUT_MODEL.keys()
    assert f"{len(reached)} of the {len(every)} functions of detection and serving are called by a model" in page
