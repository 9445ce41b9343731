"""`scaffold --with-tvm`: a tree builds the packed functions and ext_dev, and runs a perceptron through Relax."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.package import package_root
from diopigen.vendor.scaffold import Scaffolded, scaffold


def _scaffolded(root: Path, *, tvm: bool, vendored: bool = False) -> Scaffolded:
    where, sink = api.workspace(), Sink()
    interface = api.load(where, sink, check=False).interface
    done = scaffold(interface, where, package_root(), "wren", root, sink, tvm=tvm, vendored=vendored)
    assert sink.sorted() == []
    return done


@pytest.mark.slow
def test_a_tree_has_what_tvm_needs_where_it_was_asked_for_and_keeps_it(tmp_path: Path) -> None:
    _scaffolded(tmp_path, tvm=False, vendored=True)
    copy = tmp_path / "third_party/diopigen"
    assert not (copy / "runtime/tvm_ffi").exists() and not (tmp_path / "test/relax_mlp.py").exists()
    _scaffolded(tmp_path, tvm=True)
    for name in ("generated/tvm_ffi/packed_functions.cpp", "runtime/tvm_ffi/call.cpp", "runtime/tvm/device_api.cpp"):
        assert (copy / name).is_file()
    assert (copy / "generated/tvm/relax.json").is_file()
    assert json.loads((tmp_path / "vendor.json").read_text())["tvm"] is True
    again = _scaffolded(tmp_path, tvm=False)
    assert again.generated.written == () and again.generated.removed == ()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("tvm") is None, reason="apache-tvm is not installed")
def test_the_tree_builds_and_runs_a_perceptron(tmp_path: Path) -> None:
    _scaffolded(tmp_path, tvm=True)
    build = tmp_path / "build"
    options = ["-G", "Ninja", "-DDIOPI_WITH_TVM=ON", f"-DDIOPIGEN_PYTHON={sys.executable}"]
    subprocess.run(["cmake", "-S", str(tmp_path), "-B", str(build), *options], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(build), "-j2"], check=True, capture_output=True)
    command = ["ctest", "--test-dir", str(build), "--output-on-failure", "-V"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "wren: " in done.stdout and "largest error" in done.stdout
