"""Functions of detection and serving with a second reference next to their oracle: counted from the tests that compare
the two, which the number in docs/conformance.md must match."""

from __future__ import annotations

import ast
from pathlib import Path

from diopigen import api
from diopigen.diagnostics import Sink

ROOT = Path(__file__).resolve().parents[2]
HEADERS = frozenset({"functions_mmcv.h", "functions_lmdeploy.h"})
TABLES = frozenset({"TORCH", "EXACT", "LOOPS"})
"""Names of tables of references in tests: compositions of torch, exact arithmetic, loops from the definition."""

OTHERWISE = {
    "RoiawarePool3dBackwardMmcv": "the adjoint of the forward call, in test_upright_box_oracles.py",
    "TopKSampling": "the warpers of transformers and the distribution, in test_sampling_oracles.py",
    "TopPSampling": "the warpers of transformers and the distribution, in test_sampling_oracles.py",
}
"""Functions that another kind of test compares."""

ALONE = frozenset(
    {
        "SetupTopkRuntimeArgsInp",
        "SetupToppRuntimeArgsInp",
        "PlusScalarInp",
        "UpdatePaddingCount",
        "BanBadWordsInp",
        "StopWordsCriterion",
    }
)
"""Functions whose oracle is alone: bookkeeping of integers, which no other library defines."""


def _compared() -> set[str]:
    """The keys of the tables in tests/conformance."""
    found: set[str] = set()
    for path in (ROOT / "tests/conformance").glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(node.value, ast.Dict):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in TABLES:
                found |= {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
    return found


def test_functions_without_a_second_reference_are_named() -> None:
    interface = api.load(api.workspace(), Sink(), check=False).interface
    every = {function.short_name for function in interface.functions if function.header in HEADERS}
    compared = every & _compared()
    assert not compared & (OTHERWISE.keys() | ALONE)
    assert every - compared - OTHERWISE.keys() == ALONE
    count = len(compared) + len(OTHERWISE)
    page = (ROOT / "docs/conformance.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"{count} of the {len(every)} functions of detection and serving have a second reference" in page
