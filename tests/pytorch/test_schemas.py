"""The facts about torch in specs/aten/torch.yaml are those of the installed one, and the promised kernels are there."""

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
FACTS = ROOT / "specs/aten/torch.yaml"
REPORT = ROOT / "build/tests/pytorch/kernels.json"


def test_facts_are_those_of_the_installed_torch() -> None:
    """In a process of its own: a loaded backend needs fewer kernels than the facts say."""
    code = "import sys; sys.path.insert(0, 'tools'); import snapshot_aten; sys.stdout.write(snapshot_aten.text())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = difflib.unified_diff(FACTS.read_text().splitlines(), done.stdout.splitlines(), "facts", "torch", "", "", 0)
    assert list(lines)[:20] == []


def test_promised_kernels(droplet: Any) -> None:
    """Of the overloads that a new device must bring, those with a kernel of our own. The names go to a report."""
    needed = yaml.load(FACTS.read_text(), yaml.CSafeLoader)["needed"]
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


def test_every_named_kernel_is_registered(droplet: Any) -> None:
    """What specs/torch.yaml names as handwritten."""
    handwritten = yaml.load((ROOT / "specs/torch.yaml").read_text(), yaml.CSafeLoader)["handwritten"]
    assert [entry["overload"] for entry in handwritten if not has_kernel(entry["overload"])] == []
