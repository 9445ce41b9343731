"""Nothing that can come from another machine is unpickled (SECURITY.md)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "diopigen/output/cache.py",  # a folder of the user's own
    "diopigen/conformance/run/worker.py",  # a pipe from the process that started it
    "diopigen/conformance/run/tvm_ffi_executor.py",  # a file of the process that started it
    "diopigen/conformance/aten/program/executor.py",  # the same
    "diopi_torch/src/diopi_torch/graph_cache.py",  # PyTorch's own cache
}
UNPICKLES = re.compile(
    r"\b(?:pickle|marshal|shelve|GraphPickler|joblib|dill)\.loads?\(|\bUnpickler\b|allow_pickle=True"
)
LOADS = re.compile(r"\btorch\.load\((?:[^()]|\([^()]*\))*\)")


def test_only_caches_and_pipes_are_unpickled() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    shipped = [
        name for name in listed.split("\0") if name.endswith((".py", ".py.j2")) and not name.startswith("tests/")
    ]
    assert len(shipped) > 500
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in shipped}
    assert {name for name, text in texts.items() if UNPICKLES.search(text)} == ALLOWED
    loads = [load for text in texts.values() for load in LOADS.findall(text)]
    assert loads and all("weights_only=True" in load for load in loads), loads
