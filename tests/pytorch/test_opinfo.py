"""Every entry of PyTorch's operator database on the device and on the CPU: forward, backward, `out=`, gaps, errors.

What ran where is written to build/tests/pytorch/opinfo.jsonl, a line per entry; `python tests/pytorch/opinfo_report.py`
sums it up. `DIOPIGEN_TORCH_TESTS=whole` takes all samples instead of two.
"""

from __future__ import annotations

import fcntl
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch.testing._internal needs expecttest: pip install diopigen[torch]")

from opinfo_checks import Way, brief, dtypes, errors, forward, outputs, strided  # noqa: E402
from run_kind import ROOT, WHOLE  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

REPORT = ROOT / "build/tests/pytorch/opinfo.jsonl"
EXCLUSIONS = yaml.safe_load((Path(__file__).parent / "exclusions.yaml").read_text())


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def findings(op: Any, way: Way) -> dict[str, list[str]]:
    """Differences by check. What raises where results are read is one as well."""
    found = {"forward": [], "strided": [], "outputs": [], "errors": collected(lambda: errors(op, way))}
    checks = {"forward": forward, "strided": strided, **({"outputs": outputs} if op.supports_out else {})}
    for dtype, (name, check) in itertools.product(dtypes(op), checks.items()):
        texts = collected(lambda check=check, dtype=dtype: check(op, dtype, way))
        found[name] += [f"{str(dtype).removeprefix('torch.')}, {text}" for text in texts]
    return found


def collected(check: Callable[[], Iterator[str]]) -> list[str]:
    try:
        return list(check())
    except Exception as error:
        return [f"cannot be compared: {brief(error)}"]


def note(entry: dict[str, Any]) -> None:
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    with REPORT.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(json.dumps(entry) + "\n")


@pytest.mark.parametrize("op", op_db, ids=name_of)
@pytest.mark.filterwarnings("ignore")
def test_entry(op: Any, droplet: Any, fallbacks: Any) -> None:
    name = name_of(op)
    found = findings(op, Way(droplet, WHOLE, name not in EXCLUSIONS["random"]))
    note({"entry": name, "whole": WHOLE, "fallbacks": fallbacks(), "findings": found})
    entries = [entry for entry in EXCLUSIONS["excluded"] if name in entry["entries"]]
    wrong = [
        f"{check}: {text}" for check, texts in found.items() for text in texts if not excluding(entries, check, text)
    ]
    assert wrong == []
    texts = [(check, text) for check, texts in found.items() for text in texts]
    needless = [entry["why"] for entry in entries if not any(excluding([entry], *pair) for pair in texts)]
    assert needless == [] or not WHOLE, "these exclusions exclude nothing: take the entry out of exclusions.yaml"


def excluding(entries: list[dict[str, Any]], check: str, text: str) -> bool:
    """Whether an exclusion covers a difference."""
    return any(
        check in entry["checks"] and ("dtypes" not in entry or text.split(",")[0] in entry["dtypes"])
        for entry in entries
    )


def test_every_exclusion_names_an_entry_and_a_reason() -> None:
    names = {name_of(op) for op in op_db}
    assert set(EXCLUSIONS["random"]) <= names
    for entry in EXCLUSIONS["excluded"]:
        assert set(entry["entries"]) <= names and entry["why"]
        assert set(entry["checks"]) <= {"forward", "strided", "outputs", "errors"}
