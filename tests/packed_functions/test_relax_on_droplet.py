"""Networks of PyTorch imported by TVM's Relax, on the protected memory of droplet: equal to PyTorch.

Needs apache-tvm, torch, and droplet with the dispatch library (`make build PRESET=torch`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from artefacts import FOLDER

pytest.importorskip("tvm", reason="apache-tvm is not installed: pip install apache-tvm")
pytest.importorskip("torch", reason="torch is not installed")

HERE = Path(__file__).resolve().parent
PLAIN = FOLDER / "plain"
DROPLET = PLAIN / "droplet/clean/libdiopi_impl.so"
NEEDED = (DROPLET, PLAIN / "libdiopi_dispatch.so", PLAIN / "libdiopi_tvm_ffi.so", PLAIN / "libdiopi_impl.so")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(path.exists() for path in NEEDED), reason="droplet is not built: make build PRESET=torch"
    ),
]


def _run(library: Path, networks: str, leftover: str) -> Any:
    """Output of run_networks.py for each network. A process of its own: there is one ext_dev."""
    environment = {
        **os.environ,
        "DIOPI_VENDOR_LIBRARY": str(DROPLET),
        "DIOPI_REFERENCE_LIBRARY": str(PLAIN / "libdiopi_impl.so"),
    }
    words = [str(library), str(PLAIN / "libdiopirt.so"), networks, leftover]
    command = [sys.executable, "-W", "ignore", str(HERE / "run_networks.py"), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_all_networks_with_the_dispatch_library() -> None:
    found = _run(PLAIN / "libdiopi_dispatch.so", "mlp,resnet18,decoder", "reject")
    assert set(found) == {"mlp", "resnet18", "decoder"}
    for name, one in found.items():
        assert one["equal"], f"{name} differs by {one['error']}"
        assert one["share"] == 1.0 and one["leftover"] == []


def test_the_perceptron_on_droplet_alone() -> None:
    found = _run(DROPLET, "mlp", "reject")["mlp"]
    assert found["equal"] and found["share"] == 1.0


def test_leftovers_are_named_and_rejected_or_run_on_the_host() -> None:
    rejected = _run(DROPLET, "decoder", "reject")["decoder"]
    assert "relax.permute_dims (the library has no diopiPermute) x10" in rejected["rejected"]
    on_host = _run(DROPLET, "decoder,resnet18", "host")
    decoder, resnet = on_host["decoder"], on_host["resnet18"]
    assert decoder["equal"] and "relax.permute_dims" in decoder["leftover"] and 0.7 < decoder["share"] < 1
    # droplet rejects batch norm in evaluation when it is called: it is decomposed into what droplet has.
    assert resnet["equal"] and resnet["leftover"] == ["relax.nn.max_pool2d"] and resnet["share"] > 0.99
