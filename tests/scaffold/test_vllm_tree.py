"""`scaffold --with-vllm`: what the plugin for vLLM reads of a tree. tests/serving serves with one."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.package import package_root
from diopigen.vendor.scaffold import scaffold

FILES = ("torch_wren/__init__.py", "torch_wren/serving.py", "test/serve.py")


def _scaffolded(root: Path, *, vllm: bool) -> tuple[str, ...]:
    where, sink = api.workspace(), Sink()
    interface = api.load(where, sink, check=False).interface
    done = scaffold(interface, where, package_root(), "wren", root, sink, vllm=vllm)
    assert sink.sorted() == []
    return done.started


def test_a_tree_has_them_where_it_was_asked_for_and_keeps_them(tmp_path: Path) -> None:
    _scaffolded(tmp_path, vllm=False)
    assert not any((tmp_path / name).exists() for name in FILES)
    assert {*FILES, "pyproject.toml"} == {*_scaffolded(tmp_path, vllm=True)}
    assert 'vllm = ["vllm-diopi==' in (tmp_path / "pyproject.toml").read_text()
    mark = json.loads((tmp_path / "vendor.json").read_text())
    assert mark["torch"] is True and mark["vllm"] is True
    assert _scaffolded(tmp_path, vllm=False) == ()
    assert json.loads((tmp_path / "vendor.json").read_text()) == mark
    for name in FILES[1:]:
        compile((tmp_path / name).read_text(), name, "exec")
    assert runpy.run_path(str(tmp_path / FILES[1]))["register"]() is None
