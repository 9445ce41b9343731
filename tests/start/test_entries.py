"""An entry like that of any operator of the spec is one that `check` and `generate` accept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.emit.new_operator.entry import entries_of, entry_text
from diopigen.spec.nodes import MappingNode
from diopigen.spec.yaml_reader import load_yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_an_entry_can_be_like_every_operator(tmp_path: Path) -> None:
    spec = Path(shutil.copytree(ROOT / "specs", tmp_path / "specs"))
    count = 0
    for path in sorted((spec / "ops").glob("*.yaml")):
        root = load_yaml(path, path.name, Sink())
        assert isinstance(root, MappingNode)
        if path.name in ("collective.yaml", "runtime_meta.yaml"):
            continue  # no operators that the suite tests
        text = path.read_text().rstrip("\n") + "\n"
        for name, node in entries_of(root):
            count += 1
            text += "\n" + entry_text(node, {name: f"New{name}"}, f"To be written: what New{name} computes.")
        path.write_text(text)
    where = api.Workspace(spec, ROOT / "templates", "specs")
    sink = Sink()
    interface = api.load(where, sink).interface
    assert [f"{one.span}: {one.message}" for one in sink.sorted()] == []
    api.check_targets(interface, where, sink)
    assert [f"{one.span}: {one.message}" for one in sink.sorted()] == []
    assert count > 300
    assert sum(function.operator.startswith("New") for function in interface.functions) >= count
