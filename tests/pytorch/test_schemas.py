"""The facts about torch in specs/aten are those of the installed one, and the promised kernels are there."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from typing import Any

import torch
import yaml
from run_kind import ROOT

PROMISED = 350
FACTS = ROOT / "specs/aten"
REPORT = ROOT / "build/tests/pytorch/kernels.json"


def test_facts_are_those_of_the_installed_torch() -> None:
    """In a process of its own: a loaded backend needs fewer kernels than the facts say."""
    code = (
        "import json, pathlib, sys; sys.path.insert(0, 'tools'); import snapshot_aten; "
        "json.dump(snapshot_aten.updated(pathlib.Path('specs/aten')), sys.stdout)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    files = json.loads(done.stdout)
    assert sorted(path.name for path in FACTS.iterdir()) == sorted(files)
    for name, content in files.items():
        old, new = ([line for line in text.splitlines() if _is_fact(line)] for text in (_facts(name), content))
        assert list(difflib.unified_diff(old, new, "facts", "torch", "", "", 0))[:20] == []


def _facts(name: str) -> str:
    return (FACTS / name).read_text(encoding="utf-8")


def _is_fact(line: str) -> bool:
    """Returns whether a line is the same for all releases of one minor."""
    return not line.startswith(("#", "torch:"))


def test_promised_kernels(droplet: Any) -> None:
    """Of the overloads that a new device must bring, those with a kernel of our own. The names go to a report."""
    minor = ".".join(torch.__version__.split(".")[:2])
    files = [yaml.load(_facts(name), yaml.CSafeLoader) for name in ("torch.yaml", f"torch-{minor}.yaml")]
    needed = sorted(name for file in files for name in file["needed"])
    own = [name for name in needed if has_kernel(name)]
    missing = [name for name in needed if name not in set(own)]
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({"needed": len(needed), "own": own, "missing": missing}, indent=1))
    print(f"{len(own)} of {len(needed)} overloads have a kernel")
    assert len(own) >= PROMISED


def has_kernel(overload: str) -> bool:
    packet, _, name = overload.partition(".")
    qualified = f"aten::{packet}" + (f".{name}" if name else "")
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(qualified, "PrivateUse1"))


def exists(overload: str) -> bool:
    """Returns whether the installed torch has the overload."""
    packet, _, name = overload.partition(".")
    return hasattr(getattr(torch.ops.aten, packet, None), name or "default")


def test_every_named_kernel_is_registered(droplet: Any) -> None:
    """Overloads that specs/torch.yaml lists as handwritten."""
    handwritten = yaml.load((ROOT / "specs/torch.yaml").read_text(), yaml.CSafeLoader)["handwritten"]
    named = [entry["overload"] for entry in handwritten if exists(entry["overload"])]
    assert len(named) > len(handwritten) - 5, "overloads that some release of torch lacks"
    assert [name for name in named if not has_kernel(name)] == []
